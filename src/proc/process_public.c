/* SPDX-License-Identifier: MIT */
/* include/vitro/process.h over cassettes: the same matcher and the same files as in a box. */
#include "vitro/process.h"
#include "vitro/clock.h"
#include "base/fd.h"
#include "base/text.h"
#include "base/tool.h"
#include "base/wall.h"
#include "proc/cassette_file.h"
#include "proc/cassette_internal.h"
#include "proc/proc_mode.h"
#include "proc/proc_options.h"
#include "proc/process_files.h"
#include "proc/process_internal.h"
#include "proc/process_run.h"
#include "proc/programs.h"
#include "proc/spool.h"
#include "tape/tape.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CANDIDATES_MAX = 1024, OUTPUT_MAX = 1 << 30 };

int process_tell(const struct err *err, int code, struct vitro_process_error *error)
{
    if (error) {
        error->code = code;
        (void)snprintf(error->text, sizeof error->text, "%s", err->text);
    }
    return code;
}

void process_cassette_done(vitro_cassette *tape)
{
    if (tape->fresh) {
        CLEANUP(mem_free) char *store = store_path_of(tape->fresh);
        (void)unlink(tape->fresh);
        (void)dir_remove_all(store, NULL);
    }
    tape_writer_free(tape->writer);
    programs_free(tape->programs);
    cassette_free(tape->cassette);
    match_rules_done(&tape->words.rules);
    strings_free(tape->env_names);
    buf_done(&tape->report);
    for (size_t i = 0; i < tape->misses; i++)
        free(tape->missed[i]);
    free(tape->missed);
    free(tape->path);
    free(tape->fresh);
    free(tape->worktree);
    free(tape);
}

/* ---- open ---------------------------------------------------------------------------------- */

static bool records(const vitro_cassette *tape)
{
    return tape->words.mode == ASKED_ALL || tape->words.mode == ASKED_REFRESH ||
           tape->words.mode == ASKED_NEW || (tape->words.mode == ASKED_ONCE && !tape->exists) ||
           tape->words.on_miss == PROC_MISS_RECORDS;
}

static int open_writer(vitro_cassette *tape, const struct vitro_cassette_options *options,
                       struct err *err)
{
    const char *ci = getenv("CI");
    struct stat st;

    if (ci && *ci && !options->record_in_ci) {
        err_set(err, -EPERM, "record '%s': recording is refused while CI is set", tape->path);
        return err_hint(err, "record_in_ci allows it");
    }
    if (stat(tape->path, &st) == 0 && S_ISDIR(st.st_mode)) {
        err_set(err, -EISDIR, "record into '%s': bundles are only played here", tape->path);
        return err_hint(err, "'vitro run --record' makes bundles");
    }
    tape->fresh = mem_format("%s.%ld.new", tape->path, (long)getpid());
    return tape_writer_open(&(struct tape_writer_options){.path = tape->fresh,
                                                          .replace = true,
                                                          .sync = TAPE_SYNC_NEVER},
                            &tape->writer, err);
}

static int open_cassette(vitro_cassette *tape, const struct vitro_cassette_options *options,
                         struct err *err)
{
    struct cassette_options how = {.strict_order = options->strict_order,
                                   .max_age_ns = options->max_age_ns,
                                   .now_ns = wall_now_ns()};

    if (!options->path || !*options->path)
        return err_set(err, -EINVAL, "a cassette needs a path");
    int r = cassette_words_read(options, &tape->words, err);
    if (r < 0)
        return r;
    how.view.fields = tape->words.fields;
    tape->path = mem_dup(options->path);
    tape->worktree = realpath(options->worktree ? options->worktree : ".", NULL);
    tape->env_names = strings_copy(options->match_env);
    tape->allow_unused = options->allow_unused;
    tape->apply_files = options->apply_files;
    tape->takes_time = options->takes_time;
    tape->exists = access(tape->path, F_OK) == 0;
    how.view.env_names = (const char *const *)tape->env_names;
    how.view.rules = &tape->words.rules;
    how.worktree = tape->worktree;
    tape->cassette = cassette_new(&how);
    if (!tape->exists && (tape->words.mode == ASKED_NONE || tape->words.mode == ASKED_VERIFY))
        return err_set(err, -ENOENT, "mode '%s' needs a recording, and there is none at '%s'",
                       proc_asked_words[tape->words.mode], tape->path);
    if (tape->exists && tape->words.mode != ASKED_REFRESH && tape->words.mode != ASKED_OFF)
        r = cassette_load(tape->cassette, tape->path, err);
    return r == 0 && records(tape) && tape->words.mode != ASKED_OFF
               ? open_writer(tape, options, err)
               : r;
}

