/* SPDX-License-Identifier: MIT */
/* tape_kinds: what can stand on a tape. One table names every kind, the member of its payload that
 * says what it is about (its subject: the path of a file, the program of a process), and the
 * members a person wants to see on one line. A kind that is not in the table is TAPE_UNKNOWN: it is
 * read, shown, compared and written back like any other, under its own name. */
#pragma once
#include <stddef.h>

enum tape_kind {
    TAPE_CLOCK_READ,
    TAPE_CLOCK_SLEEP,
    TAPE_CLOCK_ADVANCE,
    TAPE_RANDOM,
    TAPE_ENV_READ,
    TAPE_FILE_READ,
    TAPE_FILE_WRITE,
    TAPE_FILE_DELETE,
    TAPE_FILE_RENAME,
    TAPE_DIR_LIST,
    TAPE_PROCESS_SPAWN,
    TAPE_PROCESS_EXIT,
    TAPE_SUBPROCESS,
    TAPE_NET_RESOLVE,
    TAPE_NET_CONNECT,
    TAPE_NET_DENIED,
    TAPE_HTTP_EXCHANGE,
    TAPE_LLM_CALL,
    TAPE_MCP_JSON_RPC,
    TAPE_TERM_OUTPUT,
    TAPE_TERM_INPUT,
    TAPE_TERM_RESIZE,
    TAPE_SCHED_CHOICE,
    TAPE_LEAK,
    TAPE_NOTE,
    TAPE_DECISION_EVALUATION,
    TAPE_MODEL_JOB,
    TAPE_UNKNOWN, /* the number of known kinds, too */
};

enum tape_phase {
    TAPE_USER_SCRIPT,
    TAPE_RUNTIME_FINALIZE,
    TAPE_PHASE_COUNT,
};

struct tape_kind_info {
    const char *name;
    const char *subject;  /* payload member that names what the record is about; NULL for none */
    const char *shown[4]; /* payload members for the one-line view, behind the subject */
};

extern const struct tape_kind_info tape_kinds[TAPE_UNKNOWN];
extern const char *const tape_phases[TAPE_PHASE_COUNT];

enum tape_kind tape_kind_find(const char *name, size_t length); /* TAPE_UNKNOWN if it is none */
/* TAPE_PHASE_COUNT if it is none. */
enum tape_phase tape_phase_find(const char *name, size_t length);
