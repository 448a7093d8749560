/* One line of input at the bottom: a command, a search, a remark. Editing, history, completion. */
#ifndef TUI_PROMPT_H
#define TUI_PROMPT_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/str.h"
#include "views/canvas.h"

#define PROMPT_HISTORY 50

enum prompt_kind { PROMPT_NONE, PROMPT_COMMAND, PROMPT_SEARCH, PROMPT_REMARK, PROMPT_DISMISS };

enum prompt_result { PROMPT_GOES_ON, PROMPT_CHANGED, PROMPT_ACCEPTED, PROMPT_CANCELLED };

struct prompt {
    enum prompt_kind kind;
    struct buf text;
    size_t at;                  /* byte offset of the cursor */
    char *history[PROMPT_HISTORY];      /* of commands, newest last */
    size_t n_history, history_at;
    char candidates[240];       /* what Tab could mean, shown above the prompt */
};

/* Fills `out` with completions of the text, separated by '\n'. */
typedef void prompt_complete_fn(void *ctx, const char *text, struct buf *out);

void prompt_init(struct prompt *prompt);
void prompt_close(struct prompt *prompt);
void prompt_open(struct prompt *prompt, enum prompt_kind kind, const char *text);
enum prompt_result prompt_key(struct prompt *prompt, int key, prompt_complete_fn *complete,
                              void *ctx);
void prompt_paste(struct prompt *prompt, struct str text);
/* Draws into a row of the clip area and places the terminal's cursor. */
void prompt_draw(const struct prompt *prompt, struct canvas *canvas, int row);
void prompt_remember(struct prompt *prompt, const char *command);

#endif
