/* SPDX-License-Identifier: MIT */
/* vitro/overlay: a worktree that a test may change without changing it.
 *
 *     struct vitro_overlay *overlay;
 *     vitro_overlay_open("fixtures/site", &overlay);
 *     vitro_overlay_write(overlay, "index.html", text, strlen(text));
 *     vitro_overlay_diff(overlay, &patch, &length);        a patch that `git apply` takes
 *     vitro_overlay_apply(overlay);                        or keep it, all or nothing
 *     vitro_overlay_free(overlay);                         without apply, nothing ever happened
 *
 * Reads fall through to the real files, writes stay in memory. Paths are relative to the worktree,
 * or absolute below it. Symlinks are followed as long as they stay inside. A path is compared with
 * what it was when it was first touched: if the real file changed since, apply refuses.
 *
 * Functions return 0 or a negative errno: what the system call of the same name would give, and
 * -EXDEV for a path that leads out of the worktree, by "..", by being absolute, or by a symlink.
 * A handle belongs to one thread at a time. */
#ifndef VITRO_OVERLAY_H
#define VITRO_OVERLAY_H

#include "vitro/version.h"
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct vitro_overlay;

enum vitro_file_type {
    VITRO_FILE,
    VITRO_DIR,
    VITRO_SYMLINK,
    VITRO_OTHER /* a fifo, socket or device */
};

struct vitro_overlay_stat {
    enum vitro_file_type type;
    unsigned mode; /* permission bits */
    uint64_t size; /* bytes of a file or of a symlink's target */
    int changed;   /* 1 if the overlay holds it, 0 if it is the real one */
};

struct vitro_overlay_entry {
    char *name;
    enum vitro_file_type type;
};

VITRO_API int vitro_overlay_open(const char *worktree, struct vitro_overlay **ret);
VITRO_API struct vitro_overlay *
vitro_overlay_free(struct vitro_overlay *overlay); /* NULL is fine */
/* What went wrong last, in words; "" before that. Borrowed until the next call. */
VITRO_API const char *vitro_overlay_error(const struct vitro_overlay *overlay);

/* The whole content, with a NUL behind it; free() it. -EISDIR for a directory. */
VITRO_API int vitro_overlay_read(struct vitro_overlay *overlay, const char *path, char **ret_bytes,
                                 size_t *ret_length);
/* Makes the file or replaces its content. Its directory must be there (-ENOENT, -ENOTDIR). */
VITRO_API int vitro_overlay_write(struct vitro_overlay *overlay, const char *path,
                                  const void *bytes, size_t length);
VITRO_API int vitro_overlay_append(struct vitro_overlay *overlay, const char *path,
                                   const void *bytes, size_t length);
/* Copies content and permissions of a file; *ret_length may be NULL. */
VITRO_API int vitro_overlay_copy(struct vitro_overlay *overlay, const char *from, const char *to,
                                 uint64_t *ret_length);
/* As rename(2): files and directories; onto itself it does nothing. */
VITRO_API int vitro_overlay_rename(struct vitro_overlay *overlay, const char *from, const char *to);
VITRO_API int vitro_overlay_exists(struct vitro_overlay *overlay,
                                   const char *path); /* 1, 0 or < 0 */
/* A file, a symlink or an empty directory; -ENOTEMPTY, and -ENOENT for what is not there. */
VITRO_API int vitro_overlay_remove(struct vitro_overlay *overlay, const char *path);
VITRO_API int vitro_overlay_remove_all(struct vitro_overlay *overlay, const char *path);
VITRO_API int vitro_overlay_mkdir(struct vitro_overlay *overlay, const char *path, unsigned mode);
/* With all directories on the way; 0 if it is there. A file in the way is -ENOTDIR. */
VITRO_API int vitro_overlay_mkdir_all(struct vitro_overlay *overlay, const char *path,
                                      unsigned mode);
VITRO_API int vitro_overlay_symlink(struct vitro_overlay *overlay, const char *target,
                                    const char *path);
VITRO_API int vitro_overlay_chmod(struct vitro_overlay *overlay, const char *path, unsigned mode);
/* Sorted by name. Free with vitro_overlay_entries_free. */
VITRO_API int vitro_overlay_read_dir(struct vitro_overlay *overlay, const char *path,
                                     struct vitro_overlay_entry **ret, size_t *ret_count);
VITRO_API void vitro_overlay_entries_free(struct vitro_overlay_entry *entries, size_t count);
VITRO_API int vitro_overlay_stat(struct vitro_overlay *overlay, const char *path,
                                 struct vitro_overlay_stat *ret); /* follows symlinks */
VITRO_API int vitro_overlay_lstat(struct vitro_overlay *overlay, const char *path,
                                  struct vitro_overlay_stat *ret);

/* A patch in git's format of all that changed; free() it. "" if nothing did. */
VITRO_API int vitro_overlay_diff(struct vitro_overlay *overlay, char **ret_text,
                                 size_t *ret_length);
/* Into the real worktree, all or nothing; the overlay is empty afterwards. -ESTALE, with the names
 * in vitro_overlay_error, if the worktree moved on. */
VITRO_API int vitro_overlay_apply(struct vitro_overlay *overlay);

#ifdef __cplusplus
}
#endif

#endif
