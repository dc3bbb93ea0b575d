/* SPDX-License-Identifier: MIT */
/* noise: rules for what a comparison overlooks, in the words a divergence prints:
 *
 *     clock_read                        records of that kind
 *     process_spawn.duration_ns         a member of the payload, and all below it
 *     process_spawn[curl].args[2]       only where the subject is "curl" or ends in "/curl"
 *     llm_call.response.blocks[*].id    any index; * stands for any member, too
 *     *.virtual_time_ns                 any kind; monotonic_ns, phase and process as well
 *     header.argv[1]                    of the header */
#pragma once
#include "base/err.h"
#include <jansson.h>
#include <stdbool.h>

struct noise; /* a list of rules */

struct noise *noise_new(void);
struct noise *noise_free(struct noise *noise);
DEFINE_CLEANUP(struct noise *, noise_free)
int noise_add(struct noise *noise, const char *rule, struct err *err); /* -EINVAL with the forms */
/* One rule a line; blank lines and lines that start with # are skipped. */
int noise_add_file(struct noise *noise, const char *path, struct err *err);

bool noise_is_empty(const struct noise *noise);
bool noise_drops(const struct noise *noise, const char *kind); /* whole records of it */
bool noise_touches(const struct noise *noise, const char *kind);
/* `path` as "args[2].name"; `subject` may be NULL. */
bool noise_covers(const struct noise *noise, const char *kind, const char *subject,
                  const char *path);
/* Takes all covered members out of a payload; covered elements of arrays become null. */
void noise_strip(const struct noise *noise, const char *kind, const char *subject, json_t *data);
