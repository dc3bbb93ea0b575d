/* SPDX-License-Identifier: MIT */
/* bundle: a directory that holds one recorded run.
 *
 *     manifest.json   {"files":{"tape":"tape",...},"format":"vitro-bundle","version":1}
 *     tape            the tape, and beside it
 *     tape.cas/       its store
 *     ...             what axes add: each adds its file to the manifest, with a word for its role
 *
 * The manifest is replaced as a whole, so a bundle always has a valid one. Creating refuses a
 * directory that is not empty; opening refuses one that is not a bundle or from a newer version. */
#pragma once
#include "base/err.h"
#include <jansson.h>
#include <stdbool.h>

struct bundle;

int bundle_create(const char *path, struct bundle **ret, struct err *err);
int bundle_open(const char *path, struct bundle **ret, struct err *err);
struct bundle *bundle_free(struct bundle *bundle);
DEFINE_CLEANUP(struct bundle *, bundle_free)

/* A plain file name below the bundle; -EINVAL for one with a slash or a leading point. */
int bundle_add(struct bundle *bundle, const char *name, const char *role, struct err *err);
char *bundle_path(const struct bundle *bundle, const char *name); /* returns owned */
const json_t *bundle_files(const struct bundle *bundle);          /* name to role; borrowed */

/* The tape meant by a path: a bundle's, if it is a directory. Returns owned. */
char *tape_path_resolve(const char *path);
