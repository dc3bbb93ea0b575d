/* SPDX-License-Identifier: MIT */
/* The outcome mode: what a run leaves behind, whatever way it took. */
#include "base/buf.h"
#include "base/json.h"
#include "tape/fidelity_internal.h"
#include <string.h>

struct outcome {
    json_t *files;     /* owned: path to hash, or null where it was deleted */
    json_t *exit_code; /* owned: of the last process that ended; NULL for none */
    uint64_t llm_calls;
};

static void outcome_done(struct outcome *outcome)
{
    json_decref(outcome->files);
    json_decref(outcome->exit_code);
}

static void rename_file(json_t *files, const char *from, const char *to)
{
    json_t *hash = json_object_get(files, from);

    if (!from || !to)
        return;
    json_object_set_new(files, to,
                        hash ? json_incref(hash) : json_sprintf("renamed from %s", from));
    json_object_set_new(files, from, json_null());
}

static void add_record(struct outcome *outcome, enum tape_kind kind, const json_t *data)
{
    json_t *path = json_object_get(data, "path"), *code = json_object_get(data, "exit_code");
    json_t *hash = json_object_get(data, "content_hash");

    if (kind == TAPE_FILE_WRITE && json_is_string(path))
        json_object_set(outcome->files, json_string_value(path), hash ? hash : json_null());
    if (kind == TAPE_FILE_DELETE && json_is_string(path))
        json_object_set_new(outcome->files, json_string_value(path), json_null());
    if (kind == TAPE_FILE_RENAME)
        rename_file(outcome->files, json_string_value(json_object_get(data, "from")),
                    json_string_value(json_object_get(data, "to")));
    if ((kind == TAPE_PROCESS_SPAWN || kind == TAPE_PROCESS_EXIT) && code) {
        json_decref(outcome->exit_code);
        outcome->exit_code = json_incref(code);
    }
}

static int read_outcome(struct tape_reader *reader, struct outcome *ret, struct err *err)
{
    struct tape_entry entry;
    int r;

    ret->files = json_object();
    while ((r = tape_reader_next(reader, &entry, err)) > 0) {
        CLEANUP(json_free) json_t *data = NULL;
        ret->llm_calls += entry.kind == TAPE_LLM_CALL;
        if (entry.kind != TAPE_FILE_WRITE && entry.kind != TAPE_FILE_DELETE &&
            entry.kind != TAPE_FILE_RENAME && entry.kind != TAPE_PROCESS_SPAWN &&
            entry.kind != TAPE_PROCESS_EXIT)
            continue;
        r = tape_entry_data(&entry, &data, err);
        if (r < 0)
            return r;
        add_record(ret, entry.kind, data);
    }
    return r;
}

static void keep(struct comparison *comparison, const char *category, char *message,
                 json_t *recorded, json_t *replay)
{
    struct divergence divergence = {
        .category = mem_dup(category),
        .message = message,
        .kind = mem_dup(""),
        .process = mem_dup(""),
        .recorded = json_incref(recorded),
        .replay = json_incref(replay),
        .recorded_seq = -1,
        .replay_seq = -1,
    };

    fidelity_keep(comparison->report, comparison->keep_max, &divergence);
}

static void compare_files(struct comparison *comparison, const json_t *a, const json_t *b)
{
    CLEANUP(mem_free) const char **paths = NULL;
    size_t count = json_keys_of_both(a, b, &paths), differing = 0;
    const char *first = NULL;

    for (size_t i = 0; i < count; i++) {
        json_t *left = json_object_get(a, paths[i]), *right = json_object_get(b, paths[i]);
        if (left == right || json_equal(left, right) ||
            noise_covers(comparison->options->noise, "file_write", paths[i], "content_hash"))
            continue;
        first = differing++ ? first : paths[i];
    }
    if (!differing)
        return;
    json_t *left = json_object_get(a, first), *right = json_object_get(b, first);
    CLEANUP(mem_free) char *values = fidelity_values_message(first, left, right);
    keep(comparison, "outcome_fs_diff",
         mem_format("%zu file%s ended up different; %s", differing, differing == 1 ? "" : "s",
                    values),
         left, right);
}

int outcome_compare(struct comparison *comparison, struct tape_reader *recorded,
                    struct tape_reader *replay)
{
    struct outcome a = {0}, b = {0};
    int r = read_outcome(recorded, &a, comparison->err);

    if (r == 0)
        r = read_outcome(replay, &b, comparison->err);
    if (r == 0) {
        compare_files(comparison, a.files, b.files);
        if (a.exit_code != b.exit_code && !json_equal(a.exit_code, b.exit_code))
            keep(comparison, "outcome_exit_code",
                 fidelity_values_message("last exit code", a.exit_code, b.exit_code), a.exit_code,
                 b.exit_code);
        if (a.llm_calls != b.llm_calls)
            keep(comparison, "outcome_llm_call_count",
                 mem_format("llm calls: recorded %llu, replayed %llu",
                            (unsigned long long)a.llm_calls, (unsigned long long)b.llm_calls),
                 NULL, NULL);
    }
    outcome_done(&a);
    outcome_done(&b);
    return r;
}
