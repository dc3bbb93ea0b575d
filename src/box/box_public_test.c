/* SPDX-License-Identifier: MIT */
#include "vitro/box.h"
#include "lib/check.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define SECOND INT64_C(1000000000)
static const int64_t START = INT64_C(1767225600) * SECOND; /* 2026-01-01 */

static vitro_box *vitro_box_free_(vitro_box *box)
{
    vitro_box_free(box);
    return NULL;
}
DEFINE_CLEANUP(vitro_box *, vitro_box_free_)

static vitro_box *spawn(const struct vitro_box_options *options)
{
    struct vitro_box_error error = {0};
    vitro_box *box = vitro_box_spawn(options, &error);

    if (!box)
        check_fail(__FILE__, __LINE__, "spawn: %s", error.text);
    return box;
}

static vitro_box *spawn_shell(const char *script, struct vitro_box_options options)
{
    const char *argv[] = {"sh", "-c", script, NULL};

    options.argv = argv;
    options.capture_output = 1;
    return spawn(&options);
}

static struct vitro_box_findings wait_for(vitro_box *box)
{
    struct vitro_box_findings findings = {0};
    struct vitro_box_error error = {0};

    CHECK_OK(vitro_box_wait(box, &findings, &error), error);
    return findings;
}

TEST(a_day_of_sleep_passes_at_once_and_the_output_is_captured)
{
    CLEANUP(vitro_box_free_)
    vitro_box *box = spawn_shell("date; sleep 86400; date; echo word >&2; exit 3",
                                 (struct vitro_box_options){.clock = "2024-02-29T23:59:58Z"});
    struct vitro_box_findings findings = wait_for(box);

    CHECK_INT(findings.exit_code, 3);
    CHECK_INT(findings.outcome, VITRO_BOX_EXITED);
    CHECK_INT(WEXITSTATUS(findings.wait_status), 3);
    CHECK_INT(findings.virtual_ns, 86400 * SECOND);
    CHECK_TEXT(findings.output, "Thu Feb 29 23:59:58 UTC 2024\nFri Mar  1 23:59:58 UTC 2024\n");
    CHECK_INT(findings.output_length, strlen(findings.output));
    CHECK_TEXT(findings.error_output, "word\n");
    CHECK_INT(findings.leak_count, 0);
    CHECK_INT(findings.seed, 1);
    CHECK_TEXT(findings.text, "");
    CHECK_INT(vitro_box_fd(box), -1);
}

TEST(waiting_again_tells_the_same)
{
    CLEANUP(vitro_box_free_)
    vitro_box *box = spawn_shell("echo once", (struct vitro_box_options){0});

    CHECK_TEXT(wait_for(box).output, "once\n");
    CHECK_TEXT(wait_for(box).output, "once\n");
}

TEST(a_manual_clock_goes_from_deadline_to_deadline)
{
    CLEANUP(vitro_box_free_)
    vitro_box *box =
        spawn_shell("sleep 10; date +%s; sleep 10; date +%s",
                    (struct vitro_box_options){.clock = "2026-01-01T00:00:00Z,manual"});
    struct vitro_box_error error = {0};
    struct vitro_box_pending due[4] = {0};
    int64_t now = 0;

    CHECK_OK(vitro_box_clock_now(box, &now, &error), error);
    CHECK_INT(now, START);
    CHECK_OK(vitro_box_clock_advance(box, 0, NULL, &error), error); /* until it is idle */
    CHECK_INT(vitro_box_clock_pending(box, due, 4, &error), 1);
    CHECK_INT(due[0].in_ns, 10 * SECOND);
    CHECK_TEXT(due[0].who, "1.1 (sleep)");

    CHECK_OK(vitro_box_clock_advance(box, 15 * SECOND, &now, &error), error);
    CHECK_INT(now, START + 15 * SECOND);
    CHECK_INT(vitro_box_clock_pending(box, due, 4, &error), 1);
    CHECK_INT(due[0].in_ns, 5 * SECOND);

    CHECK_OK(vitro_box_clock_advance(box, 3600 * SECOND, &now, &error), error);
    CHECK_INT(now, START + 20 * SECOND); /* its program ended there */
    struct vitro_box_findings findings = wait_for(box);
    CHECK_TEXT(findings.output, "1767225610\n1767225620\n");
    CHECK_INT(findings.virtual_ns, 20 * SECOND);
    CHECK_INT(findings.jumps, 2);
}

