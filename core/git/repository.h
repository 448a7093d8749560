/* libgit2: so far only its version; the config history comes later. */
#ifndef CORE_GIT_REPOSITORY_H
#define CORE_GIT_REPOSITORY_H

/* "1.5.1" into at least 16 bytes. */
void repository_library_version(char out[16]);

#endif
