/* SPDX-License-Identifier: MIT */
#include "base/scratch.h"
#include "base/fd.h"
#include "lib/check.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void make(struct scratch *ret)
{
    struct err err = {0};

    CHECK_OK(scratch_make(tmp_path("base"), "work", ret, &err), err);
}

/* A process that has a directory with something in it, and waits to be killed. */
static pid_t start_owner(char path[static 256])
{
    int fds[2];

    CHECK_INT(pipe(fds), 0);
    pid_t pid = fork();
    if (pid == 0) {
        struct scratch scratch = {0};
        if (scratch_make(tmp_path("base"), "work", &scratch, NULL) < 0)
            _exit(1);
        CLEANUP(mem_free) char *below = mem_format("%s/a/b", scratch.path);
        if (dir_make_all(below, NULL) < 0 || write(fds[1], scratch.path, 256) != 256)
            _exit(1);
        pause();
        _exit(0);
    }
    CHECK_INT(fd_read_full(fds[0], path, 256), 0);
    fd_close(fds[0]);
    fd_close(fds[1]);
    return pid;
}

static void end_owner(pid_t pid)
{
    CHECK_INT(kill(pid, SIGKILL), 0);
    CHECK_INT(waitpid(pid, NULL, 0), pid);
}

TEST(a_directory_of_an_owner_that_was_killed_is_cleared_away_by_the_next)
{
    char path[256], other[256];
    pid_t pid = start_owner(path), living = start_owner(other);
    struct scratch scratch = {0};

    end_owner(pid);
    CHECK_TRUE(file_exists(path));
    make(&scratch);
    CHECK_TRUE(!file_exists(path));
    CLEANUP(mem_free) char *lock = mem_format("%s.lock", path);
    CHECK_TRUE(!file_exists(lock));
    CHECK_TRUE(file_exists(other)); /* its owner lives */
    CHECK_TRUE(file_exists(scratch.path));
    end_owner(living);
    scratch_remove(&scratch);
}

/* A child with copies of all that is open; it ends when fds[1] is closed. */
static pid_t fork_waiting(int fds[static 2])
{
    CHECK_INT(pipe(fds), 0);
    pid_t pid = fork();
    if (pid == 0) {
        char byte;
        fd_close(fds[1]);
        (void)read(fds[0], &byte, 1);
        _exit(0);
    }
    fd_close(fds[0]);
    return pid;
}

TEST(a_child_that_goes_on_keeps_the_directory)
{
    struct scratch scratch = {0}, next = {0};
    int fds[2];

    make(&scratch);
    pid_t pid = fork_waiting(fds);
    fd_close(scratch.lock_fd); /* as when the owner ends */
    make(&next);
    CHECK_TRUE(file_exists(scratch.path));
    scratch_remove(&next);
    fd_close(fds[1]);
    CHECK_INT(waitpid(pid, NULL, 0), pid);
    make(&next);
    CHECK_TRUE(!file_exists(scratch.path));
    scratch_remove(&next);
    free(scratch.path);
}

TEST(a_base_that_is_let_go_is_free_although_a_child_has_a_copy)
{
    struct err err = {0};
    int held = -1, fds[2];

    CHECK_OK(scratch_hold(tmp_path("base"), &held, &err), err);
    pid_t pid = fork_waiting(fds);
    (void)scratch_release(held);
    struct scratch scratch = {0};
    make(&scratch); /* would wait for the child */
    scratch_remove(&scratch);
    fd_close(fds[1]);
    CHECK_INT(waitpid(pid, NULL, 0), pid);
}

TEST(the_last_one_takes_the_base_away_and_nobody_else)
{
    struct scratch one = {0}, two = {0}, none = {0};

    make(&one);
    make(&two);
    scratch_remove(&one);
    CHECK_TRUE(file_exists(tmp_path("base")));
    scratch_remove(&two);
    CHECK_TRUE(!file_exists(tmp_path("base")));
    scratch_remove(&two);
    scratch_remove(&none);
}

/* Many at once, each making and removing: nobody finds its directory or the base gone. */
TEST(many_at_once_do_not_disturb_each_other)
{
    enum { PROCESSES = 8, ROUNDS = 50 };
    pid_t pids[PROCESSES];

    for (int i = 0; i < PROCESSES; i++)
        if ((pids[i] = fork()) == 0) {
            for (int round = 0; round < ROUNDS; round++) {
                struct scratch scratch = {0};
                if (scratch_make(tmp_path("base"), "work", &scratch, NULL) < 0)
                    _exit(1);
                CLEANUP(mem_free) char *file = mem_format("%s/file", scratch.path);
                if (file_write(file, "x", 1, NULL) < 0 || !file_exists(file))
                    _exit(2);
                if (i % 2 || round % 2)
                    scratch_remove(&scratch);
                else
                    fd_close(scratch.lock_fd); /* left behind */
            }
            _exit(0);
        }
    for (int i = 0; i < PROCESSES; i++) {
        int status = 0;
        CHECK_INT(waitpid(pids[i], &status, 0), pids[i]);
        CHECK_INT(status, 0);
    }
    struct scratch scratch = {0};
    make(&scratch);
    scratch_remove(&scratch);
    CHECK_TRUE(!file_exists(tmp_path("base")));
}

TEST(what_is_not_ours_is_refused)
{
    struct scratch scratch = {0};
    struct err err = {0};

    CHECK_INT(symlink("/tmp", tmp_path("base")), 0);
    CHECK_TRUE(scratch_make(tmp_path("base"), "work", &scratch, &err) < 0);
    CHECK_HAS(err.text, "is not a directory that only you can write to");
    CHECK_TRUE(scratch_make(tmp_path("none/base"), "work", &scratch, &err) < 0);
    CHECK_HAS(err.text, "for temporary directories: No such file or directory");
}
