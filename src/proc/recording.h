/* SPDX-License-Identifier: MIT */
/* recording: one call of a program with everything it did, and its form on a tape (the payload of a
 * record of kind `subprocess`, docs/formats/cassette.md).
 *
 * What it did is a list of events in the order in which they happened: bytes it read from standard
 * input, bytes it wrote to standard output and error, signals that it was sent and lived on, the
 * moments at which it woke up from waiting, its end. Bytes of one stream stand together; the events
 * say how the streams interleave and at which virtual time, counted from the start. Behind the end
 * stands what its children still did. */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "base/hash.h"
#include "match/call.h"
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum recording_what {
    RECORDING_IN,     /* so many bytes were read from standard input */
    RECORDING_EOF,    /* its end was read */
    RECORDING_OUT,    /* so many were written to standard output */
    RECORDING_ERR,    /* to standard error */
    RECORDING_WAKE,   /* a wait of its own was over */
    RECORDING_SIGNAL, /* somebody sent it this one, and it did not end by that */
    RECORDING_EXIT,   /* the program itself ended; its children may go on */
    RECORDING_WHAT_COUNT,
};

struct recording_event {
    int64_t at_ns; /* since its start, virtual */
    enum recording_what what;
    uint64_t length; /* IN, OUT, ERR; of a SIGNAL: its number */
};

struct recording_bytes { /* a stream; zeroed memory is an empty one, whose hash does not count */
    struct hash hash;    /* after hiding secrets */
    uint64_t length;     /* the same */
    char *text;          /* owned; NULL: the bytes are in the store */
};

enum recording_type {
    RECORDING_NONE,
    RECORDING_FILE,
    RECORDING_DIRECTORY,
    RECORDING_LINK,
    RECORDING_FIFO,
    RECORDING_SOCKET, /* where somebody listened; played, nobody does */
};

struct recording_file {       /* what became of a file; NONE: it was removed */
    char *path;               /* owned; relative to the worktree, or absolute */
    char *target;             /* owned; of a LINK */
    enum recording_type type; /* afterwards */
    unsigned mode;            /* permission bits */
    int64_t at_ns;
    struct hash hash; /* of a FILE, in the store */
    uint64_t length;
};

struct recording {
    char *program; /* as it was called */
    char **argv;   /* NULL-ended, as env */
    char *cwd;     /* "." for the worktree, "sub", "/absolute" */
    char **env;
    struct recording_bytes streams[3]; /* input, output, error */
    bool terminal[3];
    struct recording_event *events;
    size_t event_count, event_capacity;
    struct recording_file *files;
    size_t file_count;
    int exit_code, signal; /* signal is not 0: it ended by that */
    bool awaits_signal;    /* and somebody else sent it */
    int64_t duration_ns;   /* virtual */
    /* Facts of the machine it was recorded on; never compared. */
    char *path;             /* the program's file; NULL: not known */
    struct hash digest;     /* of its bytes */
    bool has_digest;        /* it could be read */
    char *version;          /* of its package; NULL: not known */
    uint64_t real_ns;       /* how long it took */
    int64_t recorded_at_ns; /* when, since 1970; 0: not known */
};

void recording_add_event(struct recording *recording, int64_t at_ns, enum recording_what what,
                         uint64_t length); /* joins it to the last one where that says the same */
/* Hiding secrets changed how long a stream is: the last events of that kind take the difference. */
void recording_fit_events(struct recording *recording, enum recording_what what, uint64_t length);
struct recording_file *recording_add_file(struct recording *recording); /* zeroed */
unsigned recording_file_kind(const struct recording_file *file); /* of a FIFO or SOCKET, S_IF... */
struct program_facts;
void recording_set_program(struct recording *recording, const struct program_facts *facts);
uint64_t recording_input_bytes(const struct recording *recording); /* read, before hiding */
uint64_t recording_signals(const struct recording *recording); /* those of its events, as bits */
bool recording_reads_end(const struct recording *recording);
bool recording_converses(const struct recording *recording); /* reads after it wrote */
void recording_done(struct recording *recording);
static inline __attribute__((unused)) void recording_done_cleanup(struct recording *recording)
{
    recording_done(recording);
}

/* The call, as the matcher knows it; borrows from the recording, the digest from `digest`. */
struct call recording_call(const struct recording *recording, struct hash_text *digest);

/* Both append canonical JSON objects. */
void recording_add_data(const struct recording *recording, struct buf *ret);
void recording_add_host(const struct recording *recording, struct buf *ret);
/* `host` may be NULL. -EBADMSG with the member that is wrong; `where` names the record. Paths that
 * climb out of the worktree by ".." are refused. */
int recording_from_json(const json_t *data, const json_t *host, const char *where,
                        struct recording *ret, struct err *err);

char **strings_copy(const char *const *list); /* NULL-ended, owned */
char **strings_free(char **list);             /* NULL */
