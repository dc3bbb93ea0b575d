/* SPDX-License-Identifier: MIT */
/* Programs that any code starts, in any way, under a bench with a cassette: recorded with real
 * ones, then played where they do not exist. */
#include "lib/check.h"
#include "vitro/bench.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static struct vitro_bench_error error;
static char tool[4200];

/* A program of our own, which is taken away before it is played. */
static void tool_make(void)
{
    (void)snprintf(tool, sizeof tool, "%s",
                   tmp_file("tool", "#!/bin/sh\n"
                                    "case $1 in\n"
                                    "up) tr a-z A-Z ;;\n"
                                    "die) kill -TERM $$ ;;\n"
                                    "*) echo \"tool $*\"; echo oops >&2; exit 3 ;;\n"
                                    "esac\n"));
    CHECK_INT(chmod(tool, 0755), 0);
}

static void out_of(FILE *file, struct buf *story)
{
    char text[256];
    size_t length = fread(text, 1, sizeof text, file);

    buf_add(story, text, length);
}

/* Every way to start a program; what came of each. */
static void start_programs(struct buf *story)
{
    char command[4300];
    int ends[2], status;
    pid_t pid;

    (void)snprintf(command, sizeof command, "%s one 2>/dev/null", tool);
    FILE *file = popen(command, "r");
    CHECK_TRUE(file != NULL);
    out_of(file, story);
    buf_addf(story, "popen %d\n", WEXITSTATUS(pclose(file)));

    (void)snprintf(command, sizeof command, "exit 5");
    buf_addf(story, "system %d\n", WEXITSTATUS(system(command)));

    CHECK_INT(pipe2(ends, O_CLOEXEC), 0);
    pid = fork();
    if (pid == 0) {
        (void)dup2(ends[1], 1);
        (void)dup2(ends[1], 2);
        (void)execl(tool, "tool", "two", (char *)NULL);
        _exit(99);
    }
    (void)close(ends[1]);
    file = fdopen(ends[0], "r");
    out_of(file, story);
    (void)fclose(file);
    CHECK_INT(waitpid(pid, &status, 0), pid);
    buf_addf(story, "fork %d\n", WEXITSTATUS(status));

    char *argv[] = {tool, "up", NULL};
    posix_spawn_file_actions_t actions;
    int in[2];
    CHECK_INT(pipe2(ends, O_CLOEXEC), 0);
    CHECK_INT(pipe2(in, O_CLOEXEC), 0);
    CHECK_INT(posix_spawn_file_actions_init(&actions), 0);
    CHECK_INT(posix_spawn_file_actions_adddup2(&actions, in[0], 0), 0);
    CHECK_INT(posix_spawn_file_actions_adddup2(&actions, ends[1], 1), 0);
    CHECK_INT(posix_spawn(&pid, tool, &actions, NULL, argv, environ), 0);
    (void)posix_spawn_file_actions_destroy(&actions);
    (void)close(in[0]);
    (void)close(ends[1]);
    CHECK_INT(write(in[1], "shout\n", 6), 6);
    (void)close(in[1]);
    file = fdopen(ends[0], "r");
    out_of(file, story);
    (void)fclose(file);
    CHECK_INT(waitpid(pid, &status, 0), pid);
    buf_addf(story, "spawn %d\n", WEXITSTATUS(status));

    argv[1] = "die";
    pid = vfork(); /* NOLINT: what it is about */
    if (pid == 0) {
        (void)execv(tool, argv);
        _exit(99);
    }
    CHECK_INT(waitpid(pid, &status, 0), pid);
    buf_addf(story, "vfork signal %d\n", WIFSIGNALED(status) ? WTERMSIG(status) : status);
}

#define STORY                                                                                      \
    "tool one\npopen 3\nsystem 5\ntool two\noops\nfork 3\nSHOUT\nspawn 0\nvfork signal 15\n"

