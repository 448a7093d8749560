/* Run roots of loggers' files: event files, .wandb, MLflow. Several runs that a logger keeps side
 * by side are several roots. */
#include <string.h>

#include "importers/roots_parts.h"

/* "1700000000.123": where transformers and torch put the hparams of the run around it. */
static bool is_hparams_folder(const char *name)
{
    size_t digits = strspn(name, "0123456789");

    return digits >= 9 && name[digits] == '.' &&
           strspn(name + digits + 1, "0123456789") == strlen(name + digits + 1);
}

/* The folder of one run of a logger: a writer's folders below its own are its parts. */
static const char *folder_of_logged_run(const struct scene *scene, const struct found *found)
{
    const char *folder = found->file->folder;

    if (is_hparams_folder(last_component(folder)))
        folder = parent_folder(scene->arena, folder);
    for (size_t i = 0; i < scene->n_found; i++) {
        const struct found *other = &scene->found[i];

        if (other->importer == found->importer && root_record_of(other) == RECORD_EVENTS &&
            strlen(other->file->folder) < strlen(folder) &&
            path_is_below(folder, other->file->folder))
            folder = other->file->folder;
    }
    return folder;
}

static bool is_inside_a_root(const struct scene *scene, const char *folder, const char *outer)
{
    for (size_t k = 0; k < scene->n_roots; k++)
        if (!(scene->roots[k].records & RECORD_EVENTS) &&
            path_is_below(folder, scene->roots[k].folder) &&
            path_is_below(scene->roots[k].folder, outer))
            return true;
    return false;
}

struct logged {
    const struct found *found;
    const char *outer, *own;
};

/* Several runs that one logger keeps side by side are several roots. */
static bool has_siblings(const struct logged *all, size_t n, const struct logged *this)
{
    for (size_t i = 0; i < n; i++)
        if (all[i].found->importer == this->found->importer &&
            strcmp(all[i].outer, this->outer) == 0 && strcmp(all[i].own, this->own) != 0)
            return true;
    return false;
}

/* A logger's file belongs to the root around it, past the folders that loggers make. */
int root_add_logged(struct scene *scene, struct error *err)
{
    const char *top = scene->argument->folder;
    struct logged *all = NULL;
    size_t n = 0, capacity = 0;

    for (size_t i = 0; i < scene->n_found && n < ROOTS_MAX; i++) {
        const struct found *found = &scene->found[i];
        const char *folder = found->file->folder;

        if (root_record_of(found) != RECORD_EVENTS ||
            folder_of_checkpoint(scene->arena, folder, top))
            continue;
        const char *own = folder_of_logged_run(scene, found);
        const char *outer = root_climb_loggers(scene->arena, own, top);
        if (!found->part && is_inside_a_root(scene, folder, outer))
            continue;
        all = arena_room(scene->arena, all, n, &capacity, sizeof *all);
        if (!all)
            return error_set(err, E_NOMEM, "no memory for the runs");
        all[n++] = (struct logged){found, outer, own};
    }
    for (size_t i = 0; i < n; i++) {
        const char *part = all[i].found->part;
        bool is_own = !part && has_siblings(all, n, &all[i]);

        root_add_record(scene, is_own ? all[i].own : all[i].outer, part ? part : "", RECORD_EVENTS,
                        all[i].found->file->name);
    }
    return OK;
}
