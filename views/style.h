/* Style roles: what a cell means, never how it looks. Themes map roles to attributes. */
#ifndef VIEWS_STYLE_H
#define VIEWS_STYLE_H

#define STYLE_ROLES(X)                                                       \
    X(TEXT, "text")                 /* plain */                              \
    X(DIM, "dim")                   /* less important */                     \
    X(STRONG, "strong")             /* titles, numbers that matter */        \
    X(TITLE, "title")               /* the title line of the screen */       \
    X(FRAME, "frame")               /* borders */                            \
    X(FRAME_FOCUS, "frame-focus")   /* borders of the pane with the keys */  \
    X(CURSOR, "cursor")             /* the row under the cursor */           \
    X(STATUS, "status")             /* status line */                        \
    X(KEYS, "keys")                 /* key bar */                            \
    X(PASS, "pass")                                                          \
    X(WARN, "warn")                                                          \
    X(FAIL, "fail")                                                          \
    X(UNKNOWN, "unknown")                                                    \
    X(NA, "na")                                                              \
    X(CURVE_A, "curve-a")           /* first run */                          \
    X(CURVE_B, "curve-b")           /* second run */                         \
    X(CURVE_BAND, "curve-band")     /* raw min-max band */                   \
    X(CURVE_TAIL, "curve-tail")     /* abandoned tail of a segment */        \
    X(EVAL_POINT, "eval-point")                                              \
    X(RAIL, "rail")                 /* marks under the axis */               \
    X(RAIL_BAD, "rail-bad")         /* NaN, inf, crash */                    \
    X(AXIS, "axis")                                                          \
    X(SAMPLE, "sample")             /* the sample cursor */                  \
    X(TRAINED, "trained")           /* a supervised token */                 \
    X(MASKED, "masked")             /* a masked token */                     \
    X(ADDED, "added")                                                        \
    X(REMOVED, "removed")                                                    \
    X(MATCH, "match")               /* search hit */                         \
    X(MESSAGE, "message")           /* a message to the user */              \
    X(HOSTILE, "hostile")           /* a made-visible control character */

enum style_role {
#define STYLE_ENUM(name, text) STYLE_##name,
    STYLE_ROLES(STYLE_ENUM)
#undef STYLE_ENUM
    N_STYLES
};

const char *style_name(enum style_role role);
int style_by_name(const char *name);        /* -1: none */

#endif
