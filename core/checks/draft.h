/* The result while a rule is building it. Private to core/checks: rules use check.h alone. */
#ifndef CORE_CHECKS_DRAFT_H
#define CORE_CHECKS_DRAFT_H

#include "core/checks/check.h"

struct text_list {
    const char **items;
    size_t n, capacity;
};

struct check_draft {
    bool is_stated; /* a statement was made */
    enum verdict verdict;
    enum confidence confidence;
    const char *sentence, *branch;
    int64_t from_step;
    bool has_from_step;
    struct evidence **evidence; /* one allocation each, so that pointers stay good */
    size_t n_evidence, capacity;
    struct evidence spare; /* written to when the arena is exhausted */
    struct text_list missing, fixes, information;
};

void draft_finish(const struct check_ctx *ctx, const struct check *check, struct check_result *out);

#endif