vitro_cassette *vitro_cassette_open(const struct vitro_cassette_options *options,
                                    struct vitro_process_error *error)
{
    static const struct vitro_cassette_options none;

    options = options ? options : &none;
    vitro_cassette *tape = mem_alloc(sizeof *tape);
    struct err err = {0};
    int r = open_cassette(tape, options, &err);

    if (r == 0)
        return tape;
    (void)process_tell(&err, r, error);
    process_cassette_done(tape);
    return NULL;
}

/* ---- run ----------------------------------------------------------------------------------- */

static void fill_result(struct vitro_process_result *result, const struct recording *recording,
                        struct buf *output, struct buf *error)
{
    *result = (struct vitro_process_result){
        .exit_code = recording->signal ? -1 : recording->exit_code,
        .signal = recording->signal,
        .output_length = output->length,
        .error_length = error->length,
    };
    result->output = output->data ? buf_take(output) : mem_dup("");
    result->error_output = error->data ? buf_take(error) : mem_dup("");
}

static int load_stream(const struct recording_bytes *bytes, struct store *store, struct buf *ret,
                       struct err *err)
{
    if (bytes->text)
        buf_add(ret, bytes->text, (size_t)bytes->length);
    else if (bytes->length && !store)
        return err_set(err, -ENOENT, "the recording has no store");
    else if (bytes->length)
        return store_get(store, &bytes->hash, OUTPUT_MAX, ret, err);
    return 0;
}

static int play(vitro_cassette *tape, size_t id, struct vitro_process_result *result,
                struct err *err)
{
    CLEANUP(recording_done) struct recording recording = {0};
    CLEANUP(buf_done) struct buf output = {0};
    CLEANUP(buf_done) struct buf error = {0};
    const struct cassette_entry *entry = cassette_entry(tape->cassette, id);
    int r = cassette_recording(tape->cassette, id, &recording, err);

    if (r == 0)
        r = load_stream(&recording.streams[1], entry->store, &output, err);
    if (r == 0)
        r = load_stream(&recording.streams[2], entry->store, &error, err);
    if (r == 0 && recording.file_count && tape->apply_files)
        r = process_files_apply(&recording, entry->store, tape->worktree, err);
    if (r < 0)
        return err_wrap(err, "play '%s'", recording.program ? recording.program : "?");
    cassette_use(tape->cassette, id);
    fill_result(result, &recording, &output, &error);
    result->duration_ns = (uint64_t)recording.duration_ns;
    result->played = 1;
    if (tape->takes_time && vitro_is_mocked())
        r = vitro_clock_sleep(NULL, recording.duration_ns);
    return r < 0 ? err_set(err, r, "play '%s': its clock was stopped", recording.program) : 0;
}

static bool starts_as_read(const struct cassette_entry *entry,
                           const struct vitro_process_call *call, uint64_t length,
                           const struct secrets *secrets)
{
    CLEANUP(spool_done) struct spool spool = {0};

    if (call->input_length < length || (entry->reads_end && call->input_length != length))
        return false;
    (void)spool_add(&spool, "/tmp", call->input, (size_t)length);
    struct hash digest = spool_digest(&spool, secrets);
    return memcmp(&digest, &entry->input_hash, sizeof digest) == 0;
}

/* What stands on its input is all that it can have read; it may have read less. */
static bool input_fits(const struct cassette_entry *entry, const struct vitro_process_call *call,
                       const struct secrets *secrets)
{
    return !entry->reads_input || starts_as_read(entry, call, entry->input_bytes, secrets) ||
           starts_as_read(entry, call, entry->kept_bytes, secrets);
}

