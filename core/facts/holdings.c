/* What a run has: tensors, token lengths, rows, packages, the GPU, whether it trained an adapter.
 */
#include <string.h>

#include "core/base/number.h"
#include "core/facts/audit.h"
#include "core/facts/facts_cache.h"
#include "core/store/store.h"

/* ---- Tensors ---- */

static const struct tensor *tensors_from_memory(const struct facts_memory *memory, int64_t id,
                                                size_t *n)
{
    for (size_t i = 0; i < memory->n_tensor_sets; i++)
        if (memory->tensors[i].artefact_id == id) {
            *n = memory->tensors[i].n;
            return memory->tensors[i].tensors;
        }
    return NULL;
}

const struct tensor *facts_tensors(const struct run_facts *facts, const struct artefact *artefact,
                                   size_t *n)
{
    struct facts_cache *cache = facts->cache;
    struct error err;

    *n = 0;
    if (!artefact)
        return NULL;
    if (cache->memory)
        return tensors_from_memory(cache->memory, artefact->id, n);
    for (struct facts_tensor_list *known = cache->tensors; known; known = known->next)
        if (known->artefact_id == artefact->id) {
            *n = known->n;
            return known->tensors;
        }
    struct facts_tensor_list *list = arena_alloc(cache->arena, sizeof *list);
    if (!list)
        return NULL;
    if (store_tensors(cache->store, artefact->id, cache->arena, &list->tensors, &list->n, &err) !=
        OK) {
        facts_fail(facts, &err);
        return NULL;
    }
    list->artefact_id = artefact->id;
    list->next = cache->tensors;
    cache->tensors = list;
    *n = list->n;
    return list->tensors;
}

/* ---- Rows ---- */

static bool has_form(const struct dataset *dataset, const char *form)
{
    return dataset->form && strcmp(dataset->form, form) == 0;
}

static bool is_split(const struct dataset *dataset, const char *split)
{
    return dataset->split && strcmp(dataset->split, split) == 0;
}

/* Without a file of lengths: what the audit of the training rows counted. */
static void lengths_of_audit(const struct run_facts *facts)
{
    struct facts_cache *cache = facts->cache;
    size_t n;
    const struct audit *const *audits = facts_audits(facts, &n);

    for (size_t i = 0; i < n; i++)
        if (audits[i]->basis == AUDIT_SIMULATED && !audits[i]->is_partial && audits[i]->rows &&
            is_split(audits[i]->dataset, "train") &&
            (!cache->lengths_of || audits[i]->dataset->n_rows > cache->lengths_of->n_rows))
            cache->lengths_of = audits[i]->dataset;
    if (cache->lengths_of)
        cache->lengths = facts_samples(facts, cache->lengths_of, &cache->n_lengths);
}

static void load_lengths(const struct run_facts *facts)
{
    struct facts_cache *cache = facts->cache;
    struct error err;

    cache->lengths_known = true;
    for (size_t i = 0; !cache->memory && i < facts->n_datasets; i++) {
        const struct dataset *dataset = &facts->datasets[i];

        if (!has_form(dataset, "lengths") || is_split(dataset, "eval") || is_split(dataset, "test"))
            continue;
        if (store_samples(cache->store, dataset->id, cache->arena, &cache->lengths,
                          &cache->n_lengths, &err) != OK)
            facts_fail(facts, &err);
        else
            cache->lengths_of = dataset;
        return;
    }
    lengths_of_audit(facts);
}

const struct sample *facts_lengths(const struct run_facts *facts, size_t *n,
                                   const struct dataset **dataset)
{
    struct facts_cache *cache = facts->cache;
    const struct facts_memory *memory = cache->memory;

    bool is_given = memory && memory->lengths;
    if (!is_given && !cache->lengths_known)
        load_lengths(facts);
    *n = is_given ? memory->n_lengths : cache->n_lengths;
    if (dataset)
        *dataset = is_given ? memory->lengths_of : cache->lengths_of;
    return is_given ? memory->lengths : cache->lengths;
}

/* Rows that were trained on, as far as a file says so: not lengths, not label samples. */
static bool is_training_rows(const struct dataset *dataset)
{
    return is_split(dataset, "train") && !has_form(dataset, "lengths") &&
           !has_form(dataset, "tokens") && dataset->n_rows >= 0;
}

/* The same rows once as text and once with another name would count twice: equal counts of two
 * files of one name count once. */
static bool is_repeated(const struct run_facts *facts, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (is_training_rows(&facts->datasets[k]) &&
            facts->datasets[k].n_rows == facts->datasets[i].n_rows && facts->datasets[k].name &&
            facts->datasets[i].name &&
            strcmp(facts->datasets[k].name, facts->datasets[i].name) == 0)
            return true;
    return false;
}

static int64_t rows_of_log(const struct run_facts *facts)
{
    char digits[32];
    int64_t rows;

    for (const struct event *e = facts_event(facts, NULL, NULL); e;
         e = facts_event(facts, NULL, e)) {
        size_t n = 0;

        if (!e->pattern || strcmp(e->pattern, "num-examples") != 0)
            continue;
        for (const char *c = event_capture(e, 1); *c && n < sizeof digits - 1; c++)
            if (*c != ',')
                digits[n++] = *c;
        if (number_parse_int(str_from(digits, n), &rows))
            return rows;
    }
    return NONE;
}

