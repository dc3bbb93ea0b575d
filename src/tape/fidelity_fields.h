/* SPDX-License-Identifier: MIT */
/* fidelity_fields: the comparators, as one table. For each member of each kind: the category a
 * difference is reported under, and whether only the byte mode minds. A member that is not listed
 * is compared all the same, under KIND_MEMBER: nothing on a tape goes uncompared. */
#pragma once
#include "tape/tape_kinds.h"
#include <stdbool.h>
#include <stddef.h>

struct fidelity_field {
    enum tape_kind kind;
    const char *member;
    const char *category;
    bool strict; /* a difference in how, not in what: durations, lengths beside a hash */
};

extern const struct fidelity_field fidelity_fields[];
extern const size_t fidelity_field_count;

const struct fidelity_field *fidelity_field_find(enum tape_kind kind, const char *member);
bool fidelity_has_strict(enum tape_kind kind); /* some member of it is strict */