TEST(setting_the_wall_clock_leaves_durations_alone)
{
    CLEANUP(vitro_box_free_)
    vitro_box *box =
        spawn_shell("sleep 10; date +%s", (struct vitro_box_options){.clock = "manual"});
    struct vitro_box_error error = {0};
    struct vitro_box_pending due = {0};

    CHECK_OK(vitro_box_clock_advance(box, 0, NULL, &error), error);
    CHECK_OK(vitro_box_clock_set(box, 1000 * SECOND, &error), error);
    CHECK_INT(vitro_box_clock_pending(box, &due, 1, &error), 1);
    CHECK_INT(due.in_ns, 10 * SECOND);
    CHECK_OK(vitro_box_clock_advance(box, 10 * SECOND, NULL, &error), error);
    CHECK_TEXT(wait_for(box).output, "1010\n");
}

TEST(pending_counts_all_and_fills_no_more_than_asked_for)
{
    CLEANUP(vitro_box_free_)
    vitro_box *box = spawn_shell("sleep 3 & sleep 1 & sleep 2 & wait",
                                 (struct vitro_box_options){.clock = "manual"});
    struct vitro_box_error error = {0};
    struct vitro_box_pending due[3] = {{0}, {0}, {.in_ns = 77}};

    CHECK_OK(vitro_box_clock_advance(box, 0, NULL, &error), error);
    CHECK_INT(vitro_box_clock_pending(box, due, 2, &error), 3);
    CHECK_INT(due[0].in_ns, 1 * SECOND);
    CHECK_TEXT(due[0].who, "1.2 (sleep)");
    CHECK_INT(due[1].in_ns, 2 * SECOND);
    CHECK_INT(due[2].in_ns, 77);
}

TEST(a_clock_that_is_not_manual_cannot_be_moved)
{
    struct vitro_box_error error = {0};
    int pipes[2];

    CHECK_INT(pipe2(pipes, O_CLOEXEC), 0);
    CLEANUP(vitro_box_free_)
    vitro_box *box =
        spawn_shell("read line; echo $line", (struct vitro_box_options){.stdio = {pipes[0]}});
    CHECK_INT(vitro_box_clock_advance(box, SECOND, NULL, &error), -EINVAL);
    CHECK_HAS(error.text, "not manual");
    CHECK_INT(write(pipes[1], "hello\n", 6), 6);
    CHECK_TEXT(wait_for(box).output, "hello\n");
    (void)close(pipes[0]);
    (void)close(pipes[1]);
}

TEST(a_killed_box_says_so_and_its_clock_is_out_of_reach)
{
    CLEANUP(vitro_box_free_)
    vitro_box *box = spawn_shell("echo before; sleep 100; echo after",
                                 (struct vitro_box_options){.clock = "manual"});
    struct vitro_box_error error = {0};
    int64_t now = 0;

    CHECK_OK(vitro_box_clock_advance(box, 0, NULL, &error), error);
    vitro_box_kill(box);
    struct vitro_box_findings findings = wait_for(box);
    CHECK_INT(findings.outcome, VITRO_BOX_KILLED);
    CHECK_INT(findings.exit_code, 137);
    CHECK_TEXT(findings.text, "killed by its caller");
    CHECK_TEXT(findings.output, "before\n");
    CHECK_INT(vitro_box_clock_now(box, &now, &error), -ESRCH);
    CHECK_TEXT(error.text, "the box has ended");
    vitro_box_kill(box); /* nothing happens */
}

TEST(a_guest_that_computes_can_be_killed)
{
    int pipes[2];
    char byte;

    CHECK_INT(pipe2(pipes, O_CLOEXEC), 0);
    CLEANUP(vitro_box_free_)
    vitro_box *box = spawn_shell("echo >&0; while :; do :; done",
                                 (struct vitro_box_options){.stdio = {pipes[1]}});
    CHECK_INT(read(pipes[0], &byte, 1), 1);
    vitro_box_kill(box);
    CHECK_INT(wait_for(box).outcome, VITRO_BOX_KILLED);
    (void)close(pipes[0]);
    (void)close(pipes[1]);
}

TEST(freeing_a_box_that_runs_ends_it_and_leaves_no_child)
{
    vitro_box *box = spawn_shell("sleep 100", (struct vitro_box_options){.clock = "manual"});

    vitro_box_free(box);
    CHECK_INT(waitpid(-1, NULL, WNOHANG), -1);
    CHECK_INT(errno, ECHILD);
    vitro_box_free(NULL);
}

