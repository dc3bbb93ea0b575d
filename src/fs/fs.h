/* SPDX-License-Identifier: MIT */
/* fs: what guests see of the file system, what they changed, and how a person keeps it.
 *
 * The life of one run, and who calls what:
 *
 *     box init (pid 1)   fs_view_enter()     builds the view, pivots into it, gives a store fd
 *     box init           sends the store fd to the supervisor (SCM_RIGHTS), forks the guest
 *     guest, before exec fs_caps_drop()      real root only: nothing that reaches around the view
 *     supervisor         fs_gather()         when the guests are gone: the list of changes
 *     supervisor         fs_bundle_write()   changes.jsonl and blobs below BUNDLE/fs
 *     anyone, later      fs_bundle_read(), fs_diff_*(), fs_apply()
 *
 * The store is one directory, on a tmpfs unless --upper named a place on disk. It holds the upper
 * of each layer and a file "layers" that says which mount point each belongs to. The store fd
 * keeps it alive after the mount namespace is gone; closing the fd is discarding the run. */
#pragma once
#include "base/cleanup.h"
#include "base/err.h"
#include "fs/fs_changes.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum fs_mode {
    FS_OVERLAY, /* guests may write anywhere, nothing reaches the disk */
    FS_REAL,    /* the real files; only /proc is fresh */
    FS_RO,      /* the real files, read only; /tmp, /run and /dev are private as with FS_OVERLAY */
};

/* A file the box lays over the view (its resolv.conf, its CA). Not part of the changes. */
struct fs_file {
    const char *path; /* absolute; made if it is not there */
    const void *bytes;
    size_t length;
};

struct fs_options {
    const char *worktree; /* what the diff speaks of; NULL for the current directory */
    enum fs_mode mode;
    bool userns;                 /* we are in a user namespace of our own, not real root */
    bool share_tmp;              /* /tmp is a layer over the host's instead of private and empty */
    const char *const *writable; /* directories that are passed through; NULL-ended, may be NULL */
    const char *const *hide;     /* paths shown empty: a directory or a file; ditto */
    const struct fs_file *files; /* laid over the view, in this order */
    size_t file_count;
    uint64_t size_limit;   /* bytes all guests together may write; 0: half of the memory */
    const char *upper_dir; /* an empty directory on disk for the store; NULL: in memory */
    int64_t started_ns;    /* wall_now_ns(): whatever changes on disk later is noticed; 0: now */
    /* Called before the first step that needs the box's own network. NULL: that is there. */
    int (*enter_namespaces)(void *data, struct err *err);
    void *enter_data;
};

/* Builds the view and makes it the root of this process, which stands afterwards where it stood
 * before (or in the worktree, if that place is not part of the view). Standard input, output and
 * error that are files opened for reading are replaced by read-only ones, so that nothing can be
 * changed through them.
 *
 * To be called once, in a single-threaded process that is pid 1 of fresh mount and pid namespaces
 * (net too, by `enter_namespaces` at the latest, or /sys shows the host's) and has CAP_SYS_ADMIN
 * there. *ret_store is owned, or -1 for FS_REAL. On failure the process is in an undefined place:
 * report and _exit. Errors name the step and carry a hint: -EPERM where the kernel refuses,
 * -ENOTDIR for a worktree that is none. */
int fs_view_enter(const struct fs_options *options, int *ret_store, struct err *err);
/* Behind fs_view_enter, once: takes the old root off the new one. Until then a path from the root
 * leads there only by a `..` at the root. The kernel waits for all CPUs in this. */
int fs_view_let_go(struct err *err);

/* Parts stamps of files (fs_stamp.c): what is written from now on gets the returned one or a later
 * one, which is above `after_ns`, a moment that is past. */
int64_t fs_stamp_part(int64_t after_ns);

/* Whether this process may build the view without a user namespace: it has CAP_SYS_ADMIN in the
 * first one. Root of a container may not. `userns` above is the opposite of this. */
bool fs_is_real_root(void);

/* Real root could mount, make device nodes or open files by handle and so reach the disk: gives up
 * the capabilities for it, for this process and what it executes. Does nothing without them. */
int fs_caps_drop(struct err *err);

/* rename(2) of a directory for which the kernel's overlay answers EXDEV (a directory of the lower
 * layer, without redirects: user namespaces). Runs in the mount namespace of the box, by a process
 * with the credentials of the guest. Files are moved one by one, so they keep their contents,
 * links, times and open descriptors; directories are made again with mode, owner, times and
 * attributes. `flags` as for renameat2. 0 or -errno as rename(2) would give; on failure what was
 * moved is moved back. */
int fs_rename_dir(int old_dir, const char *old_path, int new_dir, const char *new_path,
                  unsigned flags);

/* What the guests left in the store, compared with the real files as they are now. Contents of
 * files in the worktree, before and after, go to `blobs`. *ret is owned. Call it where the host's
 * files are visible. Costs by what was touched. */
int fs_gather(int store, struct fs_blobs *blobs, struct fs_changes **ret, struct err *err);

/* How full the store is, for the report of a guest that met ENOSPC. */
struct fs_usage {
    uint64_t used_bytes, limit_bytes;
    bool full; /* less than one page was left */
};
int fs_store_usage(int store, struct fs_usage *ret, struct err *err);
