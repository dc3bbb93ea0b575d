/* SPDX-License-Identifier: MIT */
/* The end of a cassette: what was recorded is written, and what did not fit is told. */
#include "base/text.h"
#include "proc/cassette_file.h"
#include "proc/cassette_internal.h"
#include "proc/process_internal.h"
#include <errno.h>
#include <string.h>

/* What was there, but for what new recordings took the place of, and then the new ones. */
static int write_all(vitro_cassette *tape, struct err *err)
{
    struct cassette *old = tape->cassette;
    int r = 0;

    for (size_t i = 0; r == 0 && i < old->count; i++) {
        const struct cassette_entry *entry = &old->entries[i];
        CLEANUP(recording_done) struct recording recording = {0};
        if (tape->words.mode == ASKED_REFRESH || (tape->words.mode == ASKED_ALL && entry->used))
            continue;
        r = cassette_recording(old, i, &recording, err);
        if (r == 0)
            r = cassette_copy_contents(&recording, entry->store, tape_writer_store(tape->writer),
                                       err);
        if (r == 0)
            r = tape_writer_record(tape->writer,
                                   &(struct tape_record){.kind = TAPE_SUBPROCESS,
                                                         .data = entry->data,
                                                         .data_length = strlen(entry->data),
                                                         .host = entry->host},
                                   err);
    }
    if (r == 0)
        r = tape_writer_close(tape->writer, err);
    if (r < 0)
        return r;
    return text_ends(tape->path, ".json") ? cassette_write_list(tape->fresh, tape->path, err)
                                          : cassette_write_tape(tape->fresh, tape->path, err);
}

/* Whether recordings that nobody asked for are worth a word. */
static bool plays(const vitro_cassette *tape)
{
    return tape->words.mode == ASKED_NONE || tape->words.mode == ASKED_VERIFY ||
           (tape->words.mode == ASKED_ONCE && tape->exists);
}

int vitro_cassette_close(vitro_cassette *tape, struct vitro_process_error *error)
{
    struct err err = {0};
    int r = 0;

    if (!tape)
        return 0;
    if (tape->writer)
        r = write_all(tape, &err);
    CLEANUP(buf_done) struct buf unused = {0};
    size_t left = plays(tape) ? cassette_unused(tape->cassette, &unused, 5) : 0;
    if (r == 0 && tape->misses)
        r = err_set(&err, -ENODATA, "%s", buf_text(&tape->report));
    else if (r == 0 && tape->differences)
        r = err_set(&err, -EBADMSG, "%s", buf_text(&tape->report));
    else if (r == 0 && left && !tape->allow_unused)
        r = err_set(&err, -ENOTEMPTY, "%zu recording%s that nobody asked for\n%s", left,
                    left == 1 ? "" : "s", buf_text(&unused));
    if (r < 0)
        (void)process_tell(&err, r, error);
    process_cassette_done(tape);
    return r;
}

int process_close(vitro_cassette *tape, struct process_findings *ret, struct err *err)
{
    struct cassette *cassette = tape->cassette;
    int r = tape->writer ? write_all(tape, err) : 0;

    *ret = (struct process_findings){.unmatched = tape->missed, .unmatched_count = tape->misses};
    tape->missed = NULL;
    tape->misses = 0;
    for (size_t i = 0; plays(tape) && !tape->allow_unused && i < cassette->count; i++) {
        CLEANUP(buf_done) struct buf command = {0};
        if (cassette->entries[i].used)
            continue;
        cassette_describe(cassette, i, &command);
        ret->unused = mem_grow(ret->unused, (ret->unused_count + 1) * sizeof *ret->unused);
        ret->unused[ret->unused_count++] = mem_dup(buf_text(&command));
    }
    process_cassette_done(tape);
    return r;
}

void process_findings_done(struct process_findings *findings)
{
    for (size_t i = 0; i < findings->unmatched_count; i++)
        free(findings->unmatched[i]);
    for (size_t i = 0; i < findings->unused_count; i++)
        free(findings->unused[i]);
    free(findings->unmatched);
    free(findings->unused);
    *findings = (struct process_findings){0};
}

void process_watch(vitro_cassette *tape, process_watcher *watcher, void *arg)
{
    tape->watcher = watcher;
    tape->watcher_arg = arg;
}

void vitro_cassette_discard(vitro_cassette *tape)
{
    if (tape)
        process_cassette_done(tape);
}

size_t vitro_cassette_recorded(const vitro_cassette *tape)
{
    return tape ? tape->recorded : 0;
}