static size_t find(vitro_cassette *tape, const struct call *form,
                   const struct vitro_process_call *call)
{
    size_t ids[CANDIDATES_MAX];
    size_t count = cassette_find(tape->cassette, form, ids, ARRAY_LENGTH(ids));
    unsigned fields = tape->cassette->options.view.fields;
    bool counts = ((fields ? fields : CALL_FIELDS_DEFAULT) & 1u << CALL_STDIN) != 0;

    for (size_t i = 0; i < count; i++)
        if (!counts || input_fits(cassette_entry(tape->cassette, ids[i]), call,
                                  cassette_secrets(tape->cassette)))
            return ids[i];
    return SIZE_MAX;
}

static int put_stream(vitro_cassette *tape, const void *bytes, size_t length, int index,
                      struct recording *recording, struct err *err)
{
    static const enum recording_what whats[] = {RECORDING_IN, RECORDING_OUT, RECORDING_ERR};
    CLEANUP(spool_done) struct spool spool = {0};

    (void)spool_add(&spool, "/tmp", length ? bytes : "", length);
    int r = spool_put(&spool, tape->writer, "/tmp", &recording->streams[index], err);
    if (r == 0 && index && recording->streams[index].length != length)
        recording_fit_events(recording, whats[index], recording->streams[index].length);
    return r;
}

static void set_program(vitro_cassette *tape, const struct vitro_process_call *call,
                        struct recording *recording)
{
    recording->path = tool_find(call->argv[0], NULL, NULL);
    if (!recording->path)
        return;
    if (!tape->programs)
        tape->programs = programs_new();
    CLEANUP(fd_close) int fd = open(recording->path, O_RDONLY | O_CLOEXEC);
    recording_set_program(recording, programs_look(tape->programs, fd, recording->path));
}

static int keep(vitro_cassette *tape, const struct call_forms *forms,
                const struct vitro_process_call *call, struct process_output *output,
                struct err *err)
{
    struct recording *recording = &output->recording;
    CLEANUP(buf_done) struct buf data = {0};
    CLEANUP(buf_done) struct buf host = {0};

    recording->program = mem_dup(forms->program);
    recording->argv = strings_copy((const char *const *)forms->argv);
    recording->cwd = mem_dup(forms->cwd);
    recording->env = strings_copy((const char *const *)forms->env);
    set_program(tape, call, recording);
    uint64_t fed = recording_input_bytes(recording);
    int r = put_stream(tape, call->input, (size_t)fed, 0, recording, err);
    for (int i = 1; r == 0 && i < 3; i++)
        r = put_stream(tape, output->streams[i].data, output->streams[i].length, i, recording, err);
    if (r < 0)
        return r;
    recording_add_data(recording, &data);
    recording_add_host(recording, &host);
    tape->recorded++;
    return tape_writer_record(tape->writer,
                              &(struct tape_record){.kind = TAPE_SUBPROCESS,
                                                    .data = data.data,
                                                    .data_length = data.length,
                                                    .host = host.data},
                              err);
}

static void verify(vitro_cassette *tape, size_t id, const struct process_output *output)
{
    CLEANUP(recording_done) struct recording then = {0};
    struct err err;

    if (cassette_recording(tape->cassette, id, &then, &err) < 0)
        return;
    cassette_use(tape->cassette, id);
    for (int i = 1; i < 3; i++) {
        struct hash now = hash_of(buf_text(&output->streams[i]), output->streams[i].length);
        if (memcmp(&now, &then.streams[i].hash, sizeof now) != 0) {
            tape->differences++;
            buf_addf(&tape->report, "%s: %s differs from its recording\n", then.program,
                     i == 1 ? "stdout" : "stderr");
        }
    }
    if (then.exit_code != output->recording.exit_code || then.signal != output->recording.signal) {
        tape->differences++;
        buf_addf(&tape->report, "%s: exit status differs from its recording\n", then.program);
    }
}

