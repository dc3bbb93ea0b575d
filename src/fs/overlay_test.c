/* SPDX-License-Identifier: MIT */
#include "vitro/overlay.h"
#include "base/rng.h"
#include "lib/check.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static void sh(const char *format, ...) PRINTF_LIKE(1, 2);
static void sh(const char *format, ...)
{
    CLEANUP(buf_done) struct buf command = {0};
    va_list args;

    va_start(args, format);
    buf_addv(&command, format, args);
    va_end(args);
    CHECK_INT(system(command.data), 0);
}

/* A worktree: d/a, d/e/b, f, in -> f, out -> ../outside, abs -> /etc/passwd, dangling -> none. */
static struct vitro_overlay *make(void)
{
    struct vitro_overlay *overlay = NULL;

    sh("mkdir -p '%s/wt/d/e' && cd '%s/wt' && echo a >d/a && echo b >d/e/b && echo f >f && "
       "ln -s f in && ln -s ../outside out && ln -s /etc/passwd abs && ln -s none dangling && "
       "mkdir ../outside && echo o >../outside/o",
       tmp_path("."), tmp_path("."));
    CHECK_INT(vitro_overlay_open(tmp_path("wt"), &overlay), 0);
    return overlay;
}

static void check_content(struct vitro_overlay *overlay, const char *path, const char *wanted)
{
    char *bytes = NULL;
    size_t length;
    int r = vitro_overlay_read(overlay, path, &bytes, &length);

    CHECK_INT(r, 0);
    CHECK_TEXT(bytes, wanted);
    free(bytes);
}

static int read_code(struct vitro_overlay *overlay, const char *path)
{
    char *bytes = NULL;
    size_t length;
    int r = vitro_overlay_read(overlay, path, &bytes, &length);

    free(bytes);
    return r;
}

TEST(reads_fall_through_and_writes_stay_in_memory)
{
    struct vitro_overlay *o = make();
    struct vitro_overlay_stat st;

    check_content(o, "d/a", "a\n");
    CHECK_INT(vitro_overlay_write(o, "d/a", "new", 3), 0);
    CHECK_INT(vitro_overlay_append(o, "d/a", "er", 2), 0);
    CHECK_INT(vitro_overlay_append(o, "d/made", "x", 1), 0);
    check_content(o, "d/a", "newer");
    check_content(o, tmp_path("wt/d/a"), "newer");
    CHECK_INT(vitro_overlay_stat(o, "d/a", &st), 0);
    CHECK_TRUE(st.type == VITRO_FILE && st.size == 5 && st.mode == 0644 && st.changed);
    CHECK_INT(vitro_overlay_stat(o, "f", &st), 0);
    CHECK_TRUE(st.size == 2 && !st.changed);
    sh("cd '%s' && test \"$(cat d/a)\" = a && test ! -e d/made", tmp_path("wt"));
    vitro_overlay_free(o);
}

