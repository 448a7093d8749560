/* The composition root: arguments, then the UI or a command. */
#include <fcntl.h>
#include <locale.h>
#include <signal.h>

#include "tui/options.h"
#include "tui/tell.h"

/* A file that is opened must never become stdin, stdout or stderr: what is printed would land in
 * it. What is closed stays useless: reading stdin and writing the others still fail. */
static void keep_standard_files(void)
{
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            (void)!open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY);
}

int main(int argc, char **argv)
{
    static struct options options; /* what it points to lives until exit */
    int stop;

    /* Numbers stay in the C locale: only the character set is the user's. */
    setlocale(LC_CTYPE, "");
    keep_standard_files();
    signal(SIGPIPE, SIG_IGN);
    stop = options_parse(argc, argv, &options);
    return tell_end(stop ? stop - 1 : options.command->run(&options));
}