/* Rows that are here before facts of rows, then the most. */
static bool is_rather(const struct dataset *dataset, const struct dataset *than)
{
    if (!than || has_form(dataset, "facts") == has_form(than, "facts"))
        return !than || dataset->n_rows > than->n_rows;
    return has_form(than, "facts");
}

int64_t facts_train_rows(const struct run_facts *facts, const struct dataset **dataset)
{
    const struct dataset *largest = NULL;
    int64_t rows = 0, elsewhere = 0; /* of facts: the same rows, or more that are not here */
    double stated;

    for (size_t i = 0; i < facts->n_datasets; i++) {
        const struct dataset *d = &facts->datasets[i];

        if (!is_training_rows(d) || is_repeated(facts, i))
            continue;
        *(has_form(d, "facts") ? &elsewhere : &rows) += d->n_rows;
        if (is_rather(d, largest))
            largest = d;
    }
    if (dataset)
        *dataset = largest;
    if (largest)
        return rows > elsewhere ? rows : elsewhere;
    if (facts_number(facts, "num_rows", &stated) && stated >= 0 && stated < 9e15)
        return (int64_t)stated;
    return rows_of_log(facts);
}

/* ---- Packages ---- */

static bool same_package(const char *a, const char *b)
{
    for (; *a && *b; a++, b++) {
        char x = *a == '-' || *a == '.' ? '_' : *a, y = *b == '-' || *b == '.' ? '_' : *b;

        if (x >= 'A' && x <= 'Z')
            x = (char)(x - 'A' + 'a');
        if (y >= 'A' && y <= 'Z')
            y = (char)(y - 'A' + 'a');
        if (x != y)
            return false;
    }
    return *a == *b;
}

static const char *version_of(const struct run_facts *facts, const char *importer,
                              const char *prefix, const char *name)
{
    size_t n = strlen(prefix);

    for (size_t i = 0; i < facts->n_settings; i++) {
        const struct setting *s = &facts->settings[i];

        if (s->value && s->type != VALUE_NULL && strncmp(s->raw_name, prefix, n) == 0 &&
            same_package(s->raw_name + n, name) && *s->value >= '0' && *s->value <= '9' &&
            (!importer || facts_source_is(facts, s->source_id, importer)))
            return s->value;
    }
    return NULL;
}

bool facts_has_whole_arguments(const struct run_facts *facts)
{
    for (size_t i = 0; i < facts->n_sources; i++)
        if (strcmp(facts->sources[i].importer, "hf_training_args") == 0 &&
            str_ends(str_of(facts->sources[i].path), ".bin") &&
            facts->sources[i].state == SOURCE_WHOLE)
            return true;
    return false;
}

const char *facts_package(const struct run_facts *facts, const char *name)
{
    char key[64];
    const char *version = version_of(facts, NULL, "package.", name);

    if (!version)
        version = version_of(facts, "environment", "", name);
    if (version)
        return version;
    size_t n = strlen(name);
    if (n + sizeof "_version" > sizeof key)
        return NULL;
    memcpy(key, name, n); /* "transformers_version" of config.json, "peft_version" */
    memcpy(key + n, "_version", sizeof "_version");
    return version_of(facts, NULL, "", key);
}

/* ---- Adapter or full ---- */

static bool text_is_one_of(const char *text, const char *const *list)
{
    for (; *list; list++)
        if (str_is_ignoring_case(str_of(text), *list))
            return true;
    return false;
}

/* torchtune names what it builds: "torchtune.models.llama3_2.lora_llama3_2_1b". */
static int tuning_by_builder(const struct setting *model)
{
    static const char *const BUILDERS[] = {"lora_", "qlora_", "dora_", "qdora_"};
    const char *name = model && model->value ? strrchr(model->value, '.') : NULL;

    if (!name || strncmp(model->value, "torchtune.", 10) != 0)
        return -1;
    for (size_t i = 0; i < sizeof BUILDERS / sizeof *BUILDERS; i++)
        if (strncmp(name + 1, BUILDERS[i], strlen(BUILDERS[i])) == 0)
            return 1;
    return 0;
}

/* 1, 0, or -1 by settings that name the way of tuning. */
static int tuning_by_setting(const struct run_facts *facts, const struct setting **setting)
{
    static const char *const NAMES[] = {"finetuning_type", "adapter", "use_peft", "train_type",
                                        "tuner_type"};
    static const char *const ADAPTERS[] = {"lora", "qlora",  "dora",     "oft", "adalora",
                                           "true", "rslora", "longlora", NULL};
    static const char *const FULL[] = {"full", "freeze", "false", NULL};

    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
        const struct setting *s = facts_setting(facts, NAMES[i]);

        if (!s || !s->value)
            continue;
        int is = text_is_one_of(s->value, ADAPTERS) ? 1 : text_is_one_of(s->value, FULL) ? 0 : -1;
        if (is >= 0) {
            *setting = s;
            return is;
        }
    }
    *setting = facts_setting(facts, "model_builder");
    int is = tuning_by_builder(*setting);
    *setting = is >= 0 ? *setting : NULL;
    return is;
}

