/* SPDX-License-Identifier: MIT */
/* secrets_shapes: how tokens and the names of secrets look, as one table and two questions. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

struct secret_shape {
    const char *rule;     /* short name for the placeholder */
    const char *prefix;   /* starts with this */
    const char *alphabet; /* then these; NULL: up to the line "-----END ... KEY-----" */
    size_t length_min;    /* at least this many behind the prefix */
    bool keeps_prefix;    /* the prefix is no secret ("Bearer ") */
};

extern const struct secret_shape secret_shapes[]; /* prefix NULL ends it */

/* The length of the token of that shape at the start of `text`, 0 for none. */
size_t secret_shape_match(const struct secret_shape *shape, const char *text, size_t length);
/* Whether something of this name is likely a secret: API_KEY, userPassword, x-auth-token. */
bool secret_name(const char *name, size_t length);
