/* Which side a data file is on, by its name (FORMATS.md B0 rule 7). */
#ifndef IMPORTERS_SPLIT_NAME_H
#define IMPORTERS_SPLIT_NAME_H

/* "test" or "eval" when a word of the file's name or the whole name of its folder says so; else
 * "train". A constant. */
const char *split_by_name(const char *path);

#endif
