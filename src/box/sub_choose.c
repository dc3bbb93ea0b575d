/* SPDX-License-Identifier: MIT */
/* Which recording is played, where that depends on standard input: the stub reads as much as the
 * shortest candidate did, and so on until one fits. A conversation (reads behind writes) is played
 * as the first candidate and held against it when all was read. */
#include "box/sub_play.h"
#include <string.h>

static bool input_counts(const struct box *box)
{
    unsigned fields = box->options->proc.view.fields;

    return ((fields ? fields : CALL_FIELDS_DEFAULT) & 1u << CALL_STDIN) != 0;
}

static void take(struct box *box, struct sub *sub, size_t id)
{
    struct sub_play *play = sub->play;
    struct err err = {0};

    play->decided = true;
    play->store = cassette_entry(box->subs->cassette, id)->store;
    sub_take(box, sub, id);
    for (int i = 1; i < 3; i++) {
        const struct recording_bytes *bytes = &sub->recording.streams[i];
        if (sub_open_source(&play->streams[i], play->store, bytes->text, &bytes->hash,
                            bytes->length, &err) < 0)
            sub_trouble(box, "play %s: %s", sub->recording.program, err.text);
    }
    /* What was read to find out is read. */
    while (play->input.length && play->event < sub->recording.event_count &&
           (sub->recording.events[play->event].what == RECORDING_IN ||
            sub->recording.events[play->event].what == RECORDING_EOF ||
            sub->recording.events[play->event].what == RECORDING_WAKE))
        play->event++;
}

static void take_none(struct box *box, struct task *task, struct sub *sub)
{
    struct hash digest = spool_digest(&sub->play->input, cassette_secrets(box->subs->cassette));
    struct hash_text text = hash_to_text(&digest);
    struct recording *recording = &sub->recording;
    struct call call = {.program = recording->program,
                        .argv = (const char *const *)recording->argv,
                        .cwd = recording->cwd,
                        .env = (const char *const *)recording->env,
                        .stdin_digest = text.text};

    sub->play->decided = true;
    sub_miss(box, task->process, &call);
    sub_play_nothing(sub, "no recording of");
    sub->play->streams[2].text = sub->recording.streams[2].text;
    sub->play->streams[2].left = sub->recording.streams[2].length;
}

static bool fits(struct box *box, const struct sub_play *play, const struct cassette_entry *entry)
{
    bool all = play->input.length == entry->input_bytes || play->input.length == entry->kept_bytes;
    if (!all || (entry->reads_end && !play->ended))
        return false;
    struct hash digest = spool_digest(&play->input, cassette_secrets(box->subs->cassette));
    return memcmp(&digest, &entry->input_hash, sizeof digest) == 0;
}

static uint64_t next_length(const struct sub_play *play, uint64_t length, uint64_t next)
{
    return length > play->input.length && length < next ? length : next;
}

/* One step: takes a recording, gives up, or reads on. */
void sub_choose(struct box *box, struct task *task, struct sub *sub)
{
    struct sub_play *play = sub->play;
    struct cassette *cassette = box->subs->cassette;
    const struct cassette_entry *first = cassette_entry(cassette, play->ids[0]);
    bool counts = input_counts(box);

    if (!play->input.length && !play->ended &&
        (!counts || !first->reads_input || first->converses)) {
        take(box, sub, play->ids[0]);
        return;
    }
    uint64_t next = UINT64_MAX;
    for (size_t i = 0; i < play->count; i++) {
        const struct cassette_entry *entry = cassette_entry(cassette, play->ids[i]);
        if (entry->used)
            continue;
        if (fits(box, play, entry)) {
            take(box, sub, play->ids[i]);
            return;
        }
        next = next_length(play, entry->input_bytes + entry->reads_end, next);
        next = next_length(play, entry->kept_bytes + entry->reads_end, next);
    }
    if (play->ended || next == UINT64_MAX)
        take_none(box, task, sub);
    else
        sub_add_read(play, READING_CHOICE, next - play->input.length);
}

/* A conversation: what is read is held against the recording when all of it is there. */
static void check_input(struct box *box, struct task *task, struct sub *sub)
{
    struct sub_play *play = sub->play;
    const struct recording *recording = &sub->recording;
    bool counts = input_counts(box);
    struct hash digest = spool_digest(&play->input, cassette_secrets(box->subs->cassette));

    if (!counts || memcmp(&digest, &recording->streams[0].hash, sizeof digest) == 0)
        return;
    struct hash_text text = hash_to_text(&digest);
    sub_miss(box, task->process,
             &(struct call){.program = recording->program,
                            .argv = (const char *const *)recording->argv,
                            .cwd = recording->cwd,
                            .env = (const char *const *)recording->env,
                            .stdin_digest = text.text});
}

void sub_take_input(struct box *box, struct task *task, struct sub *sub, uint64_t got)
{
    static char piece[STUB_ROOM / 2];
    struct sub_play *play = sub->play;
    enum reading reading = play->reading;

    play->reading = READING_NOTHING;
    if (got > play->asked ||
        guest_read(task, sub_room_address(STUB_ROOM / 2), piece, (size_t)got) < 0)
        return;
    play->ended = got < play->asked;
    if (spool_add(&play->input, box->subs->directory, piece, (size_t)got) < 0)
        sub_trouble(box, "what %s read could not be kept", sub->recording.program);
    if (reading != READING_EVENT)
        return;
    const struct recording *recording = &sub->recording;
    const struct recording_event *event = &recording->events[play->event];
    play->event_done += got;
    if (event->what == RECORDING_IN && play->event_done < event->length && !play->ended)
        return;
    play->event++;
    play->event_done = 0;
    for (size_t i = play->event; i < recording->event_count; i++)
        if (recording->events[i].what == RECORDING_IN || recording->events[i].what == RECORDING_EOF)
            return;
    check_input(box, task, sub);
}
