/* The label mask, simulated: which tokens of a row a trainer supervises, and why the others not.
 *
 * A policy says which trainer's rules hold and with which settings (MASKS.md); choosing it from a
 * run's files is core/facts/mask_policy.h. A labeller binds a policy to a tokenizer and a chat
 * template; label_row takes one row through it: text, tokens, mask, cut, drop, in the trainer's
 * own order. Packing changes no label of a whole row; what it cuts is told by the policy's rule.
 *
 * A labeller is used by one thread at a time (it owns caches); open one for each. */
#ifndef CORE_TEXT_LABELS_H
#define CORE_TEXT_LABELS_H

#include "core/text/chat_template.h"
#include "core/text/conversation.h"
#include "core/text/tokenizer/tokenizer.h"

enum mask_rule {
    MASK_TRL,               /* SFTTrainer: everything, completion mask, assistant mask (MASKS.md 1) */
    MASK_TRL_OLD,           /* 0.16 and older: prompt and completion one text, special tokens added */
    MASK_RESPONSE_TEMPLATE, /* DataCollatorForCompletionOnlyLM */
    MASK_UNSLOTH,           /* TRL's labels over Unsloth's tokens, or train_on_responses_only */
    MASK_LLAMAFACTORY,
    MASK_AXOLOTL_CHAT,      /* type: chat_template */
    MASK_AXOLOTL_PROMPT,    /* type: alpaca and kin */
    MASK_AXOLOTL_TEXT,      /* type: completion */
    MASK_AXOLOTL_SEGMENTS,  /* type: input_output */
    MASK_TRAINER,           /* transformers' collators on tokenised or plain text rows (MASKS.md 5) */
    MASK_TORCHTUNE,
    MASK_LITGPT,
    N_MASK_RULES
};

enum tri { NO, YES, AUTO = -1 };            /* AUTO: not stated, the trainer's default */

struct marker {                             /* response_template, instruction_part … */
    struct str text;                        /* p NULL: given as ids, or not at all */
    const uint32_t *ids;
    size_t n_ids;
};

struct label_policy {
    enum mask_rule rule;
    /* The behaviour of a version is chosen by these, not by a number (MASKS.md, "Which policy"). */
    bool boundary_is_prefix;        /* TRL 1.15+: common prefix; else the prompt's length */
    bool drops_masked;              /* TRL 1.9+, Unsloth, axolotl */
    bool appends_eos;               /* rows that are not conversational, 0.17+ */
    bool appends_eos_id;            /* 0.16: the id, when the last one is another */
    bool template_is_patched;       /* TRL 1.1+ with a template it knows: its own variant's spans */
    bool stops_at_end_tokens;       /* Unsloth, newer: a response ends with EOS, before BOS … */
    /* Settings, in the trainer's sense. */
    enum tri completion_only, assistant_only, train_on_prompt, mask_history, efficient_eos,
        enable_thinking, train_on_inputs, last_response_only;
    struct marker response, instruction;
    const char *train_on_eos, *train_on_eot;        /* axolotl: turn all last none; NULL: default */
    const char *const *roles_to_train; size_t n_roles;      /* NULL: default */
    const char *const *eot_tokens;     size_t n_eot_tokens;
    const char *field_training;     /* axolotl message_field_training; NULL: default */
    const char *field_training_detail;  /* message_field_training_detail; NULL: none */
    const char *llamafactory_template;      /* a name of llamafactory_templates.jsonl */
    const char *default_system;     /* LLaMA-Factory: overrides the template's; NULL */
    int64_t max_length;             /* NONE: never cut */
    bool cut_keeps_end, drops_long; /* drops_long: a row beyond max_length is left out, not cut */
    bool packs, packs_whole;        /* packs_whole: rows are cut to max_length (bfd), else joined */
    bool masks_pad_id;              /* the language-modelling collator masks pad ids by value */
    int64_t pad_id, eos_id, bos_id; /* NONE: not known */
    struct str eos_text, bos_text;
    struct column_names columns;
    /* axolotl: the wording of `type: alpaca`, "instruct" (NULL), "chat", "chatml" or "phi"; litgpt: "alpaca"
     * (NULL) or "default" (the text as it is). */
    const char *prompt_style;
};

/* Why a token has the label it has. */
enum label_why {
    WHY_TRAINED,
    WHY_PROMPT,             /* the prompt part, or a turn that is not trained */
    WHY_HEADER,             /* a header or marker outside of the trained span */
    WHY_END,                /* an end token that the rule leaves out */
    WHY_PAD,                /* equals the pad id */
    WHY_NO_MARKER,          /* the marker was not found, the whole row is masked */
    WHY_NO_SPAN,            /* no assistant span in this row */
    WHY_HISTORY,            /* an earlier turn under mask_history, last_response_only */
    WHY_RECORDED,           /* -100 in a recorded row */
    N_LABEL_WHYS
};
const char *label_why_text(enum label_why why);     /* "before the response marker" … */

