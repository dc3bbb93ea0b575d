/* SPDX-License-Identifier: MIT */
#include "fs/fs_apply.h"
#include "fs/fs_xattrs.h"
#include "fs/fs_blobs.h"
#include "lib/check.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

struct fixture {
    const char *worktree;
    struct fs_blobs *blobs;
    struct fs_changes *changes;
};

static void put(const char *worktree, const char *name, const char *text, mode_t mode)
{
    CLEANUP(mem_free) char *path = mem_format("%s/%s", worktree, name);
    struct err err = {0};

    CHECK_OK(file_write(path, text, strlen(text), &err), err);
    CHECK_INT(chmod(path, mode), 0);
}

static struct fs_node file_node(struct fixture *f, const char *text, mode_t mode)
{
    struct fs_node node = {.type = FS_FILE, .mode = mode};
    struct err err = {0};

    CHECK_OK(fs_content_put_bytes(f->blobs, text, strlen(text), &node, &err), err);
    return node;
}

static struct fs_change *add(struct fixture *f, const char *path, struct fs_node before,
                             struct fs_node after)
{
    struct fs_change *change = fs_changes_add(f->changes, path);

    change->before = before;
    change->after = after;
    return change;
}

#define NOTHING  ((struct fs_node){0})
#define DIR_NODE ((struct fs_node){.type = FS_DIR, .mode = 0755})

/* Root gives a program that sets its user to somebody else: the bit is to stay. */
static void add_given(struct fixture *f)
{
    struct fs_node before = file_node(f, "same\n", 04755), after = before;

    put(f->worktree, "zgiven", "same\n", 04755);
    if (geteuid() == 0) {
        before.owner = (struct fs_owner){true, 0, getegid()};
        after.owner = (struct fs_owner){true, 1000, 1001};
    } else {
        after.mode = 0755;
    }
    add(f, "zgiven", before, after);
}

/* Attributes of what stays, where the file system has such, and another name of what is new. */
static void add_attributes(struct fixture *f)
{
    struct fs_node before = file_node(f, "same\n", 0644), after = before;
    CLEANUP(mem_free) char *path = mem_format("%s/attr", f->worktree);

    put(f->worktree, "attr", "same\n", 0644);
    after.mode = 0600;
    if (setxattr(path, "user.t", "old", 3, 0) == 0) {
        before.xattrs = "user.t=6f6c64";
        after.xattrs = "user.t=6e6577,user.u=";
    }
    add(f, "attr", before, after);
}

/* A worktree with one of everything, and a change of each kind. */
static struct fixture make(void)
{
    struct fixture f = {.worktree = tmp_path("wt"), .blobs = fs_blobs_in_memory()};

    CHECK_INT(mkdir(f.worktree, 0755), 0);
    CHECK_INT(mkdir(tmp_path("wt/gone"), 0755), 0);
    CHECK_INT(mkdir(tmp_path("wt/kept"), 0755), 0);
    put(f.worktree, "edit", "one\n", 0644);
    put(f.worktree, "gone/file", "away\n", 0600);
    put(f.worktree, "mode", "same\n", 0644);
    put(f.worktree, "from", "moved\n", 0644);
    put(f.worktree, "todir", "file\n", 0644);
    f.changes = fs_changes_new(f.worktree);
    add_attributes(&f);
    add(&f, "edit", file_node(&f, "one\n", 0644), file_node(&f, "two\n", 0644));
    add(&f, "edit2", NOTHING, file_node(&f, "two\n", 0644))->link = "edit";
    add(&f, "gone", DIR_NODE, NOTHING);
    add(&f, "gone/file", file_node(&f, "away\n", 0600), NOTHING);
    add(&f, "kept", DIR_NODE, (struct fs_node){.type = FS_DIR, .mode = 0555});
    add(&f, "kept/new", NOTHING, file_node(&f, "new\n", 0755));
    add(&f, "mode", file_node(&f, "same\n", 0644), file_node(&f, "same\n", 0755));
    add(&f, "newdir", NOTHING, (struct fs_node){.type = FS_DIR, .mode = 0500});
    add(&f, "newdir/in", NOTHING, file_node(&f, "in\n", 0644));
    add(&f, "to", file_node(&f, "moved\n", 0644), file_node(&f, "moved\n", 0644))->from = "from";
    add(&f, "todir", file_node(&f, "file\n", 0644), DIR_NODE);
    add(&f, "todir/x", NOTHING, file_node(&f, "x\n", 0644));
    add_given(&f);
    return f;
}

