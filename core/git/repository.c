/* libgit2. See repository.h. */
#include "core/git/repository.h"

#include <git2.h>
#include <stdio.h>

void repository_library_version(char out[16])
{
    int major, minor, revision;

    git_libgit2_version(&major, &minor, &revision);
    snprintf(out, 16, "%d.%d.%d", major, minor, revision);
}
