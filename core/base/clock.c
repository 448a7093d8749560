/* The time of day, which tests fix. See clock.h. */
#include "core/base/clock.h"

#include <stdlib.h>
#include <time.h>

#include "core/base/error.h"
#include "core/base/number.h"

static int64_t fixed = NONE;

int64_t clock_now(void)
{
    const char *epoch = getenv("SOURCE_DATE_EPOCH");
    int64_t seconds;

    if (fixed != NONE)
        return fixed;
    if (epoch && number_parse_int(str_of(epoch), &seconds) && seconds >= 0)
        return seconds;
    return (int64_t)time(NULL);
}

int64_t clock_ticks_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void clock_fix(int64_t seconds)
{
    fixed = seconds;
}
