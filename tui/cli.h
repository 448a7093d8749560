/* Every sub-command of CLI.md that works without a terminal: each takes the parsed options, prints
 * to stdout, complains on stderr, and returns the exit status (0 nothing wrong found, 1 findings,
 * 2 cannot tell or bad use). */
#ifndef TUI_CLI_H
#define TUI_CLI_H

#include "core/store/store.h"
#include "importers/folder.h"
#include "tui/options.h"

int cli_check(const struct options *options);
int cli_report(const struct options *options);
int cli_import(const struct options *options);
int cli_runs(const struct options *options);
int cli_forget(const struct options *options);
int cli_remark(const struct options *options);
int cli_curves(const struct options *options);
int cli_memory(const struct options *options);
int cli_make(const struct options *options);
int cli_labels(const struct options *options);        /* cli_text.c */
int cli_prompts(const struct options *options);
int cli_history(const struct options *options);       /* cli_history.c */
int cli_compare(const struct options *options);       /* cli_compare.c */
int cli_overfit_ten(const struct options *options);
int cli_facts(const struct options *options);         /* cli_facts.c */
int cli_render(const struct options *options);        /* cli_render.c */
int cli_tokenize(const struct options *options);      /* cli_tokenize.c */
int cli_completions(const struct options *options);
int cli_manual(const struct options *options);        /* manual.c */

/* ---- Shared by the commands and by the UI (cli_session.c) ---- */

/* What a command works on: an open store and the runs found under its paths, imported and checked. */
struct session {
    struct store *store;
    struct arena *arena;
    struct plan plan;
    int64_t *run_ids;           /* of plan.runs, in order */
    size_t n_runs;
    struct error err;           /* of the call that failed */
};

/* The work of a command in an open session; gives the exit status. */
typedef int session_fn(struct session *session, const struct options *options);

/* Opens a session as the options say, does the work, closes. When the cache turns out damaged on
 * the way, the work is done once more with a fresh one. Complains on stderr by itself. */
int in_session(const struct options *options, session_fn *work);
/* Plans and imports the paths, saves --set answers, runs the checks. hooks may be NULL. */
bool session_import(struct session *session, const struct options *options,
                    const struct import_hooks *hooks);
/* The same without the checks: they run when somebody looks. */
bool session_import_only(struct session *session, const struct options *options,
                         const struct import_hooks *hooks);
/* A run named by path, name or key; imports a path first. False after complaining. */
bool session_find_run(struct session *session, const struct options *options, const char *what,
                      struct run *run);
/* "flatline: PATH:LINE: message" on stderr. */
void cli_complain(const struct error *err);
/* Writes all of a text to a file or, for "-", to stdout; refuses an existing file without force. */
bool cli_write(const char *path, struct str text, bool force);

#endif