static void done(struct fixture *f)
{
    fs_changes_free(f->changes);
    fs_blobs_free(f->blobs);
}

static void describe(const char *worktree, struct buf *ret)
{
    CLEANUP(mem_free) char *command =
        mem_format("cd '%s' && find . -printf '%%p %%y %%m %%l %%U:%%G\\n' | LC_ALL=C sort && "
                   "find . -type f | LC_ALL=C sort | xargs cat",
                   worktree);
    FILE *pipe = popen(command, "r");
    char line[1000];

    CHECK_TRUE(pipe);
    while (fgets(line, sizeof line, pipe))
        buf_adds(ret, line);
    CHECK_INT(pclose(pipe), 0);
    CLEANUP(mem_free) char *path = mem_format("%s/attr", worktree);
    CLEANUP(fd_close) int fd = open(path, O_PATH | O_CLOEXEC);
    CHECK_INT(fs_xattrs_read(fd, ret), 0);
}

TEST(every_kind_of_change_is_applied)
{
    struct fixture f = make();
    CLEANUP(buf_done) struct buf tree = {0};
    CLEANUP(mem_free) char *self = mem_format("%u:%u", geteuid(), getegid());
    const char *given = geteuid() == 0 ? "4755  1000:1001" : NULL;
    CLEANUP(mem_free) char *ours = mem_format("755  %s", self);
    CLEANUP(mem_free)
    char *wanted = mem_format(
        ". d 755  %1$s\n./attr f 600  %1$s\n./edit f 644  %1$s\n./edit2 f 644  %1$s\n./kept d 555  "
        "%1$s\n./kept/new f 755  %1$s\n"
        "./mode f 755  %1$s\n./newdir d 500  %1$s\n./newdir/in f 644  %1$s\n./to f 644  %1$s\n"
        "./todir d 755  %1$s\n./todir/x f 644  %1$s\n./zgiven f %2$s\n"
        "same\ntwo\ntwo\nnew\nsame\nin\nmoved\nx\nsame\n%3$s",
        self, given ? given : ours, f.changes->items[0].after.xattrs ?: "");
    struct stat one, two;
    struct fs_apply_report report;
    struct err err = {0};

    CHECK_OK(fs_apply(f.changes, f.blobs, &(struct fs_apply_options){0}, &report, &err), err);
    CHECK_INT(report.applied, 14);
    describe(f.worktree, &tree);
    CHECK_TEXT(buf_text(&tree), wanted);
    CHECK_INT(stat(tmp_path("wt/edit"), &one), 0);
    CHECK_INT(stat(tmp_path("wt/edit2"), &two), 0);
    CHECK_INT(one.st_ino, two.st_ino);
    done(&f);
}

TEST(a_dry_run_changes_nothing)
{
    struct fixture f = make();
    CLEANUP(buf_done) struct buf before = {0};
    CLEANUP(buf_done) struct buf after = {0};
    struct fs_apply_report report;
    struct err err = {0};

    describe(f.worktree, &before);
    CHECK_OK(
        fs_apply(f.changes, f.blobs, &(struct fs_apply_options){.dry_run = true}, &report, &err),
        err);
    describe(f.worktree, &after);
    CHECK_TEXT(buf_text(&after), buf_text(&before));
    done(&f);
}

struct countdown {
    int left;
};

static void die_at_zero(void *arg)
{
    struct countdown *countdown = arg;

    if (countdown->left-- == 0)
        raise(SIGKILL);
}

/* Applies in a child that is killed before its nth step; true if it came to the end. */
static bool apply_killed_at(struct fixture *f, int n)
{
    struct countdown countdown = {n};
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        struct fs_apply_report report;
        struct fs_apply_options options = {.step = die_at_zero, .step_arg = &countdown};
        _exit(fs_apply(f->changes, f->blobs, &options, &report, NULL) < 0);
    }
    CHECK_INT(waitpid(pid, &status, 0), pid);
    CHECK_TRUE(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
    return WIFEXITED(status);
}

