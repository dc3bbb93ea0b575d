/* SPDX-License-Identifier: MIT */
/* What the files of playing share: how far a recording is played, and the next operations. */
#pragma once
#include "box/stub_abi.h"
#include "box/sub.h"

struct source { /* bytes of a stream or a file, piece by piece */
    struct store_stream *stream;
    const char *text; /* borrowed, instead */
    uint64_t left;
};

enum reading { READING_NOTHING, READING_CHOICE, READING_EVENT };

struct sub_play {
    size_t *ids, count; /* candidates */
    bool decided, ended;
    enum reading reading;
    uint64_t asked; /* bytes of the last STUB_READ */
    struct spool input;
    size_t event;        /* the next one */
    uint64_t event_done; /* bytes of it */
    struct source streams[3];
    size_t file;  /* the next one, in the order of their times */
    bool in_file; /* it is open, its bytes are being written */
    struct source content;
    struct store *store;
    int64_t file_fd; /* the stub's own, of the file that is open */
    int64_t at_ns;   /* how far the stub has slept */
};

struct build {
    size_t ops, used;
    struct stub_block block;
};

extern struct build sub_build; /* the list that is being made */

struct stub_op *sub_add_op(enum stub_what what);
/* So many bytes are read from standard input, and the stub comes back. */
void sub_add_read(struct sub_play *play, enum reading reading, uint64_t length);
int sub_open_source(struct source *source, struct store *store, const char *text,
                    const struct hash *hash, uint64_t length, struct err *err);
uint64_t sub_room_address(size_t at); /* in the stub's memory */

/* sub_choose.c */
void sub_choose(struct box *box, struct task *task, struct sub *sub); /* one step */
void sub_take_input(struct box *box, struct task *task, struct sub *sub, uint64_t got);
