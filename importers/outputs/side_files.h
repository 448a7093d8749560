/* Flags of the samples of a data set of form "tokens" (labels_sample.jsonl). */
#ifndef IMPORTERS_OUTPUTS_SIDE_FILES_H
#define IMPORTERS_OUTPUTS_SIDE_FILES_H

enum token_row_flag {
    TOKEN_ROW_ALL_MASKED = 1, /* no label is supervised */
    TOKEN_ROW_FIRST_TWICE = 2 /* the first two token ids are the same (a doubled BOS) */
};

#endif
