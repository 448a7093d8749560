/* The built-in conversations of the template lint, as JSON, and small readers of them. */
#include <string.h>

#include "core/text/template_lint_parts.h"

/* Contents hold no marker, no quote and no word that a repr would hold. */
#define SYSTEM    "{\"role\":\"system\",\"content\":\"Answer in one sentence.\"}"
#define USER      "{\"role\":\"user\",\"content\":\"What boils at 93 degrees?\"}"
#define ASSISTANT "{\"role\":\"assistant\",\"content\":\"Water, two kilometres up.\"}"
#define USER_2    "{\"role\":\"user\",\"content\":\"And at sea level?\"}"
#define ANSWER_2  "{\"role\":\"assistant\",\"content\":\"At one hundred.\"}"
#define CALL                                                                                    \
    "{\"role\":\"assistant\",\"content\":\"\",\"tool_calls\":[{\"id\":\"call00001\",\"type\":\"function\"," \
    "\"function\":{\"name\":\"boiling_point\",\"arguments\":{\"height\":2000}}}]}"
#define RESULT                                                                                   \
    "{\"role\":\"tool\",\"name\":\"boiling_point\",\"tool_call_id\":\"call00001\",\"content\":\"93\"}"
#define TOOLS                                                                                   \
    "[{\"type\":\"function\",\"function\":{\"name\":\"boiling_point\",\"description\":\"Boiling point\"," \
    "\"parameters\":{\"type\":\"object\",\"properties\":{\"height\":{\"type\":\"integer\","       \
    "\"description\":\"metres\"}},\"required\":[\"height\"]}}}]"

enum { PLAIN = 1, ORDER = 2, TEXTS = 4 };

static const struct {
    const char *name, *messages, *tools;
    unsigned flags;
} SHAPES[] = {
    {"user, assistant", "[" USER "," ASSISTANT "]", NULL, PLAIN | ORDER | TEXTS},
    {"two turns", "[" USER "," ASSISTANT "," USER_2 "," ANSWER_2 "]", NULL, PLAIN | ORDER | TEXTS},
    {"user alone", "[" USER "]", NULL, PLAIN | TEXTS},
    {"system, user, assistant", "[" SYSTEM "," USER "," ASSISTANT "]", NULL, ORDER | TEXTS},
    {"system, two turns", "[" SYSTEM "," USER "," ASSISTANT "," USER_2 "," ANSWER_2 "]", NULL,
     ORDER | TEXTS},
    {"blanks at the edges",
     "[{\"role\":\"user\",\"content\":\"  Two blanks, a line end\\n\"},"
     "{\"role\":\"assistant\",\"content\":\"\\n\\tIndented.\\n\\nAnother line \"}]",
     NULL, PLAIN | ORDER | TEXTS},
    {"other scripts and signs",
     "[{\"role\":\"user\",\"content\":\"\\u6c34 & \\u0645\\u0627\\u0621 {{ x }} 5 > 3\"},"
     "{\"role\":\"assistant\",\"content\":\"\\ud83c\\udf0a a\\\\b \\u00e9\"}]",
     NULL, PLAIN | ORDER | TEXTS},
    {"empty answer", "[" USER ",{\"role\":\"assistant\",\"content\":\"\"}]", NULL, PLAIN},
    {"thinking in the content",
     "[" USER ",{\"role\":\"assistant\",\"content\":\"<think>\\nHigh up it is less.\\n</think>\\n\\n"
     "Water, two kilometres up.\"}," USER_2 "," ANSWER_2 "]",
     NULL, ORDER},
    {"thinking apart",
     "[" USER ",{\"role\":\"assistant\",\"reasoning_content\":\"High up it is less.\","
     "\"content\":\"Water, two kilometres up.\"}," USER_2 "," ANSWER_2 "]",
     NULL, ORDER},
    {"tools offered", "[" USER "," ASSISTANT "]", TOOLS, 0},
    {"tool call and result", "[" USER "," CALL "," RESULT "," ASSISTANT "]", TOOLS, ORDER},
    {"content as parts",
     "[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"What boils at 93 degrees?\"}]},"
     "{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"Water, two kilometres up.\"}]}]",
     NULL, 0},
    {"content null", "[" USER ",{\"role\":\"assistant\",\"content\":null}]", NULL, 0},
    {"two user turns in a row", "[" USER "," USER_2 "," ANSWER_2 "]", NULL, TEXTS},
    {"assistant first", "[" ASSISTANT "," USER_2 "," ANSWER_2 "]", NULL, TEXTS},
    {"an unknown role",
     "[" USER ",{\"role\":\"narrator\",\"content\":\"It rains.\"}," ASSISTANT "]", NULL, 0},
};

#define N_SHAPES (sizeof SHAPES / sizeof *SHAPES)

static int parse(struct linter *linter, const char *text, const struct json **out)
{
    *out = NULL;
    return text ? json_parse_exact(str_of(text), linter->arena, out, linter->err) : OK;
}

int lint_shapes(struct linter *linter)
{
    struct lint_shape *shapes = arena_array(linter->arena, N_SHAPES, sizeof *shapes);
    int rc = parse(linter, "{\"bos_token\":\"<s>\",\"eos_token\":\"</s>\",\"unk_token\":\"<unk>\"}",
                   &linter->usual_tokens);

    if (!shapes)
        return error_set(linter->err, E_NOMEM, "linting a template");
    for (size_t i = 0; rc == OK && i < N_SHAPES; i++) {
        shapes[i] = (struct lint_shape){
            .name = SHAPES[i].name,
            .is_plain = SHAPES[i].flags & PLAIN,
            .has_order = SHAPES[i].flags & ORDER,
            .has_texts = SHAPES[i].flags & TEXTS,
        };
        rc = parse(linter, SHAPES[i].messages, &shapes[i].messages);
        if (rc == OK)
            rc = parse(linter, SHAPES[i].tools, &shapes[i].tools);
    }
    linter->shapes = shapes;
    linter->n_shapes = N_SHAPES;
    return rc;
}

size_t lint_same_bytes(struct str a, struct str b)
{
    size_t n = 0;

    while (n < a.n && n < b.n && a.p[n] == b.p[n])
        n++;
    return n;
}

ptrdiff_t lint_find(struct str text, struct str what)
{
    const char *at = what.n ? memmem(text.p, text.n, what.p, what.n) : text.p;

    return at ? at - text.p : -1;
}

struct str lint_role(const struct json *message)
{
    const struct json *role = json_get(message, "role");

    return json_is(role, JSON_STRING) ? role->text : str_from("", 0);
}

struct str lint_content(const struct json *message)
{
    const struct json *content = json_get(message, "content");

    return json_is(content, JSON_STRING) ? content->text : str_from("", 0);
}
