/* SPDX-License-Identifier: MIT */
/* From a fixture and its sidecars to a box: the clock stands at 2026-01-01 unless the sidecar says
 * otherwise, the environment is made from nothing, writes stay in memory. */
#include "conform/conform_internal.h"
#include "base/fd.h"
#include "base/text.h"
#include "base/when.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { OUTPUT_MAX = 256 << 20 };
#define TIMEOUT_NS (60 * NS_PER_SEC)

void conform_fail(struct conform_run *run, const char *format, ...)
{
    struct buf *text = &run->result.text;
    va_list args;

    run->result.status = CONFORM_FAILED;
    va_start(args, format);
    buf_addv(text, format, args);
    va_end(args);
    if (text->length && text->data[text->length - 1] != '\n')
        buf_addc(text, '\n');
}

bool conform_has(const struct conform_fixture *fixture, enum conform_sidecar which)
{
    return fixture->has & 1u << which;
}

/* ---- fixtures that do not run */

static bool refuse(struct conform_run *run)
{
    const struct conform_fixture *fixture = run->fixture;

    for (size_t i = 0; i < CONFORM_SIDECARS; i++)
        if (conform_has(fixture, i) && !conform_sidecars[i].is_built)
            conform_fail(run, "%s%s: %s: sidecars of this kind are not built yet", fixture->stem,
                         conform_sidecars[i].suffix, conform_sidecars[i].help);
    if (fixture->is_twice)
        conform_fail(run, "two programs: '%s' and '%s'", fixture->program, fixture->other);
    if (!fixture->program) {
        conform_fail(run, "there is no program for these sidecars");
        if (fixture->other)
            conform_fail(run, "hint: '%s' cannot be executed: chmod +x", fixture->other);
    }
    if (fixture->misspelt)
        conform_fail(run,
                     "'%s' is nearly the name of a sidecar, and none\nhint: vitro conform --list "
                     "tells what is seen",
                     fixture->misspelt);
    if (run->result.status == CONFORM_FAILED)
        return true;
    if (!fixture->has) {
        run->result.status = CONFORM_SKIPPED;
        buf_adds(&run->result.text, "nothing stands beside it");
    }
    return !fixture->has;
}

/* ---- what the sidecar gives a program that knows nothing of it */

static void add_env(struct conform_run *run, const char **env, size_t *count, const char *name,
                    const char *value)
{
    CLEANUP(mem_free) char *text = value ? mem_format("%s=%s", name, value) : NULL;
    size_t length = strlen(name);

    for (size_t i = 0; i < *count; i++)
        if (strncmp(env[i], name, length) == 0 && env[i][length] == '=')
            env[i] = env[--*count];
    if (text)
        env[(*count)++] = arena_dup(&run->arena, text, strlen(text));
}

static void give_env(struct conform_run *run)
{
    static const char *const kept[] = {"PATH", "LD_LIBRARY_PATH", "ASAN_OPTIONS", "LSAN_OPTIONS"};
    const char **env =
        arena_alloc(&run->arena, (json_object_size(run->harness.env) + 16) * sizeof *env);
    size_t count = 0;
    const char *name;
    json_t *value;

    for (size_t i = 0; i < ARRAY_LENGTH(kept); i++)
        add_env(run, env, &count, kept[i], getenv(kept[i]));
    add_env(run, env, &count, "HOME", "/");
    add_env(run, env, &count, "LANG", "C.UTF-8");
    json_object_foreach((json_t *)run->harness.env, name, value)
        add_env(run, env, &count, name, json_string_value(value));
    run->box.envp = env;
}

/* Where a program that takes its host finds the sidecar, and tells its calls. */
static void give_harness(struct conform_run *run)
{
    const char **env = arena_alloc(&run->arena, 3 * sizeof *env);
    CLEANUP(mem_free) char *beside =
        mem_format("%s%s.harness.json", conform_has(run->fixture, CONFORM_FS_OVERLAY) ? "../" : "",
                   run->fixture->stem);
    size_t count = 0;

    add_env(run, env, &count, HARNESS_VARIABLE, beside);
    add_env(run, env, &count, HARNESS_REPORT_VARIABLE, run->report);
    run->box.add_env = env;
}

static void give_files(struct conform_run *run)
{
    size_t count = 0;
    struct fs_file *files =
        arena_alloc(&run->arena, (json_object_size(run->harness.fs_reads) + 1) * sizeof *files);
    const char *path;
    json_t *value;

    json_object_foreach((json_t *)run->harness.fs_reads, path, value)
    {
        CLEANUP(mem_free) char *bytes = NULL;
        CLEANUP(mem_free) char *whole =
            *path == '/' ? mem_dup(path) : mem_format("%s/%s", run->box.directory, path);
        size_t length;
        harness_bytes(value, &bytes, &length);
        files[count++] = (struct fs_file){.path = arena_dup(&run->arena, whole, strlen(whole)),
                                          .bytes = arena_dup(&run->arena, bytes, length),
                                          .length = length};
    }
    run->box.fs.files = files;
    run->box.fs.file_count = count;
}

static int memory_file(const char *name)
{
    return fd_raise(memfd_create(name, MFD_CLOEXEC), STDERR_FILENO + 1);
}

static int give_streams(struct conform_run *run, struct err *err)
{
    for (int i = 0; i < 3; i++) {
        run->stdio[i] = memory_file(i ? "output" : "input");
        if (run->stdio[i] < 0)
            return err_set(err, -errno, "make a memory file: %m");
        if (i)
            (void)fcntl(run->stdio[i], F_SETFL, O_APPEND);
    }
    CLEANUP(buf_done) struct buf lines = {0};
    for (size_t i = 0; i < json_array_size(run->harness.stdin_lines); i++)
        buf_addf(&lines, "%s\n", json_string_value(json_array_get(run->harness.stdin_lines, i)));
    int r = fd_write_full(run->stdio[0], buf_text(&lines), lines.length);
    (void)lseek(run->stdio[0], 0, SEEK_SET);
    memcpy(run->box.stdio, run->stdio, sizeof run->box.stdio);
    return r;
}