TEST(the_callers_signal_mask_is_left_alone)
{
    sigset_t before, during, after;

    sigprocmask(SIG_SETMASK, NULL, &before);
    CLEANUP(vitro_box_free_)
    vitro_box *box = spawn_shell("sleep 1", (struct vitro_box_options){0});
    sigprocmask(SIG_SETMASK, NULL, &during);
    (void)wait_for(box);
    sigprocmask(SIG_SETMASK, NULL, &after);
    for (int i = 1; i < 32; i++) {
        CHECK_INT(sigismember(&during, i), sigismember(&before, i));
        CHECK_INT(sigismember(&after, i), sigismember(&before, i));
    }
}

TEST(a_pipe_of_the_callers_ends_although_a_box_runs)
{
    int pipes[2];
    char byte;

    CHECK_INT(pipe2(pipes, O_CLOEXEC), 0);
    CLEANUP(vitro_box_free_)
    vitro_box *box = spawn_shell("sleep 1", (struct vitro_box_options){.clock = "manual"});
    struct vitro_box_error error = {0};
    CHECK_OK(vitro_box_clock_advance(box, 0, NULL, &error), error);
    (void)close(pipes[1]);
    CHECK_INT(read(pipes[0], &byte, 1), 0); /* the supervisor does not hold it open */
    (void)close(pipes[0]);
}

TEST(boxes_run_side_by_side_with_clocks_of_their_own)
{
    CLEANUP(vitro_box_free_)
    vitro_box *a = spawn_shell("sleep 5; date +%s", (struct vitro_box_options){.clock = "manual"});
    CLEANUP(vitro_box_free_)
    vitro_box *b =
        spawn_shell("sleep 5; date +%s", (struct vitro_box_options){.clock = "@1000,manual"});
    struct vitro_box_error error = {0};
    int64_t now = 0;

    CHECK_OK(vitro_box_clock_advance(a, 3 * SECOND, NULL, &error), error);
    CHECK_OK(vitro_box_clock_now(b, &now, &error), error);
    CHECK_INT(now, 1000 * SECOND);
    CHECK_OK(vitro_box_clock_advance(b, 5 * SECOND, NULL, &error), error);
    CHECK_TEXT(wait_for(b).output, "1005\n");
    CHECK_OK(vitro_box_clock_advance(a, 2 * SECOND, NULL, &error), error);
    CHECK_TEXT(wait_for(a).output, "1767225605\n");
}

TEST(more_output_than_a_pipe_holds_is_captured_whole)
{
    CLEANUP(vitro_box_free_)
    vitro_box *box = spawn_shell("seq 100000", (struct vitro_box_options){0});
    struct vitro_box_findings findings = wait_for(box);

    CHECK_INT(findings.output_length, 588895);
    CHECK_TEXT(findings.output + findings.output_length - 7, "100000\n");
}

TEST(the_fd_of_a_box_is_readable_when_it_has_ended)
{
    CLEANUP(vitro_box_free_)
    vitro_box *box = spawn_shell("sleep 3600", (struct vitro_box_options){0});
    struct pollfd fd = {.fd = vitro_box_fd(box), .events = POLLIN};

    CHECK_INT(poll(&fd, 1, -1), 1);
    CHECK_INT(wait_for(box).virtual_ns, 3600 * SECOND);
}

TEST(leaks_are_told_and_allowed)
{
    for (int allowed = 0; allowed < 2; allowed++) {
        CLEANUP(vitro_box_free_)
        vitro_box *box = spawn_shell("cat /proc/timer_list /proc/timer_list >/dev/null",
                                     (struct vitro_box_options){.allow_leak = allowed});
        struct vitro_box_findings findings = wait_for(box);
        CHECK_INT(findings.exit_code, allowed ? 0 : 121);
        CHECK_INT(findings.leak_count, 1);
        CHECK_TEXT(findings.leaks[0].capability, "proc/timer_list");
        CHECK_TEXT(findings.leaks[0].process, "1.1 (cat)");
        CHECK_INT(findings.leaks[0].count, 2);
    }
}

TEST(a_deadlock_is_found_and_described)
{
    CLEANUP(vitro_box_free_)
    vitro_box *box = spawn_shell("mkfifo p; cat p", (struct vitro_box_options){0});
    struct vitro_box_findings findings = wait_for(box);

    CHECK_INT(findings.outcome, VITRO_BOX_DEADLOCK);
    CHECK_INT(findings.exit_code, 123);
    CHECK_HAS(findings.text, "1.2 (cat): waits in openat");
}

