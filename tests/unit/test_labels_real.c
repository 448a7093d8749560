/* Labels that real trainers made (tests/engines/labels/, versions in the first line of each file), token for
 * token. A line is a row with what the trainer made of it: ids and the spans of trained tokens, or that it
 * was dropped. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/unicode.h"
#include "core/read/rows.h"
#include "core/text/labels.h"

#define FOLDER "tests/engines/labels"

struct setting {
    struct arena *arena;            /* lives as long as the setting */
    const struct json *header;
    struct label_policy policy;
    struct tokenizer *tokenizer;
    struct chat_template *chat_template;
    struct labeller *labeller;
    const char *name;
};

/* ---- The policy of the first line ---- */

static const struct json *member(const struct setting *setting, const char *key)
{
    return json_get(json_get(setting->header, "policy"), key);
}

static bool flag(const struct setting *setting, const char *key)
{
    return json_is(member(setting, key), JSON_TRUE);
}

static enum tri tri_of(const struct setting *setting, const char *key)
{
    const struct json *value = member(setting, key);

    return json_is(value, JSON_TRUE) ? YES : json_is(value, JSON_FALSE) ? NO : AUTO;
}

static const char *text(const struct setting *setting, const char *key)
{
    const struct json *value = member(setting, key);

    return json_is(value, JSON_STRING)
               ? arena_strndup(setting->arena, value->text.p, value->text.n)
               : NULL;
}

static enum mask_rule rule_of(const struct setting *setting)
{
    static const char *const NAMES[N_MASK_RULES] = {
        "trl",           "trl-old",      "response-template", "unsloth",
        "llamafactory",  "axolotl-chat", "axolotl-prompt",    "axolotl-text",
        "axolotl-segments", "trainer",   "torchtune",         "litgpt"};
    const char *name = text(setting, "rule");

    for (int i = 0; i < N_MASK_RULES; i++)
        if (strcmp(NAMES[i], name) == 0)
            return (enum mask_rule)i;
    fail_msg("%s: no rule %s", setting->name, name);
    return N_MASK_RULES;
}

static struct marker marker_of(const struct setting *setting, const char *key)
{
    const char *value = text(setting, key);

    return (struct marker){.text = value ? str_of(value) : (struct str){NULL, 0}};
}

static const char *const *texts(const struct setting *setting, const char *key, size_t *n)
{
    const struct json *list = member(setting, key);

    *n = 0;
    if (!json_is(list, JSON_ARRAY))
        return NULL;
    const char **out = arena_array(setting->arena, list->n + 1, sizeof *out);
    for (const struct json *item = list->child; item; item = item->next)
        out[(*n)++] = arena_strndup(setting->arena, item->text.p, item->text.n);
    return out;
}

static void read_policy(struct setting *setting)
{
    const struct json *length = member(setting, "max_length");

    setting->policy = (struct label_policy){
        .rule = rule_of(setting),
        .boundary_is_prefix = flag(setting, "boundary_is_prefix"),
        .drops_masked = flag(setting, "drops_masked"),
        .appends_eos = flag(setting, "appends_eos"),
        .appends_eos_id = flag(setting, "appends_eos_id"),
        .template_is_patched = flag(setting, "template_is_patched"),
        .stops_at_end_tokens = flag(setting, "stops_at_end_tokens"),
        .completion_only = tri_of(setting, "completion_only"),
        .assistant_only = tri_of(setting, "assistant_only"),
        .train_on_prompt = tri_of(setting, "train_on_prompt"),
        .mask_history = tri_of(setting, "mask_history"),
        .efficient_eos = tri_of(setting, "efficient_eos"),
        .enable_thinking = tri_of(setting, "enable_thinking"),
        .train_on_inputs = tri_of(setting, "train_on_inputs"),
        .last_response_only = tri_of(setting, "last_response_only"),
        .response = marker_of(setting, "response"),
        .instruction = marker_of(setting, "instruction"),
        .train_on_eos = text(setting, "train_on_eos"),
        .train_on_eot = text(setting, "train_on_eot"),
        .field_training = text(setting, "field_training"),
        .field_training_detail = text(setting, "field_training_detail"),
        .llamafactory_template = text(setting, "llamafactory_template"),
        .default_system = text(setting, "default_system"),
        .prompt_style = text(setting, "prompt_style"),
        .max_length = json_is(length, JSON_NUMBER) ? (int64_t)length->number : NONE,
        .cut_keeps_end = flag(setting, "cut_keeps_end"),
        .drops_long = flag(setting, "drops_long"),
        .packs = flag(setting, "packs"),
        .packs_whole = flag(setting, "packs_whole"),
        .masks_pad_id = flag(setting, "masks_pad_id"),
    };
    setting->policy.roles_to_train =
        texts(setting, "roles_to_train", &setting->policy.n_roles);
    setting->policy.eot_tokens = texts(setting, "eot_tokens", &setting->policy.n_eot_tokens);
}