TEST(killed_before_any_step_the_worktree_is_as_before_or_as_after)
{
    CLEANUP(buf_done) struct buf before = {0};
    CLEANUP(buf_done) struct buf wanted = {0};
    CLEANUP(buf_done) struct buf committed = {0};
    struct err err = {0};
    int kills = 0;

    for (bool ended = false; !ended; kills++) {
        struct fixture f = make();
        CLEANUP(buf_done) struct buf after = {0};
        bool recovered;
        if (!before.length)
            describe(f.worktree, &before);
        ended = apply_killed_at(&f, kills);
        CHECK_OK(fs_apply_recover(f.worktree, &recovered, &err), err);
        describe(f.worktree, &after);
        if (ended)
            buf_add(&wanted, after.data, after.length);
        else if (strcmp(buf_text(&after), buf_text(&before)) != 0) /* killed while cleaning up */
            buf_add(&committed, after.data, after.length);
        CHECK_TRUE(!strstr(buf_text(&after), ".vitro-apply"));
        done(&f);
        CHECK_INT(dir_remove_all(f.worktree, &err), 0);
    }
    CHECK_TEXT(buf_text(&committed), buf_text(&wanted));
    CHECK_TRUE(kills > 25); /* each stage, each rename, the commit and the cleaning up */
}

/* Fails the nth step by taking away the staged files. */
struct saboteur {
    int left;
    const char *stage;
};
static void empty_stage(void *arg)
{
    struct saboteur *saboteur = arg;

    if (saboteur->left-- == 0)
        CHECK_INT(rename(saboteur->stage, tmp_path("stolen")), 0);
}

TEST(a_step_that_fails_undoes_the_others)
{
    struct fixture f = make();
    CLEANUP(buf_done) struct buf before = {0};
    CLEANUP(buf_done) struct buf after = {0};
    struct saboteur saboteur = {15, /* in the middle of the removals */
                                tmp_path("wt/.vitro-apply/6.new")};
    struct fs_apply_options options = {.step = empty_stage, .step_arg = &saboteur};
    struct fs_apply_report report;
    struct err err = {0};

    describe(f.worktree, &before);
    CHECK_INT(fs_apply(f.changes, f.blobs, &options, &report, &err), -ENOENT);
    CHECK_HAS(err.text, "apply 'kept/new'");
    describe(f.worktree, &after);
    CHECK_TEXT(buf_text(&after), buf_text(&before));
    done(&f);
}

TEST(each_kind_of_conflict_is_named_and_nothing_is_done)
{
    static const struct {
        const char *command, *text;
    } cases[] = {
        {"echo more >>edit", "edit: has other content than the run saw"},
        {"rm edit", "edit: is not there any more"},
        {"rm edit; mkdir edit", "edit: is of another type now"},
        {"chmod 600 mode", "mode: has other permissions now"},
        {"touch kept/new", "kept/new: is there, but was not when the run began"},
        {"touch gone/extra", "gone/extra: is there, but was not when the run began"},
        {"touch to", "to: is there, but was not when the run began"},
        {"rm edit; ln -s /etc/passwd edit", "edit: is of another type now"},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct fixture f = make();
        CLEANUP(buf_done) struct buf before = {0};
        CLEANUP(buf_done) struct buf after = {0};
        CLEANUP(mem_free) char *command =
            mem_format("cd '%s' && { %s; }", f.worktree, cases[i].command);
        struct fs_apply_report report;
        struct err err = {0};
        CHECK_INT(system(command), 0);
        describe(f.worktree, &before);
        CHECK_INT(fs_apply(f.changes, f.blobs, &(struct fs_apply_options){0}, &report, &err),
                  -ESTALE);
        CHECK_HAS(err.text, cases[i].text);
        describe(f.worktree, &after);
        CHECK_TEXT(buf_text(&after), buf_text(&before));
        done(&f);
        CHECK_INT(dir_remove_all(f.worktree, &err), 0);
    }
}

TEST(a_symlink_in_the_way_never_leads_out)
{
    struct fixture f = {.worktree = tmp_path("wt"), .blobs = fs_blobs_in_memory()};
    const char *outside = tmp_path("outside"), *link = tmp_path("wt/d");
    struct fs_apply_report report;
    struct err err = {0};
    struct stat st;

    CHECK_TRUE(mkdir(f.worktree, 0755) == 0 && mkdir(outside, 0755) == 0);
    CHECK_INT(symlink(outside, link), 0);
    f.changes = fs_changes_new(f.worktree);
    add(&f, "d/x", NOTHING, file_node(&f, "x\n", 0644));
    CHECK_INT(fs_apply(f.changes, f.blobs, &(struct fs_apply_options){0}, &report, &err), -ESTALE);
    CHECK_HAS(err.text, "d/x: its directory is gone, or is a symlink or a file now");
    CHECK_INT(stat(tmp_path("outside/x"), &st), -1);
    done(&f);
}
