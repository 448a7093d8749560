/* What the cells of a Jupyter notebook printed, as a text of the same length: every byte that is no
 * output is blanked, every output stands decoded where its string stands. So a line and a byte of
 * the text are a line and a byte of the notebook. */
#ifndef IMPORTERS_RUN_NOTEBOOK_TEXT_H
#define IMPORTERS_RUN_NOTEBOOK_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NOTEBOOK_MAX_BYTES ((size_t)64 << 20)

struct notebook_text {
    bool has_cells;
    size_t n_outputs;
    bool is_cut; /* the JSON breaks off or is nested too deeply: what came before is there */
    int64_t cut_line;
};

/* In place. Blanked bytes become carriage returns, which end a piece and no line; so do line ends
 * inside a string. Newlines of the file stay. */
void notebook_text(char *bytes, size_t n, struct notebook_text *out);

/* ---- notebook_html.c ---- */

/* The table and the bar of a training in a decoded region of HTML become rows with tabs and the
 * bar's text, without tags; HTML that shows no training is blanked. */
void notebook_html(char *bytes, size_t n);

#endif
