/* SPDX-License-Identifier: MIT */
/* fs_bundle: the changes of a run as files, below BUNDLE/fs (docs/formats/changes.md):
 *
 *     changes.jsonl    a header line, then one change a line, sorted by path
 *     contents.pack    contents of files in the worktree, before and after, by SHA-256
 */
#pragma once
#include "fs/fs_blobs.h"
#include "fs/fs_changes.h"

/* The contents of a new bundle, for fs_gather; returns owned. BUNDLE/fs is made with the first. */
struct fs_blobs *fs_bundle_begin(const char *bundle);
/* Finishes the contents and writes the list, which appears last. */
int fs_bundle_write(const char *bundle, const struct fs_changes *changes, struct fs_blobs *blobs,
                    struct err *err);
/* Both are owned. -ENOENT for a bundle without changes, -EBADMSG with the line for a damaged one,
 * -EPROTO for a newer version. Paths that would lead out of the worktree are refused. */
int fs_bundle_read(const char *bundle, struct fs_changes **ret, struct fs_blobs **ret_blobs,
                   struct err *err);
/* The text of a changes.jsonl; `where` names it in errors. *ret is owned. */
int fs_bundle_parse(const char *text, size_t length, const char *where, struct fs_changes **ret,
                    struct err *err);
/* One change as canonical JSON; what changes.jsonl and `vitro diff --json` are made of. */
void fs_change_add_json(struct buf *buf, const struct fs_change *change);