static int read_harness(struct conform_run *run)
{
    CLEANUP(mem_free) char *path = conform_path(run->fixture, CONFORM_HARNESS);
    CLEANUP(mem_free) char *shown = mem_format("%s.harness.json", run->fixture->stem);
    CLEANUP(buf_done) struct buf text = {0};
    struct err err = {0};
    int r = file_read(path, HARNESS_BYTES_MAX, &text, &err);

    if (r == 0)
        r = harness_parse(buf_text(&text), text.length, shown, &run->harness, &err);
    if (r < 0)
        conform_fail(run, "%s", err.text);
    return r;
}

/* ---- the box */

static int make_scratch(struct conform_run *run, struct err *err)
{
    int r = scratch_make(NULL, "conform", &run->scratch, err);

    if (r < 0)
        return r;
    run->bundle = mem_format("%s/bundle", run->scratch.path);
    run->report_dir = mem_format("%s/calls", run->scratch.path);
    run->report = mem_format("%s/report", run->report_dir);
    return dir_make_all(run->report_dir, err);
}

static void plan(struct conform_run *run)
{
    const struct conform_fixture *fixture = run->fixture;
    struct box_options *box = &run->box;
    const char **argv = arena_alloc(&run->arena, 2 * sizeof *argv);
    const char **writable = arena_alloc(&run->arena, 2 * sizeof *writable);
    bool overlay = conform_has(fixture, CONFORM_FS_OVERLAY);
    CLEANUP(mem_free) char *where =
        overlay ? conform_path(fixture, CONFORM_FS_OVERLAY) : mem_dup(fixture->directory);
    CLEANUP(mem_free) char *program = mem_format("%s/%s", overlay ? ".." : ".", fixture->program);

    argv[0] = arena_dup(&run->arena, program, strlen(program));
    box->argv = argv;
    box->directory = arena_dup(&run->arena, where, strlen(where));
    box->fs.worktree = box->directory;
    box->fs.share_tmp = text_starts(where, "/tmp/");
    writable[0] = run->harness.path ? run->report_dir : NULL;
    box->fs.writable = writable;
    box->record = run->bundle;
    box->timeout_ns = run->options->timeout_ns ? run->options->timeout_ns : TIMEOUT_NS;
    box->seed = run->options->seed;
    box->wait_for_cpu = conform_has(fixture, CONFORM_TAPE); /* every record counts */
    if (run->harness.has_clock) {
        box->clock.start_ns = run->harness.clock_at_unix_ms * (int64_t)NS_PER_MS;
        box->clock.start_given = true;
    }
    if (json_array_size(run->harness.random_u64))
        box->seed = (uint64_t)json_integer_value(json_array_get(run->harness.random_u64, 0));
    if (conform_has(fixture, CONFORM_PROCESS_TAPE)) {
        CLEANUP(mem_free) char *tape = conform_path(fixture, CONFORM_PROCESS_TAPE);
        box->proc.cassette = arena_dup(&run->arena, tape, strlen(tape));
        box->proc.mode = PROC_REPLAY;
    }
    give_env(run);
    give_files(run);
    if (run->harness.path)
        give_harness(run);
}

int conform_begin(struct conform_run *run, const struct conform_fixture *fixture,
                  const struct conform_options *options, struct err *err)
{
    struct err own = {0};

    *run = (struct conform_run){
        .fixture = fixture, .options = options, .stdio = {-1, -1, -1}, .result = {.exit_code = -1}};
    if (refuse(run) || (conform_has(fixture, CONFORM_HARNESS) && read_harness(run) < 0))
        return 0;
    int r = make_scratch(run, err);
    if (r < 0)
        return r;
    plan(run);
    r = give_streams(run, err);
    if (r < 0)
        return r;
    r = box_spawn(&run->box, &run->child, &own);
    if (r < 0) {
        conform_fail(run, "%s", own.text);
        return 0;
    }
    run->started = true;
    return 1;
}

static void take_output(struct conform_run *run)
{
    struct buf *const to[] = {&run->output, &run->errors};

    for (int i = 0; i < 2; i++) {
        (void)lseek(run->stdio[i + 1], 0, SEEK_SET);
        if (fd_read_all(run->stdio[i + 1], to[i], OUTPUT_MAX) < 0)
            conform_fail(run, "it printed more than %d bytes", OUTPUT_MAX);
    }
}

void conform_end(struct conform_run *run)
{
    struct err err = {0};

    run->started = false;
    if (box_wait(&run->child, &run->findings, &err) < 0) {
        conform_fail(run, "%s", err.text);
        return;
    }
    run->result.virtual_ns = run->findings.virtual_ns;
    take_output(run);
    conform_check(run);
}

void conform_result_done(struct conform_result *result)
{
    buf_done(&result->text);
    buf_done(&result->updated);
}

void conform_run_done(struct conform_run *run)
{
    if (run->started) {
        box_kill(&run->child);
        (void)box_wait(&run->child, &run->findings, NULL);
    }
    scratch_remove(&run->scratch);
    free(run->bundle);
    free(run->report);
    free(run->report_dir);
    for (int i = 0; i < 3; i++)
        fd_close(run->stdio[i]);
    buf_done(&run->output);
    buf_done(&run->errors);
    harness_done(&run->harness);
    arena_done(&run->arena);
    conform_result_done(&run->result);
    *run = (struct conform_run){.stdio = {-1, -1, -1}};
}
