/* Which pairs a run has, and the texts of one. See pairs_parts.h. */
#include <string.h>

#include "core/facts/data_columns.h"
#include "views/pairs_parts.h"

#define TEXT_BYTES ((size_t)64 << 10)
enum { KEPT_BYTES = 4 << 10, SHOWN_ROWS = 6 };      /* of a target in the facts */

/* ---- All of them ---- */

static bool has_answers(const struct dataset *dataset)
{
    return dataset->form && strcmp(dataset->form, "preference") == 0 && dataset->n_rows > 0;
}

static void add_section(struct pair_list *list, struct pair_section section)
{
    if (section.n == 0)
        return;
    section.first = list->n;
    list->sections[list->n_sections++] = section;
    list->n += section.n;
}

int pairs_list(const struct run_facts *facts, struct arena *arena, struct pair_list *out,
               struct error *err)
{
    const struct data_facts *data = facts_data(facts);
    const struct leaks *leaks = facts_leaks(facts);
    size_t most = (data ? data->n_shown : 0) + (leaks ? leaks->n_sets : 0) + facts->n_datasets;

    *out = (struct pair_list){.sections = arena_array(arena, most + 1, sizeof *out->sections)};
    if (!out->sections)
        return error_set(err, E_NOMEM, "no memory for a list of %zu groups of pairs", most);
    for (size_t i = 0; data && i < data->n_shown; i++) {
        size_t n = data->groups[i].n_targets;

        add_section(out, (struct pair_section){.kind = PAIR_TARGETS, .n = n > 1 ? n - 1 : 0,
                                               .group = &data->groups[i]});
    }
    for (size_t i = 0; leaks && i < leaks->n_sets; i++)
        add_section(out, (struct pair_section){.kind = PAIR_LEAK, .n = leaks->sets[i].n_pairs,
                                               .set = &leaks->sets[i]});
    for (size_t i = 0; i < facts->n_datasets; i++) {
        size_t n = 0;

        if (has_answers(&facts->datasets[i]))
            (void)facts_samples(facts, &facts->datasets[i], &n);
        add_section(out, (struct pair_section){.kind = PAIR_ANSWERS, .n = n,
                                               .dataset = &facts->datasets[i]});
    }
    return OK;
}

const struct pair_section *pairs_section(const struct pair_list *list, size_t at)
{
    for (size_t i = 0; i < list->n_sections; i++)
        if (at - list->sections[i].first < list->sections[i].n)
            return &list->sections[i];
    return NULL;
}

size_t pairs_number(const struct pair_list *list, size_t at, size_t *n)
{
    const struct pair_section *own = pairs_section(list, at);
    size_t number = 0;

    *n = 0;
    for (size_t i = 0; own && i < list->n_sections; i++) {
        if (list->sections[i].kind != own->kind)
            continue;
        if (list->sections[i].first <= own->first)
            number = *n + (own == &list->sections[i] ? at - own->first + 1 : 0);
        *n += list->sections[i].n;
    }
    return number;
}

/* ---- The one that evidence is about ---- */

static enum pair_kind kind_of(const struct check *check)
{
    if (strcmp(check->id, "leak-near-duplicate") == 0 || strcmp(check->id, "row-split") == 0)
        return PAIR_LEAK;
    return strcmp(check->id, "chosen-rejected-swapped") == 0 ? PAIR_ANSWERS : PAIR_TARGETS;
}

static bool is_place(const struct data_facts *data, const struct data_place *place, int64_t row,
                     int64_t source)
{
    return place->row == row && place->file >= 0 && (size_t)place->file < data->n_files &&
           data->files[place->file].source_id == source;
}

/* The pair of the target that has the row; of the commonest one, which all are held against, the first. */
static bool in_group(const struct run_facts *facts, const struct pair_section *section, int64_t row,
                     int64_t source, size_t *index)
{
    const struct data_facts *data = facts_data(facts);

    for (size_t k = 0; k < section->group->n_targets; k++)
        for (size_t i = 0; i < section->group->targets[k].n_rows; i++)
            if (is_place(data, &section->group->targets[k].rows[i], row, source)) {
                *index = k ? k - 1 : 0;
                return true;
            }
    return false;
}