TEST(errors_are_those_of_the_system_calls)
{
    struct vitro_overlay *o = make();
    struct vitro_overlay_entry *entries;
    size_t count;
    uint64_t copied;

    CHECK_INT(read_code(o, "none"), -ENOENT);
    CHECK_INT(read_code(o, "d"), -EISDIR);
    CHECK_INT(read_code(o, "f/x"), -ENOTDIR);
    CHECK_INT(read_code(o, ""), -ENOENT);
    CHECK_INT(vitro_overlay_write(o, "none/x", "x", 1), -ENOENT);
    CHECK_INT(vitro_overlay_write(o, "f/x", "x", 1), -ENOTDIR);
    CHECK_INT(vitro_overlay_write(o, "d", "x", 1), -EISDIR);
    CHECK_INT(vitro_overlay_append(o, "d", "x", 1), -EISDIR);
    CHECK_INT(vitro_overlay_write(o, ".", "x", 1), -EISDIR);
    CHECK_INT(vitro_overlay_remove(o, "none"), -ENOENT);
    CHECK_HAS(vitro_overlay_error(o), "remove 'none': No such file or directory");
    CHECK_INT(vitro_overlay_remove(o, "d"), -ENOTEMPTY);
    CHECK_INT(vitro_overlay_remove(o, "."), -EBUSY);
    CHECK_INT(vitro_overlay_mkdir(o, "d", 0755), -EEXIST);
    CHECK_INT(vitro_overlay_mkdir(o, "f", 0755), -EEXIST);
    CHECK_INT(vitro_overlay_mkdir(o, "dangling", 0755), -EEXIST);
    CHECK_INT(vitro_overlay_mkdir(o, "none/x", 0755), -ENOENT);
    CHECK_INT(vitro_overlay_mkdir(o, "f/x", 0755), -ENOTDIR);
    CHECK_INT(vitro_overlay_mkdir_all(o, "f/x/y", 0755), -ENOTDIR);
    CHECK_INT(vitro_overlay_mkdir_all(o, "d/e", 0755), 0);
    CHECK_INT(vitro_overlay_copy(o, "d", "x", &copied), -EISDIR);
    CHECK_INT(vitro_overlay_copy(o, "none", "x", &copied), -ENOENT);
    CHECK_INT(vitro_overlay_rename(o, "none", "x"), -ENOENT);
    CHECK_INT(vitro_overlay_rename(o, "d", "d/e/x"), -EINVAL);
    CHECK_INT(vitro_overlay_rename(o, "d", "f"), -ENOTDIR);
    CHECK_INT(vitro_overlay_rename(o, "f", "d"), -EISDIR);
    CHECK_INT(vitro_overlay_rename(o, "d/e", "d"), -ENOTEMPTY);
    CHECK_INT(vitro_overlay_read_dir(o, "none", &entries, &count), -ENOENT);
    CHECK_INT(vitro_overlay_read_dir(o, "f", &entries, &count), -ENOTDIR);
    CHECK_INT(vitro_overlay_exists(o, "none"), 0);
    CHECK_INT(vitro_overlay_exists(o, "f/x"), 0);
    CHECK_INT(vitro_overlay_exists(o, "d/e/b"), 1);
    vitro_overlay_free(o);
}

TEST(no_path_leads_out_of_the_worktree)
{
    static const char *const paths[] = {"out/o", "../outside/o", "d/../../outside/o",
                                        "abs",   "/etc/passwd",  "out"};
    struct vitro_overlay *o = make();
    struct vitro_overlay_stat st;

    for (size_t i = 0; i < ARRAY_LENGTH(paths); i++) {
        CHECK_INT(read_code(o, paths[i]), -EXDEV);
        CHECK_INT(vitro_overlay_write(o, paths[i], "x", 1), -EXDEV);
    }
    check_content(o, "in", "f\n");
    check_content(o, "d/../f", "f\n");
    CHECK_INT(vitro_overlay_write(o, "in", "through\n", 8), 0);
    check_content(o, "f", "through\n");
    CHECK_INT(vitro_overlay_write(o, "dangling", "made", 4), 0);
    check_content(o, "none", "made");
    CHECK_INT(vitro_overlay_lstat(o, "out", &st), 0);
    CHECK_INT(st.type, VITRO_SYMLINK);
    CHECK_INT(vitro_overlay_symlink(o, "loop", "loop"), 0);
    CHECK_INT(read_code(o, "loop"), -ELOOP);
    sh("test \"$(cat '%s')\" = o", tmp_path("outside/o"));
    vitro_overlay_free(o);
}