/* ---- Parts ---- */

static struct str file_text(struct arena *arena, const char *path)
{
    FILE *file = fopen(path, "rb");
    static char bytes[1 << 20];

    if (!file)
        fail_msg("%s cannot be read", path);
    size_t n = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    return arena_str(arena, str_from(bytes, n));
}

static const char *header_text(const struct setting *setting, const char *key)
{
    const struct json *value = json_get(setting->header, key);

    return value ? arena_strndup(setting->arena, value->text.p, value->text.n) : NULL;
}

static int64_t special_id(struct setting *setting, const struct json *specials, const char *key,
                          struct str *spelling)
{
    const struct json *token = json_get(specials, key);

    if (!json_is(token, JSON_STRING))
        return NONE;
    if (spelling)
        *spelling = token->text;
    return tokenizer_id(setting->tokenizer, token->text);
}

static void open_setting(struct setting *setting)
{
    const char *folder =
        arena_printf(setting->arena, "%s/tokenizer-%s", FOLDER, header_text(setting, "tokenizer"));
    struct labeller_parts parts = {.policy = &setting->policy};
    struct jinja_failure failure;
    struct error err;

    read_policy(setting);
    if (tokenizer_load(&setting->tokenizer, folder, NULL, &err) != OK)
        fail_msg("%s: %s", folder, err.message);
    assert_int_equal(chat_special_tokens(folder, setting->arena, &parts.special_tokens, &err), OK);
    struct label_policy *policy = &setting->policy;
    policy->bos_id = special_id(setting, parts.special_tokens, "bos_token", &policy->bos_text);
    policy->eos_id = special_id(setting, parts.special_tokens, "eos_token", &policy->eos_text);
    policy->pad_id = special_id(setting, parts.special_tokens, "pad_token", NULL);
    const char *template = arena_printf(setting->arena, "%s/%s", folder,
                                        header_text(setting, "template"));
    parts.template_text = file_text(setting->arena, template);
    if (chat_template_open(&setting->chat_template, parts.template_text, &failure, &err) != OK)
        fail_msg("%s: %s", template, failure.message);
    parts.tokenizer = setting->tokenizer;
    parts.chat_template = setting->chat_template;
    if (labeller_open(&setting->labeller, &parts, &err) != OK)
        fail_msg("%s: %s", setting->name, err.message);
}

static void close_setting(struct setting *setting)
{
    labeller_close(setting->labeller);
    chat_template_close(setting->chat_template);
    tokenizer_close(setting->tokenizer);
    arena_close(setting->arena);
}

/* ---- One row ---- */

static void fail_row(const struct setting *setting, int64_t line, const struct labelled_row *row,
                     const char *what, size_t at)
{
    struct buf shown;

    buf_init(&shown, 1 << 20);
    for (size_t i = 0; i < row->n; i++) {
        buf_printf(&shown, "%s", row->trained[i] ? "+" : "-");
        unicode_visible(&shown,
                        str_from(row->text.p + row->begin[i], row->end[i] - row->begin[i]), false);
    }
    print_error("%s\n", shown.p);
    buf_free(&shown);
    fail_msg("%s:%lld: %s at token %zu", setting->name, (long long)line, what, at);
}

