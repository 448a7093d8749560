/* What programs print of their own arguments: Python's repr of objects (Namespace(model='x', n=1),
 * ServerArgs(…), nested dicts, lists, tuples, enums) and Rust's debug form (Args { model_id: "x",
 * revision: None, adapters: Some("a") }). Values become the tree of json.h: an object with named
 * members, however it is called; Some(x) and Path('x') the value in it; None null; any other bare
 * word its text. Nothing is evaluated. */
#ifndef CORE_READ_REPR_H
#define CORE_READ_REPR_H

#include "core/read/json.h"

#define REPR_DEPTH 64

/* *used: bytes of the text that the value took. E_PARSE with the byte, E_LIMIT. The texts live in the
 * arena. */
MUST_CHECK int repr_parse(struct str text, struct arena *arena, const struct json **out,
                          size_t *used, struct error *err);

#endif