TEST(what_is_deleted_stays_deleted_with_all_below_it)
{
    struct vitro_overlay *o = make();
    struct vitro_overlay_entry *entries;
    size_t count;

    CHECK_INT(vitro_overlay_remove_all(o, "d"), 0);
    CHECK_INT(read_code(o, "d/a"), -ENOENT);
    CHECK_INT(read_code(o, "d/e/b"), -ENOENT);
    CHECK_INT(vitro_overlay_remove(o, "d"), -ENOENT);
    CHECK_INT(vitro_overlay_write(o, "d/x", "x", 1), -ENOENT);
    CHECK_INT(vitro_overlay_mkdir(o, "d", 0755), 0);
    CHECK_INT(read_code(o, "d/a"), -ENOENT); /* the old content does not shine through */
    CHECK_INT(vitro_overlay_read_dir(o, "d", &entries, &count), 0);
    CHECK_INT(count, 0);
    vitro_overlay_entries_free(entries, count);
    CHECK_INT(vitro_overlay_remove(o, "f"), 0);
    CHECK_INT(vitro_overlay_exists(o, "f"), 0);
    CHECK_INT(vitro_overlay_write(o, "f", "again", 5), 0);
    check_content(o, "f", "again");
    vitro_overlay_free(o);
}

TEST(renaming_onto_itself_loses_nothing)
{
    struct vitro_overlay *o = make();
    char *text;
    size_t length;

    CHECK_INT(vitro_overlay_rename(o, "f", "f"), 0);
    CHECK_INT(vitro_overlay_rename(o, "f", "./d/../f"), 0);
    check_content(o, "f", "f\n");
    CHECK_INT(vitro_overlay_rename(o, "d", "moved"), 0);
    CHECK_INT(vitro_overlay_rename(o, "moved", "d"), 0);
    check_content(o, "d/e/b", "b\n");
    CHECK_INT(vitro_overlay_diff(o, &text, &length), 0);
    CHECK_TEXT(text, "");
    free(text);
    vitro_overlay_free(o);
}

TEST(a_directory_lists_both_layers_sorted)
{
    struct vitro_overlay *o = make();
    struct vitro_overlay_entry *entries;
    size_t count;

    CHECK_INT(vitro_overlay_write(o, "d/z", "", 0), 0);
    CHECK_INT(vitro_overlay_write(o, "d/B", "", 0), 0);
    CHECK_INT(vitro_overlay_remove(o, "d/a"), 0);
    CHECK_INT(vitro_overlay_read_dir(o, "d", &entries, &count), 0);
    CHECK_INT(count, 3);
    CHECK_TEXT(entries[0].name, "B");
    CHECK_TEXT(entries[1].name, "e");
    CHECK_INT(entries[1].type, VITRO_DIR);
    CHECK_TEXT(entries[2].name, "z");
    vitro_overlay_entries_free(entries, count);
    vitro_overlay_free(o);
}

TEST(apply_refuses_when_a_touched_file_changed_since)
{
    struct vitro_overlay *o = make();

    CHECK_INT(vitro_overlay_write(o, "f", "mine", 4), 0);
    CHECK_INT(vitro_overlay_write(o, "d/a", "mine", 4), 0);
    sh("echo theirs >'%s'", tmp_path("wt/f"));
    CHECK_INT(vitro_overlay_apply(o), -ESTALE);
    CHECK_HAS(vitro_overlay_error(o), "f: has other content than the run saw");
    sh("test \"$(cat '%s')\" = a", tmp_path("wt/d/a"));
    vitro_overlay_free(o);
}

/* The same random calls on the overlay and on a real copy must give the same codes; then the patch
 * and the apply must both give the tree of the copy. */

struct twin {
    struct vitro_overlay *overlay;
    char real[PATH_MAX];
};

static const char *real_path(const struct twin *twin, const char *path)
{
    static char paths[2][PATH_MAX * 2];
    static int next;

    next = !next;
    (void)snprintf(paths[next], sizeof paths[0], "%s/%s", twin->real, path);
    return paths[next];
}

static int real_write(const char *path, const char *text, int flags)
{
    CLEANUP(fd_close) int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0644);

    return fd < 0 ? -errno : fd_write_full(fd, text, strlen(text));
}

static int real_remove(const char *path)
{
    struct stat st;

    if (lstat(path, &st) < 0)
        return -errno;
    return (S_ISDIR(st.st_mode) ? rmdir(path) : unlink(path)) < 0 ? -errno : 0;
}

