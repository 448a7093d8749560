/* `flatline render` of what Ollama serves with: a Modelfile, or a template in Go's language. */
#ifndef TUI_CLI_RENDER_OLLAMA_H
#define TUI_CLI_RENDER_OLLAMA_H

#include "core/text/chat_template.h"

struct ollama_source {
    struct named_template named;    /* the template: its text, file and line */
    struct str system;
    const struct json *examples;    /* MESSAGE turns, or NULL */
};

/* By its name: Modelfile, Modelfile.x, x.Modelfile, x.gotmpl. */
bool ollama_source_is(const char *path);
/* E_IO; E_NOTFOUND without a TEMPLATE; texts are in the arena. */
MUST_CHECK int ollama_source_read(const char *path, struct arena *arena, struct ollama_source *out,
                                  struct error *err);
/* question: {"messages", "tools", "think"}. Replaces *out. A failure is told in Jinja's words. */
MUST_CHECK int ollama_source_render(const struct ollama_source *source,
                                    const struct json *question,
                                    const struct jinja_settings *clock, struct arena *arena,
                                    struct buf *out, struct jinja_failure *failure,
                                    struct error *err);

#endif
