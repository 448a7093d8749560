/* A program in a pseudo-terminal, read through libvterm: what a person would see.
 *
 * Nothing sleeps: terminal_wait reads until the screen shows a text, or fails the test after
 * TERMINAL_PATIENCE_MS without it. */
#ifndef TESTS_HARNESS_SCREEN_H
#define TESTS_HARNESS_SCREEN_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define TERMINAL_PATIENCE_MS 20000

struct terminal;

struct look_at {
    bool bold, reverse, underline, has_colour;
};

/* argv and env ("NAME=VALUE", "NAME=" takes it away) end with NULL. Aborts the test on failure. */
struct terminal *terminal_open(const char *const *argv, const char *const *env, int rows,
                               int columns);
void terminal_close(struct terminal *terminal);     /* kills what still runs */
pid_t terminal_pid(const struct terminal *terminal);
void terminal_send(struct terminal *terminal, const char *bytes);
void terminal_resize(struct terminal *terminal, int rows, int columns);
/* Until a row of the screen has the text. */
void terminal_wait(struct terminal *terminal, const char *text);
/* Until the raw output has the bytes. */
void terminal_wait_raw(struct terminal *terminal, const char *bytes);
/* Reads to the end; the wait status. */
int terminal_wait_exit(struct terminal *terminal);
bool terminal_shows(const struct terminal *terminal, const char *text);
/* The row (or -1) and the column of a text. */
int terminal_find(const struct terminal *terminal, const char *text, int *column);
struct look_at terminal_look(const struct terminal *terminal, int row, int column);
/* All that was sent so far. */
const char *terminal_raw(const struct terminal *terminal, size_t *n);

#endif
