/* A fresh folder for one test, removed with all it holds. */
#ifndef TESTS_HARNESS_TEMPDIR_H
#define TESTS_HARNESS_TEMPDIR_H

#include <stddef.h>

/* Aborts the test when it cannot be made. The path is the caller's until tempdir_remove. */
char *tempdir_make(void);
void tempdir_remove(char *path);                 /* frees the path */
/* Writes a file below the folder (making folders between); n bytes, or a whole text. */
void tempdir_write(const char *folder, const char *name, const void *bytes, size_t n);
void tempdir_write_text(const char *folder, const char *name, const char *text);
/* "folder/name", valid until the fourth next call. */
const char *tempdir_path(const char *folder, const char *name);

#endif
