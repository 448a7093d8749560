/* VIEWS: the one list of panes. */
#ifndef VIEWS_REGISTRY_H
#define VIEWS_REGISTRY_H

#include "views/view.h"

#define VIEWS(X) \
    X(triage)    \
    X(evidence)  \
    X(curves)    \
    X(labels)    \
    X(prompts)   \
    X(artefacts) \
    X(data)      \
    X(pairs)     \
    X(log)       \
    X(memory)    \
    X(settings)  \
    X(compare)   \
    X(history)   \
    X(evals)     \
    X(preference) \
    X(findings)  \
    X(runs)      \
    X(import)    \
    X(help)

#define VIEW_DECLARE(name) extern const struct view_ops view_##name;
VIEWS(VIEW_DECLARE)
#undef VIEW_DECLARE

size_t view_count(void);
const struct view_ops *view_at(size_t i);
const struct view_ops *view_by_id(const char *id);

/* The help pane shows these beside the panes' own: set once by the frame. `keys` gives the keys of an
 * action as the user bound them (NULL: the defaults). */
void view_help_set_frame_actions(const struct action *actions,
                                 const char *(*keys)(const struct action *, const char *view_id));
/* The pane that help was asked in: its keys stand first. */
void view_help_set_focus(const struct view_ops *ops);

#endif