static bool in_section(const struct run_facts *facts, const struct pair_section *section, int64_t row,
                       int64_t source, size_t *index)
{
    switch (section->kind) {
    case PAIR_TARGETS:
        return in_group(facts, section, row, source, index);
    case PAIR_LEAK:
        for (size_t i = 0; i < section->n; i++)
            if (section->set->pairs[i].row == row && section->set->pairs[i].test->source_id == source) {
                *index = i;
                return true;
            }
        return false;
    case PAIR_ANSWERS:
        *index = (size_t)row;
        return section->dataset->source_id == source && row >= 0 && (size_t)row < section->n;
    }
    return false;
}

bool pairs_of_evidence(const struct run_facts *facts, const struct pair_list *list,
                       const struct check *check, const struct evidence *evidence, size_t *at)
{
    const struct pair_section *first = NULL;
    size_t index;

    for (size_t i = 0; i < list->n_sections; i++) {
        const struct pair_section *section = &list->sections[i];

        if (section->kind != kind_of(check))
            continue;
        first = first ? first : section;
        if (evidence->row == NONE || !in_section(facts, section, evidence->row, evidence->source_id, &index))
            continue;
        *at = section->first + index;
        return true;
    }
    if (first)
        *at = first->first;
    return first;
}

/* ---- The two sides ---- */

static const char *last_name(const char *path)
{
    const char *slash = path ? strrchr(path, '/') : NULL;

    return slash ? slash + 1 : path ? path : "";
}

static const char *target_title(struct arena *arena, const struct data_facts *data,
                                const struct data_target *target)
{
    int64_t file = target->n_rows ? target->rows[0].file : -1;
    const char *name = file >= 0 && (size_t)file < data->n_files ? data_file_name(&data->files[file]) : "";
    const char *text = arena_printf(arena, "%s row%s", name, target->count == 1 ? "" : "s");
    size_t n = target->n_rows < SHOWN_ROWS ? target->n_rows : SHOWN_ROWS;

    for (size_t i = 0; i < n; i++)
        text = arena_printf(arena, "%s%s %lld", text, i ? "," : "", (long long)target->rows[i].row);
    return target->count > (int64_t)n
               ? arena_printf(arena, "%s and %lld more", text, (long long)(target->count - (int64_t)n))
               : text;
}

static struct column_names names_of_source(const struct view *view, int64_t source_id)
{
    const struct run_facts *facts = view->desk->facts;

    for (size_t i = 0; i < facts->n_datasets; i++)
        if (facts->datasets[i].source_id == source_id)
            return data_columns_of(facts, &facts->datasets[i], view->arena);
    return (struct column_names){0};
}

/* The facts keep the beginning of a long text; the row has all of it. Rankings and labels keep their
 * answers in other places of the row. */
static void read_whole(const struct view *view, struct row_reader *reader, const struct data_group *group,
                       const struct data_target *target, struct pair_side *side)
{
    const struct data_facts *data = facts_data(view->desk->facts);
    const struct data_place *place = target->n_rows ? &target->rows[0] : NULL;
    struct row_text text;

    side->is_cut = side->target.n >= KEPT_BYTES - 4;
    if (!side->is_cut || group->kind > DATA_CONTRADICTORY || !place || place->file < 0 ||
        (size_t)place->file >= data->n_files || data->files[place->file].split)
        return;
    reader->names = names_of_source(view, data->files[place->file].source_id);
    if (!row_text_read(reader, data->files[place->file].path, place->at, place->row, TEXT_BYTES, false,
                       view->arena, &text))
        return;
    side->target = text.target;
    side->is_cut = text.is_cut;
}

static void sides_of_group(const struct view *view, struct row_reader *reader,
                           const struct data_group *group, size_t other, struct pair_side sides[2])
{
    for (int i = 0; i < 2; i++) {
        const struct data_target *target = &group->targets[i ? other : 0];

        sides[i] = (struct pair_side){
            .title = target_title(view->arena, facts_data(view->desk->facts), target),
            .input_name = "input",
            .target_name = "target",
            .input = str_of(group->input),
            .target = str_of(target->text),
            .fields = str_of("")};
        read_whole(view, reader, group, target, &sides[i]);
    }
}