static int tuning_by_share(const struct run_facts *facts)
{
    double trained, all;

    for (const struct event *e = facts_event(facts, NULL, NULL); e;
         e = facts_event(facts, NULL, e)) {
        if (!e->pattern || strcmp(e->pattern, "trainable-params") != 0 || e->n_captures < 3)
            continue;
        if (number_parse_any(str_of(event_capture(e, 3)), &trained) && trained > 0)
            return trained < 50 ? 1 : trained > 99 ? 0 : -1;
        if (number_parse_any(str_of(event_capture(e, 1)), &trained) &&
            number_parse_any(str_of(event_capture(e, 2)), &all) && trained == 0 && all > 0)
            return 1; /* nothing trainable: only an adapter run ends up there */
    }
    return -1;
}

static int tuning_by_artefact(const struct run_facts *facts)
{
    int is = -1;

    for (size_t i = 0; i < facts->n_artefacts; i++) {
        const struct artefact *a = &facts->artefacts[i];
        bool is_trained = a->role && strcmp(a->role, "trained") == 0;

        if (a->kind && strcmp(a->kind, "adapter") == 0 &&
            (!a->role || strcmp(a->role, "base") != 0))
            return 1;
        if (is_trained && a->kind &&
            (strcmp(a->kind, "base") == 0 || strcmp(a->kind, "model") == 0))
            is = 0; /* whole weights in the run's own folder */
    }
    return is;
}

int facts_is_adapter_run(const struct run_facts *facts, const struct setting **setting)
{
    static const char *const SIGNS[] = {"peft_type", "lora_r", "lora_alpha"};
    const struct setting *decided = NULL;
    int is = tuning_by_setting(facts, &decided);

    for (size_t i = 0; is < 0 && i < sizeof SIGNS / sizeof *SIGNS; i++) {
        const struct setting *s = facts_setting(facts, SIGNS[i]);

        if (s && s->value && s->type != VALUE_NULL) {
            decided = s;
            is = 1;
        }
    }
    if (setting)
        *setting = decided;
    if (is < 0)
        is = tuning_by_share(facts);
    return is >= 0 ? is : tuning_by_artefact(facts);
}

/* ---- The GPU ---- */

/* Which groups of which pattern hold an amount and its unit (0: the unit is GB). */
static const struct {
    const char *pattern;
    int amount, unit;
} CAPACITY[] = {
    {"oom-torch-1-5", 4, 5}, {"oom-torch-1-0", 4, 5},      {"oom-torch-2-1", 5, 6},
    {"gpu-capacity", 2, 3},  {"unsloth-max-memory", 1, 0},
};

static double capacity_of_log(const struct run_facts *facts)
{
    double bytes;

    for (const struct event *e = facts_event(facts, NULL, NULL); e; e = facts_event(facts, NULL, e))
        for (size_t i = 0; e->pattern && i < sizeof CAPACITY / sizeof *CAPACITY; i++) {
            if (strcmp(e->pattern, CAPACITY[i].pattern) != 0)
                continue;
            const char *unit = CAPACITY[i].unit ? event_capture(e, CAPACITY[i].unit) : "GB";
            if (number_parse_bytes(str_of(event_capture(e, CAPACITY[i].amount)), str_of(unit),
                                   &bytes) &&
                bytes > 0)
                return bytes;
        }
    return 0;
}

/* The last number and what follows it. */
double gpu_bytes_of_text(const char *text)
{
    double bytes;
    size_t end = strlen(text);

    while (end > 0 && (text[end - 1] < '0' || text[end - 1] > '9'))
        end--;
    size_t from = end;
    while (from > 0 && (strchr("0123456789.", text[from - 1])))
        from--;
    struct str unit = str_trim(str_of(text + end));
    if (from == end || !number_parse_bytes(str_from(text + from, end - from),
                                           unit.n ? unit : str_of("GiB"), &bytes))
        return 0;
    return bytes;
}

static const char *raw_setting(const struct run_facts *facts, const char *raw_name)
{
    for (size_t i = 0; i < facts->n_settings; i++)
        if (strcmp(facts->settings[i].raw_name, raw_name) == 0)
            return facts->settings[i].value;
    return NULL;
}

double facts_gpu_bytes(const struct run_facts *facts, const char **name)
{
    const char *answer = facts_answer(facts, "gpu");
    const char *mebibytes = raw_setting(facts, "gpu.0.memory_total_mib");
    double bytes = answer ? gpu_bytes_of_text(answer) : 0, value;

    if (name)
        *name = raw_setting(facts, "gpu.0.name");
    if (bytes <= 0 && mebibytes && number_parse(str_of(mebibytes), &value))
        bytes = value * 1048576.0;
    return bytes > 0 ? bytes : capacity_of_log(facts);
}