static bool is_trained_in(const struct json *spans, size_t at)
{
    for (const struct json *span = spans->child; span; span = span->next)
        if ((double)at >= span->child->number && (double)at < span->child->next->number)
            return true;
    return false;
}

static uint32_t label_in(const struct json *others, size_t at, uint32_t id)
{
    char key[32];

    snprintf(key, sizeof key, "%zu", at);
    const struct json *other = others ? json_get(others, key) : NULL;
    return other ? (uint32_t)other->number : id;
}

static void compare(const struct setting *setting, int64_t line, const struct json *expected,
                    const struct labelled_row *row)
{
    const struct json *ids = json_get(expected, "ids"), *spans = json_get(expected, "spans");
    const struct json *others = json_get(expected, "other_labels"), *id = ids ? ids->child : NULL;
    size_t i = row->first_kept;

    if (!ids) {
        if (!row->is_dropped && !row->refused)
            fail_row(setting, line, row, "kept, the trainer dropped it", 0);
        return;
    }
    if (row->refused)
        fail_msg("%s:%lld: refused: %s", setting->name, (long long)line, row->refused);
    if (row->is_dropped)
        fail_row(setting, line, row, row->drop_reason, 0);
    for (size_t at = 0; id; id = id->next, at++, i++) {
        if (i >= row->end_kept || row->ids[i] != (uint32_t)id->number)
            fail_row(setting, line, row, "another id", i);
        if (row->trained[i] != is_trained_in(spans, at))
            fail_row(setting, line, row, "another label", i);
        uint32_t label = row->label_id ? row->label_id[i] : row->ids[i];
        if (row->trained[i] && label != label_in(others, at, row->ids[i]))
            fail_row(setting, line, row, "another label id", i);
        if (row->trained[i] != (row->why[i] == WHY_TRAINED))
            fail_row(setting, line, row, "a reason that does not fit", i);
    }
    if (i != row->end_kept)
        fail_row(setting, line, row, "more tokens", i);
}

static size_t compare_file(const char *name)
{
    struct setting setting = {.arena = arena_open(ARENA_RENDER_BYTES), .name = name};
    struct arena *arena = arena_open(ARENA_RENDER_BYTES);
    const struct json *tree;
    struct row_place place;
    struct error err, why;
    struct rows *rows;
    size_t n = 0;

    assert_int_equal(
        rows_open(&rows, arena_printf(setting.arena, "%s/%s", FOLDER, name), &err), OK);
    assert_int_equal(rows_next(rows, setting.arena, &setting.header, &place, &why, &err), 1);
    open_setting(&setting);
    while (rows_next(rows, arena, &tree, &place, &why, &err) == 1) {
        struct conversation row;
        struct labelled_row out;

        assert_non_null(tree);
        assert_int_equal(conversation_of_row(json_get(tree, "row"), &setting.policy.columns, arena,
                                             &row, &err),
                         OK);
        if (label_row(setting.labeller, &row, &out, &err) != OK)
            fail_msg("%s:%lld: %s", name, (long long)place.line, err.message);
        compare(&setting, place.line, tree, &out);
        arena_reset(arena);
        n++;
    }
    rows_close(rows);
    close_setting(&setting);
    arena_close(arena);
    return n;
}

static int is_setting(const struct dirent *entry)
{
    return str_ends(str_of(entry->d_name), ".jsonl");
}

static void labels_of_real_trainers_agree_token_for_token(void **state)
{
    struct dirent **entries;
    const char *only = getenv("LABELS_ONLY");
    int n = scandir(FOLDER, &entries, is_setting, alphasort);
    size_t n_rows = 0;

    (void)state;
    assert_true(n > 0);
    for (int i = 0; i < n; i++) {
        if (!only || strstr(entries[i]->d_name, only))
            n_rows += compare_file(entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
    assert_true(only || n_rows >= 50 * (size_t)n / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(labels_of_real_trainers_agree_token_for_token),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