TEST(writes_stay_in_memory_unless_files_are_real)
{
    static const char *const modes[] = {NULL, "overlay", "ro", "real"};
    CLEANUP(mem_free) char *directory = mem_dup(tmp_path("work"));
    struct err err = {0};

    CHECK_OK(dir_make_all(directory, &err), err);
    CLEANUP(mem_free) char *file = mem_format("%s/file", directory);
    for (size_t i = 0; i < ARRAY_LENGTH(modes); i++) {
        CLEANUP(vitro_box_free_)
        vitro_box *box =
            spawn_shell("(echo text >file) 2>/dev/null; cat file 2>/dev/null; exit 0",
                        (struct vitro_box_options){
                            .fs = modes[i], .directory = directory, .worktree = directory});
        struct vitro_box_findings findings = wait_for(box);
        CHECK_TEXT(findings.output, i == 2 ? "" : "text\n");
        CHECK_INT(findings.files_changed, i < 2);
        CHECK_TRUE(file_exists(file) == (i == 3));
    }
}

TEST(what_cannot_be_started_is_told_by_wait)
{
    static const char *const argv[] = {"/no/such/program", NULL};
    CLEANUP(vitro_box_free_)
    vitro_box *box = spawn(&(struct vitro_box_options){.argv = argv});
    struct vitro_box_findings findings = wait_for(box);

    CHECK_INT(findings.outcome, VITRO_BOX_NOT_FOUND);
    CHECK_INT(findings.exit_code, 127);
    CHECK_HAS(findings.text, "/no/such/program");
    CHECK_TEXT(findings.output, "");
}

TEST(options_that_make_no_sense_are_refused_with_words)
{
    static const char *const argv[] = {"true", NULL}, *const nothing[] = {NULL};
    struct vitro_box_error error = {0};

    CHECK_TRUE(
        !vitro_box_spawn(&(struct vitro_box_options){.argv = argv, .clock = "noon"}, &error));
    CHECK_INT(error.code, -EINVAL);
    CHECK_HAS(error.text, "'noon' is not a clock");
    CHECK_TRUE(!vitro_box_spawn(&(struct vitro_box_options){.argv = argv, .fs = "rw"}, &error));
    CHECK_HAS(error.text, "'rw' is not a mode of files\nhint: write overlay, ro or real");
    CHECK_TRUE(!vitro_box_spawn(&(struct vitro_box_options){.argv = nothing}, &error));
    CHECK_HAS(error.text, "name is empty");
    CHECK_TRUE(!vitro_box_spawn(&(struct vitro_box_options){0}, NULL));
}

TEST(budgets_environment_directory_and_seed_reach_the_box)
{
    static const char *const envp[] = {"PATH=/usr/bin:/bin", "WORD=here", NULL};
    CLEANUP(vitro_box_free_)
    vitro_box *box =
        spawn_shell("pwd; echo $WORD; while :; do sleep 60; done",
                    (struct vitro_box_options){
                        .envp = envp, .directory = "/", .seed = 9, .max_time_ns = 3600 * SECOND});
    struct vitro_box_findings findings = wait_for(box);

    CHECK_INT(findings.exit_code, 124);
    CHECK_TEXT(findings.output, "/\nhere\n");
    CHECK_INT(findings.seed, 9);
    CHECK_INT(findings.virtual_ns, 3600 * SECOND);
}

TEST(writable_directories_reach_the_disk_and_hidden_ones_are_empty)
{
    const char *kept = tmp_path("kept"), *hidden = tmp_path("hidden");
    CHECK_OK(dir_make_all(kept, NULL), (struct err){0});
    CHECK_OK(dir_make_all(hidden, NULL), (struct err){0});
    CLEANUP(mem_free) char *note = mem_format("%s/note", kept);
    CLEANUP(mem_free) char *secret = mem_format("%s/secret", hidden);
    CHECK_OK(file_write(secret, "x", 1, NULL), (struct err){0});
    CLEANUP(mem_free) char *script = mem_format("echo here >%s; ls %s", note, hidden);
    CLEANUP(vitro_box_free_)
    vitro_box *box = spawn_shell(
        script, (struct vitro_box_options){.share_tmp = 1,
                                           .writable = (const char *const[]){kept, NULL},
                                           .hide = (const char *const[]){hidden, NULL}});
    struct vitro_box_findings findings = wait_for(box);
    CLEANUP(buf_done) struct buf text = {0};

    CHECK_INT(findings.exit_code, 0);
    CHECK_TEXT(findings.output, "");
    CHECK_OK(file_read(note, 100, &text, NULL), (struct err){0});
    CHECK_TEXT(buf_text(&text), "here\n");
}

