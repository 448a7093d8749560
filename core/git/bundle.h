/* A bundle: a header of refs and a pack, in one file (git bundle create). For repository.c. */
#ifndef CORE_GIT_BUNDLE_H
#define CORE_GIT_BUNDLE_H

#include "core/git/repository.h"

/* Fills the objects, the refs and the temporary folder of a repository; what was filled is the
 * repository's also when this fails. */
MUST_CHECK int bundle_unpack(struct repository *repository, const char *path, struct error *err);
/* Removes the folder and what is in it. */
void bundle_remove(const char *folder);

#endif
