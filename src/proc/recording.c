/* SPDX-License-Identifier: MIT */
#include "proc/recording.h"
#include "proc/programs.h"
#include "base/text.h"
#include <string.h>
#include <sys/stat.h>

char **strings_copy(const char *const *list)
{
    size_t count = 0;

    while (list && list[count])
        count++;
    char **copy = mem_alloc((count + 1) * sizeof *copy);
    for (size_t i = 0; i < count; i++)
        copy[i] = mem_dup(list[i]);
    return copy;
}

char **strings_free(char **list)
{
    for (size_t i = 0; list && list[i]; i++)
        free(list[i]);
    free(list);
    return NULL;
}

static bool carries_bytes(enum recording_what what)
{
    return what == RECORDING_IN || what == RECORDING_OUT || what == RECORDING_ERR;
}

void recording_add_event(struct recording *recording, int64_t at_ns, enum recording_what what,
                         uint64_t length)
{
    if (recording->event_count) {
        struct recording_event *last = &recording->events[recording->event_count - 1];
        if (last->what == what && last->at_ns == at_ns && what != RECORDING_SIGNAL) {
            last->length += length;
            return;
        }
        /* Waking up to do something at once is told by what was done. */
        if (last->what == RECORDING_WAKE && last->at_ns == at_ns) {
            *last = (struct recording_event){at_ns, what, length};
            return;
        }
        if (what == RECORDING_WAKE && last->at_ns == at_ns)
            return;
    }
    if (recording->event_count == recording->event_capacity) {
        recording->event_capacity = recording->event_capacity ? 2 * recording->event_capacity : 8;
        recording->events =
            mem_grow(recording->events, recording->event_capacity * sizeof *recording->events);
    }
    recording->events[recording->event_count++] = (struct recording_event){at_ns, what, length};
}

void recording_fit_events(struct recording *recording, enum recording_what what, uint64_t length)
{
    struct recording_event *last = NULL;
    uint64_t total = 0;

    for (size_t i = 0; i < recording->event_count; i++) {
        struct recording_event *event = &recording->events[i];
        if (event->what != what)
            continue;
        event->length = event->length < length - total ? event->length : length - total;
        total += event->length;
        last = event;
    }
    if (last)
        last->length += length - total;
}

struct recording_file *recording_add_file(struct recording *recording)
{
    size_t count = recording->file_count;

    if ((count & (count - 1)) == 0) /* 0, 1, 2, 4, ...: full */
        recording->files =
            mem_grow(recording->files, (count ? 2 * count : 1) * sizeof *recording->files);
    recording->files[count] = (struct recording_file){0};
    recording->file_count++;
    return &recording->files[count];
}

unsigned recording_file_kind(const struct recording_file *file)
{
    return file->type == RECORDING_FIFO ? S_IFIFO : S_IFSOCK;
}

uint64_t recording_input_bytes(const struct recording *recording)
{
    uint64_t total = 0;

    for (size_t i = 0; i < recording->event_count; i++)
        if (recording->events[i].what == RECORDING_IN)
            total += recording->events[i].length;
    return total;
}

uint64_t recording_signals(const struct recording *recording)
{
    uint64_t mask = 0;

    for (size_t i = 0; i < recording->event_count; i++)
        if (recording->events[i].what == RECORDING_SIGNAL)
            mask |= UINT64_C(1) << (recording->events[i].length - 1);
    return mask;
}

bool recording_reads_end(const struct recording *recording)
{
    for (size_t i = 0; i < recording->event_count; i++)
        if (recording->events[i].what == RECORDING_EOF)
            return true;
    return false;
}

bool recording_converses(const struct recording *recording)
{
    bool wrote = false;

    for (size_t i = 0; i < recording->event_count; i++) {
        enum recording_what what = recording->events[i].what;
        if (wrote && (what == RECORDING_IN || what == RECORDING_EOF))
            return true;
        wrote |= carries_bytes(what) && what != RECORDING_IN;
    }
    return false;
}

void recording_done(struct recording *recording)
{
    free(recording->program);
    strings_free(recording->argv);
    free(recording->cwd);
    strings_free(recording->env);
    for (size_t i = 0; i < ARRAY_LENGTH(recording->streams); i++)
        free(recording->streams[i].text);
    free(recording->events);
    for (size_t i = 0; i < recording->file_count; i++) {
        free(recording->files[i].path);
        free(recording->files[i].target);
    }
    free(recording->files);
    free(recording->path);
    free(recording->version);
    *recording = (struct recording){0};
}

void recording_set_program(struct recording *recording, const struct program_facts *facts)
{
    recording->has_digest = facts != NULL;
    if (!facts)
        return;
    recording->digest = facts->digest;
    recording->version = mem_dup(facts->version);
}

struct call recording_call(const struct recording *recording, struct hash_text *digest)
{
    bool read = recording_input_bytes(recording) || recording_reads_end(recording);

    if (read)
        *digest = hash_to_text(&recording->streams[0].hash);
    return (struct call){.program = recording->program,
                         .argv = (const char *const *)recording->argv,
                         .cwd = recording->cwd,
                         .env = (const char *const *)recording->env,
                         .stdin_digest = read ? digest->text : NULL};
}
