/* SPDX-License-Identifier: MIT */
/* archive: a tape or bundle as one file, a tar archive (POSIX ustar) compressed with zstd, and
 * back. The archive holds a bundle: manifest.json, tape, tape.cas/, annotations. Entries are sorted
 * and carry no owner and no time, so equal bundles give equal archives. Coming back, only plain
 * files and directories below the destination are accepted, which appears whole or not at all. Why
 * not a library: docs/decisions/0002-archive.md. */
#pragma once
#include "base/err.h"
#include <stdint.h>

struct archive_result {
    uint64_t files, bytes;
};

/* `path` is a tape or a bundle directory; `archive` must not exist. */
int archive_export(const char *path, const char *archive, struct archive_result *ret,
                   struct err *err);
/* `directory` must not exist or be empty. -EFBIG beyond size_max bytes (0: 16 GiB). */
int archive_import(const char *archive, const char *directory, uint64_t size_max,
                   struct archive_result *ret, struct err *err);