TEST(a_program_is_looked_for_in_the_path_that_the_box_is_given)
{
    const char *program = tmp_file("only-here", "#!/bin/sh\necho found\n");
    CLEANUP(mem_free) char *directory = mem_dupn(program, strlen(program) - strlen("/only-here"));
    CLEANUP(mem_free) char *path = mem_format("PATH=%s:/usr/bin:/bin", directory);
    const char *envp[] = {path, NULL}, *argv[] = {"only-here", NULL};
    struct vitro_box_options options = {
        .argv = argv, .envp = envp, .capture_output = 1, .share_tmp = 1};

    CHECK_INT(chmod(program, 0755), 0);
    CLEANUP(vitro_box_free_) vitro_box *box = spawn(&options);
    CHECK_TEXT(wait_for(box).output, "found\n");
}

TEST(what_a_program_calls_is_recorded_once_and_played_after)
{
    const char *path = tmp_path("tools.tape"), *record = tmp_path("bundle");
    const struct vitro_cassette_options cassette = {.path = path, .record_in_ci = 1};
    struct vitro_box_options options = {.cassette = &cassette, .record = record};

    for (int i = 0; i < 3; i++) {
        CLEANUP(vitro_box_free_) vitro_box *box = spawn_shell("seq 3 | tr 3 4; :", options);
        struct vitro_box_findings findings = wait_for(box);
        CHECK_INT(findings.exit_code, 0);
        CHECK_TEXT(findings.output, "1\n2\n4\n");
        CHECK_INT(findings.recorded, i ? 0 : 2);
        CHECK_INT(findings.played, i ? 2 : 0);
        CHECK_INT(access(path, F_OK), 0);
        CHECK_INT(access(record, F_OK), 0);
        options.record = NULL;
    }
    CLEANUP(vitro_box_free_) vitro_box *box = spawn_shell("seq 4; :", options);
    struct vitro_box_findings findings = wait_for(box);
    CHECK_INT(findings.exit_code, 122);
    CHECK_INT(findings.misses, 1);
    CHECK_INT(findings.unused, 2);
    CHECK_HAS(findings.subprocesses, "seq 4");
}

TEST(cassettes_of_a_box_that_cannot_be_are_said)
{
    struct vitro_box_error error = {0};
    const char *argv[] = {"true", NULL};
    struct vitro_cassette_options cassette = {.path = tmp_path("none"), .mode = "none"};
    struct vitro_box_options options = {.argv = argv, .cassette = &cassette};

    CHECK_TRUE(!vitro_box_spawn(&options, &error));
    CHECK_HAS(error.text, "needs a recording");
    cassette.mode = "nune";
    CHECK_TRUE(!vitro_box_spawn(&options, &error));
    CHECK_HAS(error.text, "hint: write none");
    cassette = (struct vitro_cassette_options){0};
    CHECK_TRUE(!vitro_box_spawn(&options, &error));
    CHECK_HAS(error.text, "needs a path");
}

TEST(no_box_no_crash)
{
    struct vitro_box_error error = {0};
    struct vitro_box_pending pending;

    CHECK_TRUE(!vitro_box_spawn(NULL, &error));
    CHECK_HAS(error.text, "the program's name is empty");
    CHECK_INT(vitro_box_wait(NULL, NULL, &error), -EINVAL);
    CHECK_HAS(error.text, "there is no box");
    CHECK_HAS(error.text, "vitro_box_spawn");
    CHECK_INT(vitro_box_clock_now(NULL, NULL, NULL), -EINVAL);
    CHECK_INT(vitro_box_clock_advance(NULL, 1, NULL, NULL), -EINVAL);
    CHECK_INT(vitro_box_clock_set(NULL, 1, NULL), -EINVAL);
    CHECK_INT(vitro_box_clock_pending(NULL, &pending, 1, NULL), -EINVAL);
    CHECK_INT(vitro_box_fd(NULL), -1);
    vitro_box_kill(NULL);
    static const char *const argv[] = {"true", NULL};
    CLEANUP(vitro_box_free_) vitro_box *box = spawn(&(struct vitro_box_options){.argv = argv});
    CHECK_OK(vitro_box_wait(box, NULL, &error), error); /* who does not want to know */
}
