/* SPDX-License-Identifier: MIT */
/* programs: which program it was that was recorded: the digest of its file, and the version of the
 * package that it is from, so that another one is noticed and can be named. Each file is read once.
 */
#pragma once
#include "base/cleanup.h"
#include "base/hash.h"
#include <stdbool.h>

struct program_facts {
    struct hash digest;
    const char *version; /* "git 1:2.39.5-0+deb12u2"; NULL: not known to Debian's package manager */
};

struct programs;
struct programs *programs_new(void);
struct programs *programs_free(struct programs *programs);
DEFINE_CLEANUP(struct programs *, programs_free)

/* `fd` is its file, `path` where that is found. Borrowed; NULL: not a file with bytes in it. */
const struct program_facts *programs_look(struct programs *programs, int fd, const char *path);
