/* When a run began. */
#include "core/facts/run_time.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "core/base/number.h"

/* Between 2001 and 2096: what is outside is no such time. */
static const int64_t EARLIEST = 1000000000, LATEST = 4000000000;

static bool is_time(int64_t seconds)
{
    return seconds >= EARLIEST && seconds <= LATEST;
}

/* Days since 1970 of a date of the Gregorian calendar. */
static int64_t days_of(int64_t year, int64_t month, int64_t day)
{
    year -= month <= 2;
    int64_t era = year / 400, of_era = year - era * 400;
    int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;

    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

/* "2026-11-30T11:33:41…" as UTC, or a number of seconds. */
static int64_t time_of(const char *text)
{
    int year, month, day, hour, minute, second;
    double number;

    if (!text)
        return NONE;
    if (sscanf(text, "%4d-%2d-%2d%*1[T ]%2d:%2d:%2d", &year, &month, &day, &hour, &minute, &second) == 6 &&
        year >= 2001 && year < 2100 && month >= 1 && month <= 12 && day >= 1 && day <= 31 && hour >= 0 &&
        hour < 24 && minute >= 0 && minute < 60 && second >= 0 && second <= 60)
        return days_of(year, month, day) * 86400 + hour * 3600 + minute * 60 + second;
    if (number_parse(str_of(text), &number) && number > 0.0 && number < 9e15)
        return number > 1e12 ? (int64_t)(number / 1000.0) : (int64_t)number; /* milliseconds */
    return NONE;
}

static void take_earlier(int64_t *best, int64_t seconds)
{
    if (is_time(seconds) && (*best == NONE || seconds < *best))
        *best = seconds;
}

static void look_at_settings(const struct run_facts *facts, int64_t *best)
{
    static const char *const NAMES[] = {"wandb.started_at", "mlflow.start_time", "started_at",
                                        "start_time"};

    for (size_t i = 0; i < facts->n_settings; i++)
        for (size_t k = 0; k < sizeof NAMES / sizeof *NAMES; k++)
            if (facts->settings[i].raw_name && strcmp(facts->settings[i].raw_name, NAMES[k]) == 0)
                take_earlier(best, time_of(facts->settings[i].value));
}

/* events.out.tfevents.1796038421.host.3531.0 */
static void look_at_event_files(const struct run_facts *facts, int64_t *best)
{
    for (size_t i = 0; i < facts->n_sources; i++) {
        const char *at = facts->sources[i].path ? strstr(facts->sources[i].path, "tfevents.") : NULL;
        int64_t seconds;

        if (!at)
            continue;
        at += sizeof "tfevents." - 1;
        size_t digits = strspn(at, "0123456789");
        if (digits >= 10 && number_parse_int(str_from(at, digits), &seconds))
            take_earlier(best, seconds);
    }
}

/* The first record of a log that writes times. */
static void look_at_records(const struct run_facts *facts, int64_t *best)
{
    for (size_t i = 0; i < facts->n_sources; i++)
        take_earlier(best, facts->sources[i].first_wall);
}

int64_t run_began(const struct run_facts *facts)
{
    int64_t best = NONE;

    if (facts->run.started_at > 0)
        return facts->run.started_at;
    look_at_settings(facts, &best);
    look_at_event_files(facts, &best);
    if (best == NONE)
        look_at_records(facts, &best);
    return best;
}

/* The numbers at which two names part; false when they part elsewhere. */
static bool numbers_of(const char *a, const char *b, int64_t *x, int64_t *y)
{
    size_t same = 0;

    while (a[same] && a[same] == b[same])
        same++;
    while (same > 0 && isdigit((unsigned char)a[same - 1]))
        same--;
    size_t n = strspn(a + same, "0123456789"), m = strspn(b + same, "0123456789");
    return n > 0 && m > 0 && strcmp(a + same + n, b + same + m) == 0 &&
           number_parse_int(str_from(a + same, n), x) && number_parse_int(str_from(b + same, m), y) &&
           *x != *y;
}

int run_order(const struct run_facts *a, const struct run_facts *b)
{
    int64_t x = run_began(a), y = run_began(b);

    if (x != NONE && y != NONE)
        return x < y ? -1 : x > y;
    if (a->run.name && b->run.name && numbers_of(a->run.name, b->run.name, &x, &y))
        return x < y ? -1 : 1;
    return 0;
}
