/* SPDX-License-Identifier: MIT */
/* tape_entry: one line of a tape, understood but not taken apart. Three forms of a record are read:
 *
 *     native   {"data":{"duration_ns":5},"kind":"clock_sleep",...}
 *     flat     {"kind":"clock_sleep","duration_ms":5,...}             payload beside the rest
 *     nested   {"kind":{"kind":"clock_sleep","duration_ms":5},...}    payload inside the kind
 *
 * The last two are how other tools write tapes; times in ms are read as ns. A missing phase is
 * user_script, a missing process is "". Spans point into the line and share its life. */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "tape/json_scan.h"
#include "tape/tape_kinds.h"
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

enum tape_line_type { TAPE_LINE_HEADER, TAPE_LINE_RECORD, TAPE_LINE_END };
enum tape_form { TAPE_NATIVE, TAPE_FLAT, TAPE_NESTED };

struct tape_entry {
    enum tape_line_type type;
    enum tape_form form;
    enum tape_kind kind;
    enum tape_phase phase;
    uint64_t line; /* number in the file, from 1 */
    uint64_t seq;
    int64_t virtual_time_ns;
    uint64_t monotonic_ns;
    struct span kind_name;
    struct span process; /* as written between its quotes */
    struct span data;    /* native: the payload's text; flat, nested: the whole line */
    struct span host;    /* empty if there is none */
    struct span text;    /* the line without its newline */
    bool canonical;      /* data has the one spelling its value has */
};

/* Reads one line. False with what is wrong and the column, from 1. */
bool tape_entry_parse(const char *line, size_t length, struct tape_entry *ret,
                      const char **ret_problem, size_t *ret_column);

/* The payload as a tree, in the native form: returns owned. -EBADMSG for a member given twice. */
int tape_entry_data(const struct tape_entry *entry, json_t **ret, struct err *err);
/* Appends the payload as canonical JSON; the bytes as they stand where they already are that, and
 * for kinds we do not know. */
int tape_entry_add_data(const struct tape_entry *entry, struct buf *ret, struct err *err);
void tape_entry_add_process(const struct tape_entry *entry, struct buf *ret); /* unescaped */