/* Whose text a token is. */
enum token_side {
    SIDE_OF_NOBODY,         /* markers and template text outside of turns, or not known */
    SIDE_OF_SYSTEM,
    SIDE_OF_USER,           /* also: the prompt of rows without turns */
    SIDE_OF_ASSISTANT,      /* content, thoughts and tool calls, and the end of turn behind them */
    SIDE_OF_TOOL,
    SIDE_OF_HEADER          /* the assistant's header: counts as prompt (CHECKS.md C3.12) */
};

struct labelled_row {
    struct str text;                /* as it was tokenised; "" when only ids are known */
    size_t n;                       /* tokens before the cut */
    const uint32_t *ids, *begin, *end;      /* bytes of text; begin == end: not of the text */
    const uint8_t *trained;         /* 0 or 1 */
    const uint8_t *why;             /* enum label_why */
    const uint8_t *side;            /* enum token_side */
    const uint32_t *label_id;       /* NULL: the token's own id where trained (efficient_eos differs) */
    bool has_sides;                 /* the boundaries are known */
    /* What the cut leaves. LLaMA-Factory cuts inside of its pairs, and a tokenizer that adds a last
     * token keeps it: what is cut off stands behind the kept tokens then, whatever its place was. */
    size_t first_kept, end_kept;
    size_t n_prompt;                /* tokens up to the (first) answer, header included; n when none */
    bool is_dropped;                /* the trainer leaves the row out … */
    const char *drop_reason;        /* … because: "no supervised token", "longer than 2048" */
    bool marker_missing;            /* a marker was looked for and does not stand in the row */
    size_t marker_near, marker_near_n;      /* the tokens that come nearest to it; n 0: none */
    const char *refused;            /* the row cannot be rendered or read: why (template error with line) */
    bool is_too_much;               /* refused at a limit of time or memory: others will cost as much */
};

struct labeller;

struct labeller_parts {
    const struct label_policy *policy;
    const struct tokenizer *tokenizer;
    const struct chat_template *chat_template;  /* NULL where the rule needs none */
    const struct json *special_tokens;          /* as a template sees them */
    struct jinja_settings jinja;
    struct str template_text;                   /* of chat_template; p NULL: not known, which leaves out
                                                   what a rule reads in it (the patched families, EOS) */
};

/* All parts are borrowed. E_UNSUPPORTED: the rule needs what is not there (message: what to import). */
MUST_CHECK int labeller_open(struct labeller **out, const struct labeller_parts *parts,
                             struct error *err);
void labeller_close(struct labeller *labeller); /* NULL allowed */
/* Fills *out; its arrays live until the next call on this labeller. E_NOMEM, E_LIMIT of ours only;
 * a row that cannot be rendered is `refused`. */
MUST_CHECK int label_row(struct labeller *labeller, const struct conversation *row,
                         struct labelled_row *out, struct error *err);
/* A recorded row (ids, labels, perhaps attention_mask) in the same shape. tokenizer may be NULL:
 * text "" then, sides not known. Lives until the next call. */
MUST_CHECK int label_recorded(struct labeller *labeller, const struct conversation *row,
                              struct labelled_row *out, struct error *err);
/* A labeller for recorded rows alone; tokenizer NULL allowed. */
MUST_CHECK int labeller_open_recorded(struct labeller **out, const struct tokenizer *tokenizer,
                                      struct error *err);
/* The ids that the policy's response marker was encoded to; n 0: none. Borrowed. */
const uint32_t *labeller_marker_ids(const struct labeller *labeller, size_t *n);
/* The policy in one line: "TRL SFTTrainer, completion only, boundary at the common prefix,
 * max_length 1024 keeps the start". */
void label_policy_about(const struct label_policy *policy, struct buf *out);

/* ---- The chat templates that TRL 1.1 and later renders with a variant of its own ---- */

struct patched_template {
    const char *family;             /* "Qwen3", "Llama 3" */
    bool changes_text;              /* the variant renders another text (an empty think block …):
                                       spans of the original are then not what was trained */
};

/* Whether the text looks like a template that TRL knows; by its markers, not byte for byte: "likely"
 * is the most that can be said from it. */
bool labels_patched_kind(struct str template_text, struct patched_template *out);

/* ---- LLaMA-Factory's named templates (llamafactory_templates.jsonl) ---- */
const struct json *llamafactory_template(const char *name); /* NULL: unknown; parsed once */

#endif
