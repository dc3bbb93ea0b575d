/* SPDX-License-Identifier: MIT */
/* settle: a box whose program has a terminal, and a caller that decides when its clock moves.
 *
 * The terminal is made inside the box, in its own /dev/pts, and its two ends, with a pidfd of the
 * box's init, are sent to the caller through a socket. The same socket then carries requests and
 * replies, one packet each:
 *
 *     caller                                  supervisor
 *     WAIT            ->                      proves that the box is idle
 *                     <-  reply               at that instant: virtual time, what is due, who reads
 *     STEP until T    ->                      moves the clock to T or the next deadline, fires it,
 *                     <-  reply               and proves idleness again
 *
 * Between a reply and the next request nothing in the box can run, unless the caller types or takes
 * output that somebody was blocked on. A caller that gets a reply, and then finds nothing to take,
 * knows that the box is settled. Both ends of a pty are filled by a kernel worker behind the
 * writer's back; reading and polling an end that is empty waits for that worker (n_tty), so callers
 * read the master until it is empty, and poll the slave after typing. */
#pragma once
#include "base/err.h"
#include <stdbool.h>
#include <stdint.h>

struct box;
struct buf;
struct deadline;
struct proc_options;
struct vitro_box;
struct vitro_box_error;
struct vitro_box_options;

struct box_terminal { /* what a caller asks for */
    int socket;       /* SOCK_SEQPACKET, the supervisor's end; borrowed while spawning */
    unsigned short rows, cols;
    const struct proc_options *proc; /* in place of the options' cassette; NULL: as they say */
};

enum settle_op {
    SETTLE_WAIT,
    SETTLE_STEP,     /* until_ns: at most as far as that */
    SETTLE_NUDGE,    /* output came: look soon; no reply */
    SETTLE_DESCRIBE, /* the reply is JSON: {"blocked":TEXT,"pending":[...]} */
    SETTLE_SET,      /* until_ns: the wall clock's new time */
    SETTLE_CANCEL,   /* a WAIT or STEP that was not answered is taken back; no reply */
};

struct settle_request {
    uint32_t op, serial; /* the reply has the same serial */
    int64_t until_ns;    /* virtual time since the box began */
};

enum {
    SETTLE_READING = 1,      /* somebody waits for input from the terminal */
    SETTLE_HELD = 2,         /* the clock stands unless it is moved */
    SETTLE_MANUAL = 4,       /* and is for explicit advances only */
    SETTLE_OUTSIDE = 8,      /* something outside of the box may still wake somebody */
    SETTLE_NO_TERMINAL = 16, /* nobody has the terminal open any more */
};

struct settle_reply {
    uint32_t flags, serial;
    int64_t elapsed_ns; /* virtual, since the box began */
    int64_t now_ns;     /* the wall clock in the box */
    int64_t due_ns;     /* the next deadline, as elapsed_ns; -1 for none */
};

/* box_public.c: vitro_box_spawn for a program in a terminal. There is no control socket. */
struct vitro_box *box_spawn_in_terminal(const struct vitro_box_options *options,
                                        const struct box_terminal *terminal,
                                        struct vitro_box_error *error);

/* ---- for the supervisor ---- */
int settle_open(struct box *box, struct err *err);
bool settle_owns(const struct box *box, int fd);
void settle_serve(struct box *box);       /* the socket is readable */
bool settle_asked(const struct box *box); /* somebody waits for idleness */
bool settle_nudged(struct box *box);      /* true once for each nudge */
/* The box is idle, and nothing is due now. True if that changed something. */
bool settle_idle(struct box *box, struct deadline *next);
void settle_close(struct box *box);

/* ---- terminal.c ---- */
/* In init, in the box's own view of files: makes the terminal and sends its ends. */
int terminal_make(struct box *box, struct err *err);
/* In the program's process: the terminal becomes its standard input, output, error and controlling
 * terminal; of everything else only the standard ones survive exec. */
int terminal_take(struct box *box);
void terminal_seen(struct box *box); /* in the supervisor, before the program's exec */
bool terminal_is_read(struct box *box);
/* The box is idle: waits for the kernel's workers behind ptys that somebody waits to read. True if
 * there may be some: then idleness is to be proved again. */
bool terminal_flush(struct box *box);