TEST(programs_are_recorded_however_they_are_started_and_play_without_being_there)
{
    const char *tape = tmp_path("programs.tape");
    struct vitro_bench_findings found;

    tool_make();
    for (int plays = 0; plays < 2; plays++) {
        CLEANUP(buf_done) struct buf story = {0};
        struct vitro_bench_options options = {.clock = "2026-01-01"};
        *(plays ? &options.proc_replay : &options.proc_record) = tape;
        if (plays)
            CHECK_INT(unlink(tool), 0);
        vitro_bench *bench = vitro_bench_activate(&options, &error);
        if (!bench)
            check_fail(__FILE__, __LINE__, "%s", error.text);
        CHECK_TEXT(vitro_bench_proc_mode(bench), plays ? "replay" : "record");
        start_programs(&story);
        CHECK_TEXT(buf_text(&story), STORY);
        CHECK_OK(vitro_bench_finalize(bench, &found, &error), error);
        CHECK_INT(found.recorded, plays ? 0 : 5);
        CHECK_INT(found.program_count, 5);
        for (size_t i = 0; i < found.program_count; i++)
            CHECK_INT(found.programs[i].played, plays);
        CHECK_TEXT(found.programs[0].program, "sh");
        CHECK_TEXT(found.programs[2].program, tool);
        CHECK_TEXT(found.programs[2].argv[1], "two");
        CHECK_TRUE(found.programs[2].argv[2] == NULL);
        CHECK_INT(found.programs[2].exit_code, 3);
        CHECK_INT(found.programs[4].exit_code, -1);
        CHECK_INT(found.programs[4].signal, 15);
        if (!plays) /* a program that is played takes its recorded time */
            CHECK_INT(found.programs[4].at_ns, INT64_C(1767225600000000000));
        vitro_bench_findings_done(&found);
    }
}

TEST(without_a_cassette_programs_are_real)
{
    CLEANUP(buf_done) struct buf story = {0};

    tool_make();
    VITRO_BENCH bench =
        vitro_bench_activate((&(struct vitro_bench_options){.clock = "2026-01-01"}), &error);
    start_programs(&story);
    CHECK_TEXT(buf_text(&story), STORY);
}

TEST(the_recorded_time_passes_on_the_benchs_clock)
{
    const char *tape = tmp_file("slow.json", "[{\"program\":\"sh\",\"args\":[\"-c\",\"backup\"],"
                                             "\"stdout\":\"done\\n\",\"duration_ms\":3600000}]");
    VITRO_BENCH bench = vitro_bench_activate(
        (&(struct vitro_bench_options){.clock = "2026-01-01", .proc_replay = tape}), &error);
    char line[16] = "";

    if (!bench)
        check_fail(__FILE__, __LINE__, "%s", error.text);
    FILE *file = popen("backup", "r");
    CHECK_TRUE(fgets(line, sizeof line, file) != NULL);
    CHECK_TEXT(line, "done\n");
    CHECK_INT(pclose(file), 0);
    CHECK_INT(time(NULL), 1767225600 + 3600);
}

/* When the other end of a pipe that the child of a fork has is closed, in seconds. */
static long closed_at(int flags)
{
    const char *tape = tmp_file("slow.json", "[{\"program\":\"backup\",\"args\":[],"
                                             "\"duration_ms\":3600000}]");
    VITRO_BENCH bench = vitro_bench_activate(
        (&(struct vitro_bench_options){.clock = "2026-01-01", .proc_replay = tape}), &error);
    int ends[2], status = -1;
    char byte;

    CHECK_INT(pipe2(ends, flags), 0);
    pid_t pid = fork();
    if (pid == 0) {
        (void)execlp("backup", "backup", (char *)NULL);
        _exit(99);
    }
    (void)close(ends[1]);
    CHECK_INT(read(ends[0], &byte, 1), 0);
    long at = (long)time(NULL) - 1767225600;
    (void)close(ends[0]);
    CHECK_INT(waitpid(pid, &status, 0), pid);
    CHECK_INT(status, 0);
    CHECK_INT(time(NULL), 1767225600 + 3600);
    return at;
}

