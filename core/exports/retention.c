/* The starter of a retention suite: twenty items in our own words whose answers can be checked by a rule.
 * What a model answers to them is recorded by the user; flatline compares two records (C4.3). */
#include "core/exports/retention.h"

#include "core/base/sha256.h"
#include "core/read/json.h"

struct item {
    const char *category, *prompt, *check;
    const char *answer;         /* a text, or a JSON list of texts */
};

static const char SUITE[] = "retention-starter";

/* Frozen: a change of a letter is another suite, whose hash differs. */
static const struct item ITEMS[] = {
    {"addition", "Add 347 and 586. Answer with the number only.", "exact", "933"},
    {"percentage", "A coat costs 80 euros and gets 15 percent cheaper. How many euros does it cost "
                   "now? Answer with the number only.",
     "exact", "68"},
    {"units", "How many metres are 3.2 kilometres? Answer with the number only, without separators.",
     "exact", "3200"},
    {"dates", "Put these dates in order, earliest first: 4 May 2019, 17 March 2020, 30 December 2018, "
              "2 March 2020. Write them as YYYY-MM-DD, separated by commas, and nothing else.",
     "regex", "2018-12-30,\\s*2019-05-04,\\s*2020-03-02,\\s*2020-03-17"},
    {"capital", "Which city is the capital of Portugal? Answer with its name only.", "exact", "Lisbon"},
    {"chemistry", "What is the chemical symbol of potassium? Answer with the symbol only.", "exact", "K"},
    {"spelling", "Write the word \"lantern\" backwards, in lower case, and nothing else.", "exact",
     "nretnal"},
    {"letters", "How often does the letter e occur in \"refreshment\"? Answer with the number only.",
     "exact", "3"},
    {"plural", "What is the plural of the English word \"goose\"? Answer with one word.", "exact",
     "geese"},
    {"summary", "In one sentence say what happened. The sentence has to contain the words bridge, storm "
                "and repaired: \"On Monday the storm tore planks from the old bridge. By Friday the "
                "carpenters had repaired it, and people walked across again.\"",
     "contains_all", "[\"bridge\", \"storm\", \"repaired\"]"},
    {"translation", "Translate into French: \"The black cat is sleeping on the table.\"", "contains_all",
     "[\"chat\", \"noir\", \"table\"]"},
    {"python", "What does this Python expression give? len([x for x in range(10) if x % 3 == 0]) Answer "
               "with the value only.",
     "exact", "4"},
    {"regex", "Write a regular expression that matches one or more digits. Answer with the expression "
              "only.",
     "regex", "(\\\\d|\\[0-9\\]|\\[\\[:digit:\\]\\])\\+"},
    {"json", "Give a JSON object with the keys \"name\" and \"age\" for a person called Ida who is 41. "
             "Answer with the JSON only.",
     "json_keys", "[\"name\", \"age\"]"},
    {"unknowable", "What did I have for breakfast today? If you cannot know it, begin your answer with "
                   "\"I cannot know\".",
     "contains_all", "[\"I cannot know\"]"},
    {"syllogism", "All herons are birds. No bird is a fish. Can a heron be a fish? Answer yes or no.",
     "exact", "no"},
    {"sorting", "Sort these words alphabetically, separated by commas and nothing else: plum, apple, "
                "cherry, fig, banana.",
     "regex", "apple,\\s*banana,\\s*cherry,\\s*fig,\\s*plum"},
    {"extraction", "Which e-mail address is in this text? \"Write to Jo (jo.berg@example.org) before "
                   "noon, or ring 0123.\" Answer with the address only.",
     "exact", "jo.berg@example.org"},
    {"series", "Which number comes next: 2, 5, 11, 23, 47? Answer with the number only.", "exact", "95"},
    {"three words", "Describe the sea with exactly three words, and nothing else.", "regex",
     "^\\W*\\w+\\W+\\w+\\W+\\w+\\W*$"},
};
_Static_assert(sizeof ITEMS / sizeof *ITEMS == RETENTION_ITEMS, "the suite has twenty items");

static void put_string(struct buf *out, const char *key, const char *text)
{
    buf_printf(out, ", \"%s\": ", key);
    json_write_string(out, str_of(text));
}

static void put_items(struct buf *out)
{
    for (size_t i = 0; i < RETENTION_ITEMS; i++) {
        const struct item *item = &ITEMS[i];

        buf_printf(out, "{\"item_id\": \"%02zu\"", i + 1);
        put_string(out, "category", item->category);
        put_string(out, "prompt", item->prompt);
        put_string(out, "check", item->check);
        if (item->answer[0] == '[' && item->check[0] != 'r')
            buf_printf(out, ", \"answer\": %s", item->answer);
        else
            put_string(out, "answer", item->answer);
        buf_puts(out, "}\n");
    }
}

