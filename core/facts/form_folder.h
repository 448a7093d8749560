/* The folder that a facts form is written to. It is made under another name beside its place and gets
 * its own when it is whole: a folder of facts is never half of one. */
#ifndef CORE_FACTS_FORM_FOLDER_H
#define CORE_FACTS_FORM_FOLDER_H

#include <stdbool.h>
#include <stdio.h>

#include "core/base/error.h"
#include "core/base/str.h"

/* Lines in numbered files, "rows-00000.jsonl" and so on; the first is there in any case. */
struct form_lines {
    const char *folder, *stem;
    FILE *file;
    int64_t n_lines;
    int n_files;
};

struct form_folder {
    char path[4000], made[4096]; /* where it will be, where it is made */
    struct form_lines rows, candidates;
    bool force, is_made;
};

/* E_IO when something else is there: only an empty folder is taken, with `force` also one that holds
 * facts and nothing else. What an interrupted writing left behind is removed. */
MUST_CHECK int form_folder_open(struct form_folder *out, const char *path, bool force,
                                struct error *err);
/* A line with its line feed; a new file begins after FORM_FILE_ROWS of them. */
MUST_CHECK int form_lines_put(struct form_lines *lines, struct str line, struct error *err);
/* Closes the files, writes facts.json and gives the folder its name. */
MUST_CHECK int form_folder_commit(struct form_folder *folder, struct str head, struct error *err);
/* Takes away what is not committed; in any case the last call. */
void form_folder_close(struct form_folder *folder);

#endif