TEST(a_program_has_what_it_inherits_until_it_ends_and_nothing_that_exec_closes)
{
    CHECK_INT(closed_at(0), 3600);
    CHECK_INT(closed_at(O_CLOEXEC), 0);
}

/* The child has the writing end of its own standard input, until it becomes the program. */
TEST(a_program_reads_to_the_end_of_a_pipe_that_its_process_had_both_ends_of)
{
    VITRO_BENCH bench = vitro_bench_activate(
        (&(struct vitro_bench_options){.proc_record = tmp_path("cat.tape")}), &error);
    int in[2], status = -1;

    CHECK_INT(pipe2(in, O_CLOEXEC), 0);
    pid_t pid = fork();
    if (pid == 0) {
        (void)dup2(in[0], 0);
        (void)execlp("grep", "grep", "-q", "^shout$", (char *)NULL);
        _exit(99);
    }
    (void)close(in[0]);
    CHECK_INT(write(in[1], "shout\n", 6), 6);
    (void)close(in[1]);
    CHECK_INT(waitpid(pid, &status, 0), pid);
    CHECK_INT(status, 0);
}

TEST(calls_without_a_recording_and_recordings_without_a_call_are_found)
{
    const char *tape = tmp_file("one.json", "[{\"program\":\"git\",\"args\":[\"status\"]}]");
    struct vitro_bench_options options = {.proc_replay = tape};
    struct vitro_bench_findings found;
    vitro_bench *bench = vitro_bench_activate(&options, &error);

    CHECK_INT(WEXITSTATUS(system("rm -rf /")), 127);
    CHECK_INT(WEXITSTATUS(system("shutdown")), 127);
    CHECK_INT(vitro_bench_finalize(bench, &found, &error), -EUCLEAN);
    CHECK_INT(found.unmatched_count, 2);
    CHECK_HAS(found.unmatched[0], "no recording answers 'sh'\n");
    CHECK_HAS(found.unmatched[0], "rm -rf /");
    CHECK_HAS(found.unmatched[1], "no recording answers 'sh'\n");
    CHECK_HAS(found.unmatched[1], "shutdown");
    CHECK_INT(found.unused_count, 1);
    CHECK_TEXT(found.unused[0], "git status");
    CHECK_INT(found.program_count, 0);
    CHECK_HAS(error.text, "no recording answers 'sh'\nno recording answers 'sh'\n");
    CHECK_HAS(error.text, "nobody asked for git status\n");
    vitro_bench_findings_done(&found);

    bench = vitro_bench_activate(&options, &error);
    CHECK_INT(vitro_bench_finalize(bench, &found, &error), -EUCLEAN);
    CHECK_INT(found.unmatched_count, 0);
    CHECK_INT(found.unused_count, 1);
    CHECK_TEXT(found.unused[0], "git status");
    vitro_bench_findings_done(&found);
}

TEST(a_bench_that_is_dropped_writes_no_cassette)
{
    const char *tape = tmp_path("dropped.tape");
    vitro_bench *bench =
        vitro_bench_activate((&(struct vitro_bench_options){.proc_record = tape}), &error);

    CHECK_INT(system("exit 0"), 0);
    vitro_bench_drop(bench);
    CHECK_TRUE(access(tape, F_OK) < 0);
}

TEST(the_process_of_a_bench_does_not_become_another_program)
{
    char *argv[] = {"true", NULL};
    VITRO_BENCH bench = vitro_bench_activate(
        (&(struct vitro_bench_options){.proc_record = tmp_path("self.tape")}), &error);

    CHECK_INT(execvp("true", argv), -1);
    CHECK_INT(errno, EPERM);
}