static int hash_of(struct str text, char hex[65], struct error *err)
{
    struct sha256 *hash = NULL;
    int rc = sha256_open(&hash, err);

    if (rc != OK)
        return rc;
    sha256_add(hash, text.p, text.n);
    uint8_t digest[32];
    sha256_finish(hash, digest, hex);
    sha256_close(hash);
    return OK;
}

static int write_suite(const struct made_folder *folder, char hex[65], struct error *err)
{
    struct buf items, text;

    buf_init(&items, 1 << 16);
    buf_init(&text, 1 << 16);
    put_items(&items);
    int rc = hash_of(buf_view(&items), hex, err);
    buf_printf(&text, "{\"suite\": \"%s\", \"version\": 1, \"sha256\": \"%s\"}\n", SUITE, hex);
    buf_str(&text, buf_view(&items));
    if (rc == OK)
        rc = made_file_write(folder, "suite.jsonl", &text, "twenty items, frozen by their hash", err);
    buf_free(&items);
    buf_free(&text);
    return rc;
}

/* One line an item and role, to be filled in: `output` and `correct` are null. */
static int write_record(const struct made_folder *folder, const char *suite_hash, struct error *err)
{
    static const char *const ROLES[] = {"base", "candidate"};
    struct buf text;
    int rc = OK;

    buf_init(&text, 1 << 20);
    for (size_t r = 0; r < 2; r++)
        for (size_t i = 0; i < RETENTION_ITEMS && rc == OK; i++) {
            char hex[65];

            rc = hash_of(str_of(ITEMS[i].prompt), hex, err);
            buf_printf(&text,
                       "{\"suite\": \"%s\", \"suite_sha256\": \"%s\", \"model\": \"%s\", \"role\": \"%s\", "
                       "\"artefact\": null, \"artefact_sha256\": null, \"step\": null, \"item_id\": "
                       "\"%02zu\", \"prompt_sha256\": \"%s\", \"output\": null, \"correct\": null, "
                       "\"output_tokens\": null, \"finish_reason\": null, \"decoding\": "
                       "{\"temperature\": 0, \"max_new_tokens\": 128, \"seed\": 20}, \"date\": null}\n",
                       SUITE, suite_hash, ROLES[r], ROLES[r], i + 1, hex);
        }
    if (rc == OK)
        rc = made_file_write(folder, "record.jsonl", &text, "the form of the record, to be filled in",
                             err);
    buf_free(&text);
    return rc;
}

static int write_readme(const struct made_folder *folder, struct error *err)
{
    struct buf text;

    buf_init(&text, 1 << 16);
    buf_puts(&text,
             "# Did the model keep what it could do?\n\n"
             "`suite.jsonl` is a starter of twenty general items, frozen: its first line has the SHA-256 of "
             "the other lines. Put items of your own behind them, as many as you can, before the first "
             "training, count the hash anew and change nothing afterwards.\n\n"
             "1. Ask both models each `prompt`, through the same chat template and with the same decoding.\n"
             "2. Fill in `record.jsonl`: a line an item and model, with `output` and `correct` (0 or 1).\n"
             "   `check` says how `answer` decides, on the output without white space at its ends and, but "
             "for `json_keys`, without regard to case: `exact` equal, but for a final full stop; `regex` "
             "found in it; `contains_all` each text is in it; `json_keys` a JSON object with these keys.\n"
             "3. Look at it: `flatline check RUN record.jsonl`.\n\n"
             "Two records are compared only when `suite_sha256`, `prompt_sha256` and `decoding` agree.\n\n"
             "## What it can show\n\n"
             "| items | a drop that is seen four times of five |\n|---|---|\n"
             "| 20 | 26 points or more |\n| 100 | 12 points or more |\n| 500 | 6 points or more |\n\n"
             "(paired, when a fifth of the items differ between the two models). A fixed tolerance of 2 % "
             "is below the noise of fewer than 2,000 items.\n");
    int rc = made_file_write(folder, "README.md", &text, "what to do, and what it can show", err);
    buf_free(&text);
    return rc;
}

int make_retention(const struct made_folder *folder, struct error *err)
{
    char hex[65] = "";
    int rc = made_folder_open(folder, err);

    if (rc == OK)
        rc = write_suite(folder, hex, err);
    if (rc == OK)
        rc = write_record(folder, hex, err);
    return rc == OK ? write_readme(folder, err) : rc;
}