static void random_path(struct rng *rng, char *ret, size_t size)
{
    static const char *const names[] = {"a", "b", "d", "e", "f"};
    size_t length = 0;

    for (uint64_t i = 0, parts = 1 + rng_below(rng, 3); i < parts; i++)
        length += (size_t)snprintf(ret + length, size - length, "%s%s", i ? "/" : "",
                                   names[rng_below(rng, 5)]);
}

static void one_call(struct twin *twin, struct rng *rng)
{
    char a[100], b[100], text[30];
    uint64_t what = rng_below(rng, 7);
    struct vitro_overlay *o = twin->overlay;

    random_path(rng, a, sizeof a);
    random_path(rng, b, sizeof b);
    (void)snprintf(text, sizeof text, "%llu\n", (unsigned long long)rng_below(rng, 4));
    if (what == 0)
        CHECK_INT(vitro_overlay_write(o, a, text, strlen(text)),
                  real_write(real_path(twin, a), text, O_TRUNC));
    else if (what == 1)
        CHECK_INT(vitro_overlay_append(o, a, text, strlen(text)),
                  real_write(real_path(twin, a), text, O_APPEND));
    else if (what == 2)
        CHECK_INT(vitro_overlay_remove(o, a), real_remove(real_path(twin, a)));
    else if (what == 3)
        CHECK_INT(vitro_overlay_mkdir(o, a, 0755),
                  mkdir(real_path(twin, a), 0755) < 0 ? -errno : 0);
    else if (what == 4 && vitro_overlay_exists(o, a) == 1)
        CHECK_INT(vitro_overlay_chmod(o, a, 0755), chmod(real_path(twin, a), 0755));
    else if (what >= 5)
        CHECK_INT(vitro_overlay_rename(o, a, b),
                  rename(real_path(twin, a), real_path(twin, b)) < 0 ? -errno : 0);
}

TEST(random_calls_give_what_the_kernel_gives_and_so_do_patch_and_apply)
{
    static const char shape[] = "find . -mindepth 1 -printf '%p %y %m\\n' | LC_ALL=C sort; "
                                "find . -type f | LC_ALL=C sort | xargs -r cat";
    CLEANUP(mem_free) char *top = mem_dup(tmp_path("."));
    struct rng rng;

    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct twin twin = {0};
        char *patch;
        size_t length;
        struct err err = {0};
        sh("cd '%s' && rm -rf wt real patched && mkdir -p wt/d/e/f wt/b && cd wt && echo 1 >d/a && "
           "echo 2 >d/e/b && echo 3 >d/e/f/a && echo 4 >a && umask 022 && cp -a . ../real && "
           "cp -a . ../patched",
           top);
        CHECK_INT(vitro_overlay_open(tmp_path("wt"), &twin.overlay), 0);
        (void)snprintf(twin.real, sizeof twin.real, "%s", tmp_path("real"));
        rng_seed(&rng, seed);
        for (int i = 0; i < 60; i++)
            one_call(&twin, &rng);
        CHECK_INT(vitro_overlay_diff(twin.overlay, &patch, &length), 0);
        CHECK_OK(file_write(tmp_path("patch"), patch, length, &err), err);
        free(patch);
        if (vitro_overlay_apply(twin.overlay) < 0)
            check_fail(__FILE__, __LINE__, "seed %d: %s", (int)seed,
                       vitro_overlay_error(twin.overlay));
        sh("cd '%s' && (cd wt && %s) >applied && (cd real && %s) >native && diff native applied",
           top, shape, shape);
        sh("cd '%s/patched' && { test ! -s ../patch || git apply ../patch; } && "
           "(find . -type f | LC_ALL=C sort; find . -type f | LC_ALL=C sort | xargs -r cat) >../p "
           "&& "
           "cd ../real && (find . -type f | LC_ALL=C sort; find . -type f | LC_ALL=C sort | xargs "
           "-r cat) | diff - ../p",
           top);
        vitro_overlay_free(twin.overlay);
    }
}
