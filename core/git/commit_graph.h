/* objects/info/commit-graph: tree, parents and time of commits in a table, which `git gc` writes. It spares
 * unpacking each commit of a walk; what is not in it is read as an object. A chain of graphs is not read.
 * Its word is taken as git takes it: a wrong table gives a wrong walk, never an endless one. */
#ifndef CORE_GIT_COMMIT_GRAPH_H
#define CORE_GIT_COMMIT_GRAPH_H

#include "core/git/objects.h"

struct commit_graph;

struct graph_commit {
    struct git_id tree;
    struct git_id parents[2];
    unsigned n_parents;
    int64_t time;
};

/* NULL when there is none, or one that is not understood. */
struct commit_graph *commit_graph_open(const char *objects_folder);
void commit_graph_close(struct commit_graph *graph);    /* NULL allowed */
/* False: not in it, or with more than two parents. */
bool commit_graph_find(const struct commit_graph *graph, const struct git_id *id,
                       struct graph_commit *out);

#endif