static bool read_side(const struct view *view, struct row_reader *reader, const struct dataset *dataset,
                      int64_t row, struct row_text *text)
{
    const struct run_facts *facts = view->desk->facts;
    const struct source *source = facts_source(facts, dataset->source_id);
    size_t n;
    const struct sample *samples = facts_samples(facts, dataset, &n);

    reader->names = data_columns_of(facts, dataset, view->arena);
    return source && samples && row >= 0 && (size_t)row < n &&
           row_text_read(reader, source->path, samples[row].at, row, TEXT_BYTES, false, view->arena, text);
}

static const char *row_title(const struct view *view, const struct dataset *dataset, int64_t row,
                             const char *what)
{
    const struct source *source = facts_source(view->desk->facts, dataset->source_id);
    const char *name = leaks_dataset_is_facts(dataset) ? dataset->name
                       : source                        ? last_name(source->path)
                                                       : "";

    return arena_printf(view->arena, "%s row %lld%s", name, (long long)row, what);
}

static struct pair_side side_of_row(const struct view *view, struct row_reader *reader,
                                    const struct dataset *dataset, int64_t row, const char *what)
{
    struct row_text text;
    struct pair_side side = {.title = row_title(view, dataset, row, what),
                             .input_name = "input",
                             .target_name = "target",
                             .input = str_of(""),
                             .target = str_of("the row cannot be read any more"),
                             .fields = str_of("")};

    if (!read_side(view, reader, dataset, row, &text))
        return side;
    side.input = text.input;
    side.target = text.target;
    side.fields = text.fields;
    side.is_cut = text.is_cut;
    return side;
}

/* The texts of facts are among their candidates. */
static struct pair_side side_of_leak(const struct view *view, struct row_reader *reader,
                                     const struct leak_pair *pair, bool is_test)
{
    const struct dataset *dataset = is_test ? pair->test : pair->train;
    int64_t row = is_test ? pair->row : pair->train_row;
    const struct form_place *place = is_test ? &pair->place : &pair->train_place;
    struct pair_side side = side_of_row(view, reader, dataset, row, is_test ? ": test" : ": training");
    struct form_candidate text;

    if (!leaks_dataset_is_facts(dataset))
        return side;
    side.target = str_of("its text is not among the candidates of the facts");
    if (!leak_pair_texts(view->desk->facts, dataset, place, TEXT_BYTES, view->arena, &text))
        return side;
    side.input = text.input;
    side.target = text.target;
    side.is_cut = text.input.n == TEXT_BYTES || text.target.n == TEXT_BYTES;
    return side;
}

static void sides_of_answers(const struct view *view, struct row_reader *reader,
                             const struct dataset *dataset, int64_t row, struct pair_side sides[2])
{
    struct row_text text;
    bool is_read = read_side(view, reader, dataset, row, &text);

    for (int i = 0; i < 2; i++)
        sides[i] = (struct pair_side){
            .title = row_title(view, dataset, row, i ? ": rejected" : ": chosen"),
            .input_name = "prompt",
            .target_name = i ? "rejected" : "chosen",
            .input = is_read ? text.input : str_of(""),
            .target = !is_read ? str_of("the row cannot be read any more") : i ? text.rejected : text.target,
            .fields = is_read ? text.fields : str_of(""),
            .is_cut = is_read && text.is_cut};
}

void pairs_sides(const struct view *view, struct row_reader *reader, const struct pair_section *section,
                 size_t index, struct pair_side sides[2])
{
    switch (section->kind) {
    case PAIR_TARGETS:
        sides_of_group(view, reader, section->group, index + 1, sides);
        break;
    case PAIR_LEAK: {
        const struct leak_pair *pair = &section->set->pairs[index];

        sides[0] = side_of_leak(view, reader, pair, false);
        sides[1] = side_of_leak(view, reader, pair, true);
        break;
    }
    case PAIR_ANSWERS:
        sides_of_answers(view, reader, section->dataset, (int64_t)index, sides);
        break;
    }
}
