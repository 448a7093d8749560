/* The turn markers of the prompt families, as tables, and which family a text is written in. Not
 * here: what a text is made of (prompt_shape.c). */
#include <ctype.h>
#include <string.h>

#include "core/text/prompt_parts.h"

#define ROLE_BYTES    40 /* a role word in a header is shorter */
#define SPECIAL_BYTES 96 /* a special token is shorter */

const char *marker_family_name(enum marker_family family)
{
    static const char *const NAMES[] = {
        [FAMILY_NONE] = "plain text",     [FAMILY_CHATML] = "ChatML",
        [FAMILY_LLAMA3] = "Llama 3",      [FAMILY_INST] = "Llama 2/Mistral [INST]",
        [FAMILY_GEMMA] = "Gemma",         [FAMILY_ZEPHYR] = "Zephyr/Phi",
        [FAMILY_DEEPSEEK] = "DeepSeek",   [FAMILY_ALPACA] = "Alpaca",
        [FAMILY_VICUNA] = "Vicuna",       [FAMILY_HUMAN] = "Human/Assistant",
        [FAMILY_CHATGLM] = "ChatGLM",     [FAMILY_OTHER] = "other special tokens",
    };

    return NAMES[family];
}

/* "user" for "human", "assistant" for "model"; "" for what is no role. */
static const char *prompt_role_of(struct str word)
{
    static const struct {
        const char *word, *role;
    } ROLES[] = {
        {"user", "user"},           {"human", "user"},         {"assistant", "assistant"},
        {"model", "assistant"},     {"bot", "assistant"},      {"chatbot", "assistant"},
        {"gpt", "assistant"},       {"ai", "assistant"},       {"system", "system"},
        {"developer", "system"},    {"tool", "tool"},          {"observation", "tool"},
        {"ipython", "tool"},        {"function", "tool"},      {"tool_response", "tool"},
        {"tool_result", "tool"},    {"environment", "tool"},
    };

    for (size_t i = 0; i < sizeof ROLES / sizeof ROLES[0]; i++)
        if (str_is_ignoring_case(word, ROLES[i].word))
            return ROLES[i].role;
    return "";
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

size_t prompt_blanks(struct str text)
{
    size_t n = 0;

    while (n < text.n && is_blank(text.p[n]))
        n++;
    return n;
}

size_t prompt_blanks_before(struct str text, size_t end)
{
    size_t n = 0;

    while (n < end && is_blank(text.p[end - 1 - n]))
        n++;
    return n;
}

bool prompt_family_is_open(enum marker_family family)
{
    return family == FAMILY_ALPACA || family == FAMILY_VICUNA || family == FAMILY_HUMAN ||
           family == FAMILY_INST || family == FAMILY_DEEPSEEK || family == FAMILY_CHATGLM;
}

size_t prompt_thinking(struct str text, bool *is_empty)
{
    size_t before = prompt_blanks(text), n;
    struct str rest = str_skip(text, before);

    *is_empty = true;
    if (!str_starts(rest, "<think>"))
        return 0;
    n = before + 7;
    rest = str_skip(rest, 7);
    size_t inside = prompt_blanks(rest);
    ptrdiff_t end = str_find(rest, "</think>");
    if (end < 0) {
        *is_empty = inside == rest.n;
        return n + inside;
    }
    *is_empty = inside == (size_t)end;
    n += (size_t)end + 8;
    return n + prompt_blanks(str_skip(text, n));
}

/* ---- The markers with fixed texts ---- */

enum tail { TAIL_NONE, TAIL_LINE, TAIL_LINES, TAIL_SPACE };
enum stand { STAND_ANYWHERE, STAND_LINE, STAND_WORD };

struct fixed {
    enum marker_family family;
    const char *text;
    enum marker_act act;
    const char *role;
    enum tail tail;
    enum stand stand;
};

static const struct fixed FIXED[] = {
    {FAMILY_CHATML, "<|im_end|>", MARK_CLOSE, "", TAIL_NONE, STAND_ANYWHERE},
    {FAMILY_CHATML, "<s>", MARK_LEAD, "", TAIL_NONE, STAND_ANYWHERE},
    {FAMILY_LLAMA3, "<|eot_id|>", MARK_CLOSE, "", TAIL_NONE, STAND_ANYWHERE},
    {FAMILY_LLAMA3, "<|eom_id|>", MARK_CLOSE, "", TAIL_NONE, STAND_ANYWHERE},
    {FAMILY_LLAMA3, "<|end_of_text|>", MARK_CLOSE, "", TAIL_NONE, STAND_ANYWHERE},
    {FAMILY_LLAMA3, "<|begin_of_text|>", MARK_LEAD, "", TAIL_NONE, STAND_ANYWHERE},
    {FAMILY_INST, "[INST]", MARK_OPEN, "user", TAIL_SPACE, STAND_ANYWHERE},
    {FAMILY_INST, "[/INST]", MARK_OPEN, "assistant", TAIL_NONE, STAND_ANYWHERE},
    {FAMILY_INST, "<<SYS>>", MARK_OPEN, "system", TAIL_LINE, STAND_ANYWHERE},
    {FAMILY_INST, "<</SYS>>", MARK_OPEN, "user", TAIL_LINES, STAND_ANYWHERE},
    {FAMILY_INST, "[SYSTEM_PROMPT]", MARK_OPEN, "system", TAIL_NONE, STAND_ANYWHERE},
    {FAMILY_INST, "[/SYSTEM_PROMPT]", MARK_CLOSE, "", TAIL_NONE, STAND_ANYWHERE},
    {FAMILY_INST, "[TOOL_RESULTS]", MARK_OPEN, "tool", TAIL_NONE, STAND_ANYWHERE},
    {FAMILY_INST, "[/TOOL_RESULTS]", MARK_CLOSE, "", TAIL_NONE, STAND_ANYWHERE},
    {FAMILY_INST, "</s>", MARK_CLOSE, "", TAIL_NONE, STAND_ANYWHERE},
    {FAMILY_INST, "<s>", MARK_LEAD, "", TAIL_NONE, STAND_ANYWHERE},
    {FAMILY_GEMMA, "<end_of_turn>", MARK_CLOSE, "", TAIL_NONE, STAND_ANYWHERE},
    {FAMILY_GEMMA, "<bos>", MARK_LEAD, "", TAIL_NONE, STAND_ANYWHERE},
    {FAMILY_GEMMA, "<eos>", MARK_CLOSE, "", TAIL_NONE, STAND_ANYWHERE},
    {FAMILY_ZEPHYR, "<|user|>", MARK_OPEN, "user", TAIL_LINE, STAND_ANYWHERE},
    {FAMILY_ZEPHYR, "<|assistant|>", MARK_OPEN, "assistant", TAIL_LINE, STAND_ANYWHERE},
    {FAMILY_ZEPHYR, "<|system|>", MARK_OPEN, "system", TAIL_LINE, STAND_ANYWHERE},
    {FAMILY_ZEPHYR, "<|tool|>", MARK_OPEN, "tool", TAIL_LINE, STAND_ANYWHERE},
    {FAMILY_ZEPHYR, "<|observation|>", MARK_OPEN, "tool", TAIL_LINE, STAND_ANYWHERE},
    {FAMILY_ZEPHYR, "<|end|>", MARK_CLOSE, "", TAIL_NONE, STAND_ANYWHERE},
    {FAMILY_ZEPHYR, "<|endoftext|>", MARK_CLOSE, "", TAIL_NONE, STAND_ANYWHERE},
    {FAMILY_ZEPHYR, "</s>", MARK_CLOSE, "", TAIL_NONE, STAND_ANYWHERE},
    {FAMILY_ZEPHYR, "<s>", MARK_LEAD, "", TAIL_NONE, STAND_ANYWHERE},
    {FAMILY_CHATGLM, "<|user|>", MARK_OPEN, "user", TAIL_LINE, STAND_ANYWHERE},
    {FAMILY_CHATGLM, "<|assistant|>", MARK_OPEN, "assistant", TAIL_NONE, STAND_ANYWHERE},
    {FAMILY_CHATGLM, "<|system|>", MARK_OPEN, "system", TAIL_LINE, STAND_ANYWHERE},
    {FAMILY_CHATGLM, "<|observation|>", MARK_OPEN, "tool", TAIL_LINE, STAND_ANYWHERE},
    {FAMILY_CHATGLM, "[gMASK]", MARK_LEAD, "", TAIL_NONE, STAND_ANYWHERE},
    {FAMILY_CHATGLM, "<sop>", MARK_LEAD, "", TAIL_NONE, STAND_ANYWHERE},
    {FAMILY_CHATGLM, "<|endoftext|>", MARK_CLOSE, "", TAIL_NONE, STAND_ANYWHERE},
    {FAMILY_DEEPSEEK, "<｜User｜>", MARK_OPEN, "user", TAIL_NONE, STAND_ANYWHERE},
    {FAMILY_DEEPSEEK, "<｜Assistant｜>", MARK_OPEN, "assistant", TAIL_NONE, STAND_ANYWHERE},
    {FAMILY_DEEPSEEK, "<｜System｜>", MARK_OPEN, "system", TAIL_NONE, STAND_ANYWHERE},
    {FAMILY_DEEPSEEK, "<｜end▁of▁sentence｜>", MARK_CLOSE, "", TAIL_NONE, STAND_ANYWHERE},
    {FAMILY_DEEPSEEK, "<｜begin▁of▁sentence｜>", MARK_LEAD, "", TAIL_NONE, STAND_ANYWHERE},
    {FAMILY_ALPACA, "### Instruction:", MARK_OPEN, "user", TAIL_LINE, STAND_LINE},
    {FAMILY_ALPACA, "### Input:", MARK_OPEN, "user", TAIL_LINE, STAND_LINE},
    {FAMILY_ALPACA, "### Response:", MARK_OPEN, "assistant", TAIL_LINE, STAND_LINE},
    {FAMILY_ALPACA, "### System:", MARK_OPEN, "system", TAIL_LINE, STAND_LINE},
    {FAMILY_ALPACA, "<s>", MARK_LEAD, "", TAIL_NONE, STAND_LINE},
    {FAMILY_ALPACA, "<|begin_of_text|>", MARK_LEAD, "", TAIL_NONE, STAND_LINE},
    {FAMILY_ALPACA, "<bos>", MARK_LEAD, "", TAIL_NONE, STAND_LINE},
    {FAMILY_VICUNA, "USER:", MARK_OPEN, "user", TAIL_SPACE, STAND_WORD},
    {FAMILY_VICUNA, "ASSISTANT:", MARK_OPEN, "assistant", TAIL_NONE, STAND_WORD},
    {FAMILY_VICUNA, "SYSTEM:", MARK_OPEN, "system", TAIL_SPACE, STAND_WORD},
    {FAMILY_VICUNA, "</s>", MARK_CLOSE, "", TAIL_NONE, STAND_ANYWHERE},
    {FAMILY_VICUNA, "<s>", MARK_LEAD, "", TAIL_NONE, STAND_ANYWHERE},
    {FAMILY_HUMAN, "### Human:", MARK_OPEN, "user", TAIL_SPACE, STAND_LINE},
    {FAMILY_HUMAN, "### User:", MARK_OPEN, "user", TAIL_SPACE, STAND_LINE},
    {FAMILY_HUMAN, "### Assistant:", MARK_OPEN, "assistant", TAIL_NONE, STAND_LINE},
    {FAMILY_HUMAN, "### System:", MARK_OPEN, "system", TAIL_SPACE, STAND_LINE},
    {FAMILY_HUMAN, "Human:", MARK_OPEN, "user", TAIL_SPACE, STAND_LINE},
    {FAMILY_HUMAN, "User:", MARK_OPEN, "user", TAIL_SPACE, STAND_LINE},
    {FAMILY_HUMAN, "Assistant:", MARK_OPEN, "assistant", TAIL_NONE, STAND_LINE},
    {FAMILY_HUMAN, "System:", MARK_OPEN, "system", TAIL_SPACE, STAND_LINE},
    {FAMILY_HUMAN, "</s>", MARK_CLOSE, "", TAIL_NONE, STAND_ANYWHERE},
    {FAMILY_HUMAN, "<|endoftext|>", MARK_CLOSE, "", TAIL_NONE, STAND_ANYWHERE},
    {FAMILY_HUMAN, "<s>", MARK_LEAD, "", TAIL_NONE, STAND_ANYWHERE},
};
enum { N_FIXED = sizeof FIXED / sizeof FIXED[0] };

/* Text families have no tokens of their own: their markers count where such a line or word begins. */
static bool stands(struct str text, size_t at, enum stand stand)
{
    if (stand == STAND_ANYWHERE || at == 0)
        return true;
    char before = text.p[at - 1];
    if (before == '\n' || before == '>')
        return true;
    return stand == STAND_WORD && is_blank(before);
}

static size_t tail_of(struct str rest, enum tail tail)
{
    if (tail == TAIL_SPACE)
        return rest.n > 0 && rest.p[0] == ' ';
    if (tail == TAIL_NONE)
        return 0;
    size_t n = 0, most = tail == TAIL_LINE ? 1 : 2;
    while (n < most && n < rest.n && rest.p[n] == '\n')
        n++;
    return n;
}

static bool fixed_at(const struct fixed *fixed, struct str text, size_t at)
{
    return at < text.n && text.p[at] == fixed->text[0] &&
           str_starts(str_skip(text, at), fixed->text) && stands(text, at, fixed->stand);
}

static void take_fixed(const struct fixed *fixed, struct str text, size_t at,
                       struct marker_match *out)
{
    out->act = fixed->act;
    out->role = fixed->role;
    out->core = strlen(fixed->text);
    out->n = out->core + tail_of(str_skip(text, at + out->core), fixed->tail);
}

/* ---- Headers that name their role: ChatML, Llama 3, Gemma ---- */

static struct str word_of(struct str text)
{
    size_t n = 0;

    while (n < text.n && n < ROLE_BYTES && (isalnum((unsigned char)text.p[n]) || text.p[n] == '_'))
        n++;
    return str_first(text, n);
}

/* A name may follow the role on its line ("<|im_start|>user name=…"). */
static size_t line_rest(struct str text)
{
    size_t n = 0;

    while (n < text.n && n < ROLE_BYTES && text.p[n] != '\n' && text.p[n] != '<')
        n++;
    return n > 0 && n < text.n && text.p[n] == '\n' && text.p[0] == ' ' ? n : 0;
}

static bool named_at(struct str text, size_t at, const char *open, const char *close,
                     enum tail tail, struct marker_match *out)
{
    struct str rest = str_skip(text, at);

    if (!str_starts(rest, open))
        return false;
    size_t n = strlen(open);
    struct str word = word_of(str_skip(rest, n));
    out->act = MARK_OPEN;
    out->role = prompt_role_of(word);
    n += word.n;
    if (close) {
        if (!str_starts(str_skip(rest, n), close)) {
            out->n = out->core = n;
            return true;
        }
        n += strlen(close);
    } else {
        n += line_rest(str_skip(rest, n));
    }
    out->core = n;
    out->n = n + tail_of(str_skip(rest, n), tail);
    return true;
}

/* ---- Special tokens of a tokenizer that no family has ---- */

/* <|name|>, also where no tokenizer told. */
static size_t piped_at(struct str rest)
{
    if (!str_starts(rest, "<|"))
        return 0;
    for (size_t n = 2; n < rest.n && n < SPECIAL_BYTES; n++) {
        unsigned char c = (unsigned char)rest.p[n];

        if (c == '|' && n > 2 && n + 1 < rest.n && rest.p[n + 1] == '>')
            return n + 2;
        if (!isalnum(c) && c != '_' && c != '-' && c < 0x80)
            return 0;
    }
    return 0;
}

static size_t special_at(const struct special_list *special, struct str text, size_t at)
{
    struct str rest = str_skip(text, at);
    size_t best = piped_at(rest);

    for (size_t i = 0; i < special->n; i++) {
        struct str item = special->items[i];

        if (item.n > best && item.n <= rest.n && rest.p[0] == item.p[0] &&
            memcmp(rest.p, item.p, item.n) == 0)
            best = item.n;
    }
    return best;
}

/* A word inside of a special token that is a role: <|START_USER|>, [|assistant|]. */
static const char *role_inside(struct str token)
{
    const char *found = "";

    for (size_t i = 0; i < token.n && !found[0];) {
        size_t n = 0;

        while (i + n < token.n && isalpha((unsigned char)token.p[i + n]))
            n++;
        found = prompt_role_of(str_from(token.p + i, n));
        i += n ? n : 1;
    }
    return found;
}

/* <|im_end|>, <|END_OF_TURN_TOKEN|>, <|assistant_end|>, <|return|>: never the beginning of a header. */
static bool is_end_token(struct str token)
{
    static const char *const ENDS[] = {"end", "eos", "eot", "eom", "return", "call"};

    for (size_t i = 0; i < token.n; i++) {
        bool is_first = i == 0 || !isalpha((unsigned char)token.p[i - 1]);

        for (size_t k = 0; is_first && k < sizeof ENDS / sizeof ENDS[0]; k++)
            if (str_is_ignoring_case(str_first(str_skip(token, i), strlen(ENDS[k])), ENDS[k]))
                return true;
    }
    return false;
}

/* What may stand between special tokens of a header behind its role. */
static bool is_channel(struct str word)
{
    return str_is(word, "final") || str_is(word, "analysis") || str_is(word, "commentary");
}

/* A run of special tokens, with a role word among or inside of them, is a header; any other is an end.
 * <|start|>assistant<|channel|>final<|message|>, <|start_of_role|>user<|end_of_role|>. */
static bool special_run_at(const struct special_list *special, struct str text, size_t at,
                           struct marker_match *out)
{
    size_t n = special_at(special, text, at), first = n;

    if (n == 0)
        return false;
    bool is_end = is_end_token(str_from(text.p + at, n));
    const char *role = is_end ? "" : role_inside(str_from(text.p + at, n));
    while (role[0] == '\0' && !is_end) {
        size_t next = special_at(special, text, at + n);

        if (next == 0)
            break;
        role = role_inside(str_from(text.p + at + n, next));
        n += next;
    }
    if (role[0] == '\0' && n == first && !is_end) {
        struct str word = word_of(str_skip(text, at + n));
        role = prompt_role_of(word);
        struct str behind = str_skip(text, at + n + word.n);
        bool is_closed = behind.n == 0 || behind.p[0] == '\n' || behind.p[0] == ' ' ||
                         special_at(special, text, at + n + word.n) > 0;
        if (!is_closed)
            role = "";
        if (role[0])
            n += word.n;
    }
    if (role[0] == '\0') {
        *out = (struct marker_match){MARK_CLOSE, "", first, first};
        return true;
    }
    for (int words = 0; words < 3; words++) {
        struct str word = word_of(str_skip(text, at + n));
        bool is_known = is_channel(word) || prompt_role_of(word)[0];

        if (is_known && special_at(special, text, at + n + word.n))
            n += word.n;
        size_t next = special_at(special, text, at + n);
        if (next == 0)
            break;
        n += next;
    }
    *out = (struct marker_match){MARK_OPEN, role, n, n};
    out->n += tail_of(str_skip(text, at + n), TAIL_LINE);
    return true;
}

bool prompt_marker_at(enum marker_family family, const struct special_list *special,
                      struct str text, size_t at, struct marker_match *out)
{
    if (family == FAMILY_OTHER)
        return special_run_at(special, text, at, out);
    if (family == FAMILY_CHATML && named_at(text, at, "<|im_start|>", NULL, TAIL_LINE, out))
        return true;
    if (family == FAMILY_GEMMA && named_at(text, at, "<start_of_turn>", NULL, TAIL_LINE, out))
        return true;
    if (family == FAMILY_LLAMA3 &&
        named_at(text, at, "<|start_header_id|>", "<|end_header_id|>", TAIL_LINES, out))
        return true;
    for (size_t i = 0; i < N_FIXED; i++)
        if (FIXED[i].family == family && fixed_at(&FIXED[i], text, at)) {
            take_fixed(&FIXED[i], text, at, out);
            return true;
        }
    return false;
}

/* ---- Which family ---- */

/* What tells a family with tokens of its own. */
static const struct {
    enum marker_family family;
    const char *text;
} SIGNS[] = {
    {FAMILY_CHATML, "<|im_start|>"},   {FAMILY_LLAMA3, "<|start_header_id|>"},
    {FAMILY_GEMMA, "<start_of_turn>"}, {FAMILY_DEEPSEEK, "<｜User｜>"},
    {FAMILY_DEEPSEEK, "<｜Assistant｜>"}, {FAMILY_CHATGLM, "[gMASK]"},
    {FAMILY_ZEPHYR, "<|user|>"},       {FAMILY_ZEPHYR, "<|assistant|>"},
    {FAMILY_ZEPHYR, "<|system|>"},     {FAMILY_INST, "[INST]"},
    {FAMILY_INST, "[SYSTEM_PROMPT]"},
};

static size_t find_one(struct str text, const struct fixed *fixed)
{
    size_t at = 0;
    ptrdiff_t found;

    while ((found = str_find(str_skip(text, at), fixed->text)) >= 0) {
        at += (size_t)found;
        if (stands(text, at, fixed->stand))
            return at;
        at++;
    }
    return text.n;
}

static size_t find_fixed(struct str text, enum marker_family family, const char *role)
{
    size_t first = text.n;

    for (size_t i = 0; i < N_FIXED; i++) {
        if (FIXED[i].family != family || FIXED[i].act != MARK_OPEN ||
            strcmp(FIXED[i].role, role) != 0)
            continue;
        size_t at = find_one(text, &FIXED[i]);
        if (at < first)
            first = at;
    }
    return first;
}

/* Where the prompt begins behind a BOS text. */
static size_t behind_bos(struct str text)
{
    static const char *const BOS[] = {"<s>", "<bos>", "<|begin_of_text|>", "<|endoftext|>"};
    size_t at = prompt_blanks(text);

    for (size_t i = 0; i < sizeof BOS / sizeof BOS[0]; i++)
        if (str_starts(str_skip(text, at), BOS[i]))
            at += strlen(BOS[i]);
    return at + prompt_blanks(str_skip(text, at));
}

/* Words like "User:" occur in any text: both roles, or the very first one. */
static size_t find_text_family(struct str text, enum marker_family family)
{
    size_t user = find_fixed(text, family, "user");
    size_t assistant = find_fixed(text, family, "assistant");

    if (family == FAMILY_ALPACA)
        return user < assistant ? user : assistant;
    if (user < text.n && (assistant < text.n || user <= behind_bos(text)))
        return user < assistant ? user : assistant;
    return text.n;
}

static size_t find_other(struct str text, const struct special_list *special)
{
    struct marker_match match;

    for (size_t at = 0; at < text.n; at++)
        if (special_run_at(special, text, at, &match)) {
            if (match.act == MARK_OPEN)
                return at;
            at += match.n - 1;
        }
    return text.n;
}

enum marker_family prompt_family_of(struct str text, const struct special_list *special)
{
    static const enum marker_family TEXTS[] = {FAMILY_ALPACA, FAMILY_VICUNA, FAMILY_HUMAN};
    enum marker_family found = FAMILY_NONE;
    size_t first = text.n;

    for (size_t i = 0; i < sizeof SIGNS / sizeof SIGNS[0]; i++) {
        ptrdiff_t at = str_find(str_first(text, first), SIGNS[i].text);

        if (at >= 0) {
            first = (size_t)at;
            found = SIGNS[i].family;
        }
    }
    if (found == FAMILY_NONE && (first = find_other(text, special)) < text.n)
        found = FAMILY_OTHER;
    for (size_t i = 0; i < sizeof TEXTS / sizeof TEXTS[0]; i++) {
        size_t at = find_text_family(text, TEXTS[i]);

        if (at < first) {
            first = at;
            found = TEXTS[i];
        }
    }
    return found;
}