static int run_live(vitro_cassette *tape, size_t id, const struct call_forms *forms,
                    const struct vitro_process_call *call, struct vitro_process_result *result,
                    struct err *err)
{
    CLEANUP(process_output_done) struct process_output output = {0};
    int r = process_run(call, &output, err);

    if (r == 0 && tape && tape->words.mode == ASKED_VERIFY && id != SIZE_MAX)
        verify(tape, id, &output);
    if (r == 0 && tape && id != SIZE_MAX && tape->words.mode == ASKED_ALL)
        cassette_use(tape->cassette, id); /* the new one takes its place */
    if (r == 0 && tape && tape->writer && tape->words.on_miss != PROC_MISS_PASSES)
        r = keep(tape, forms, call, &output, err);
    if (r < 0)
        return r;
    fill_result(result, &output.recording, &output.streams[1], &output.streams[2]);
    result->duration_ns = output.recording.real_ns;
    return 0;
}

static int miss(vitro_cassette *tape, const struct call *form,
                const struct vitro_process_call *call, struct err *err)
{
    CLEANUP(buf_done) struct buf text = {0};
    struct call asked = *form;
    struct hash digest = hash_of(call->input_length ? call->input : "", call->input_length);
    struct hash_text words = hash_to_text(&digest);

    if (call->input_length)
        asked.stdin_digest = words.text;
    cassette_explain(tape->cassette, &asked, &text);
    tape->missed = mem_grow(tape->missed, (tape->misses + 1) * sizeof *tape->missed);
    tape->missed[tape->misses++] =
        mem_format("no recording answers '%s'\n%s", call->argv[0], buf_text(&text));
    buf_addf(&tape->report, "no recording answers '%s'\n", call->argv[0]);
    return err_set(err, -ENODATA, "no recording answers\n%s", buf_text(&text));
}

int vitro_process_run(vitro_cassette *tape, const struct vitro_process_call *call,
                      struct vitro_process_result *result, struct vitro_process_error *error)
{
    struct call_forms forms = {0};
    struct err err = {0};
    int r;

    if (!result)
        return process_tell(&err, err_set(&err, -EINVAL, "a call needs a result"), error);
    *result = (struct vitro_process_result){0};
    if (!call || !call->argv || !call->argv[0] || !*call->argv[0])
        return process_tell(&err, err_set(&err, -EINVAL, "a call needs a program"), error);
    if (!tape || tape->words.mode == ASKED_OFF) {
        r = run_live(NULL, SIZE_MAX, NULL, call, result, &err);
        return r < 0 ? process_tell(&err, r, error) : 0;
    }
    CLEANUP(mem_free) char *cwd = realpath(call->directory ? call->directory : ".", NULL);
    cassette_form(tape->cassette,
                  &(struct call){.program = call->argv[0],
                                 .argv = call->argv,
                                 .cwd = cwd,
                                 .env = call->envp ? call->envp : (const char *const *)environ},
                  &forms);
    struct call form = call_of_forms(&forms);
    size_t id = find(tape, &form, call);
    bool live = tape->words.mode == ASKED_ALL || tape->words.mode == ASKED_REFRESH ||
                tape->words.mode == ASKED_VERIFY ||
                (tape->words.mode == ASKED_ONCE && !tape->exists);
    if (!live && id != SIZE_MAX)
        r = play(tape, id, result, &err);
    else if (!live && tape->words.mode != ASKED_NEW && tape->words.on_miss == PROC_MISS_FAILS)
        r = miss(tape, &form, call, &err);
    else if (tape->words.mode == ASKED_VERIFY && id == SIZE_MAX)
        r = miss(tape, &form, call, &err);
    else
        r = run_live(tape, id, &forms, call, result, &err);
    call_forms_done(&forms);
    if (r == 0 && tape->watcher)
        tape->watcher(tape->watcher_arg, call, result);
    return r < 0 ? process_tell(&err, r, error) : 0;
}

void vitro_process_result_done(struct vitro_process_result *result)
{
    if (!result)
        return;
    free(result->output);
    free(result->error_output);
    *result = (struct vitro_process_result){0};
}
