/* The composition root: arguments, then the UI or a command. */
#include <locale.h>
#include <signal.h>

#include "tui/options.h"

int main(int argc, char **argv)
{
    static struct options options; /* what it points to lives until exit */
    int stop;

    /* Numbers stay in the C locale: only the character set is the user's. */
    setlocale(LC_CTYPE, "");
    signal(SIGPIPE, SIG_IGN);
    stop = options_parse(argc, argv, &options);
    return stop ? stop - 1 : options.command->run(&options);
}
