/* See audited.h. */
#include "tests/harness/audited.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "core/store/store.h"

int64_t audited_flagged(const struct audit *audit, enum audit_flag flag)
{
    for (int i = 0; i < AUDIT_N_FLAGS; i++)
        if ((int)flag == 1 << i)
            return audit->n_flagged[i];
    return NONE;
}

int64_t audited_id(struct imported_run *run)
{
    const struct stored_audit *audits;
    size_t n;

    assert_int_equal(
        store_audits(run->store, run->facts->run.id, run->arena, &audits, &n, &run->err), OK);
    assert_int_equal(n, 1);
    return audits[0].id;
}
