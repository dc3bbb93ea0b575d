/* SPDX-License-Identifier: MIT */
/* Programs in a terminal, from C: start one, type, wait, and look at what a person would see.
 *
 *     static const char *const argv[] = {"./feedback", NULL};
 *     vitro_term *t = vitro_term_open(&(struct vitro_term_options){.box.argv = argv}, &error);
 *     vitro_expect(t, "posted PUBLICLY", .before = "y/N");
 *     vitro_expect(t, "y/N", .before_read = 1);
 *     vitro_type(t, "n<Enter>");
 *     vitro_see(t, "Nothing was sent", .style = "bold");
 *     if (vitro_term_expect_exit(t, 0, 0) < 0)
 *         fputs(vitro_term_failure(t)->text, stderr);
 *     vitro_term_close(t);
 *
 * The program runs in a box (box.h) and its clock stands unless a call below lets it move. No call
 * guesses when a program is done: it is *settled* when every thread of it is blocked, everything it
 * wrote was taken and nothing is due. Waits return at such a moment, so that what is sent next
 * reaches a program that is in the same state each time, and a wait for something that can no
 * longer happen fails at once rather than when its time is up.
 *
 * How time passes. With a paused clock (the default) a wait lets virtual time pass from deadline to
 * deadline, up to its budget, until what it waits for is there. With a manual clock ("...,manual")
 * only vitro_term_advance moves it. With `plain`, or a real clock, time is real, and settled means
 * that all processes sleep.
 *
 * Stream and screen. The stream is every byte the program wrote, in order. A text is found in it
 * where a person reads it, also over colours, modes and titles in between; a cursor in it moves
 * behind each match. The screen is what a terminal makes of the stream. A frame is the screen at a
 * moment when the program was settled; all are kept, with their virtual times.
 *
 * Functions that can fail return -errno and leave their story in vitro_term_failure. Rows and
 * columns count from 1. One handle is for one thread at a time, the one that opened it; sessions
 * are independent of each other. Nothing of a session outlives it: closing it, or the end of the
 * process that opened it, by kill -9 as well, ends every process in it. */
#ifndef VITRO_TERM_H
#define VITRO_TERM_H

#include "vitro/box.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct vitro_term vitro_term;

/* ---- open and close ------------------------------------------------------------------------- */

struct vitro_term_options { /* zero is the default of each; box.argv has none */
    /* The program and its box, as of vitro_box_spawn; stdio and capture_output are not used. In
     * the environment TERM is set, and COLUMNS and LINES are taken out. */
    struct vitro_box_options box;
    const char *const *env; /* KEY=VALUE each, NULL behind the last; replaces what envp says */
    const char *term;       /* TERM; NULL: "xterm-256color" */
    unsigned rows, cols;    /* set before the program starts, at least 1 of 2; 0: 24, 80 */
    int plain;              /* no box: the real clock, files and network */
    uint64_t budget_ns;     /* virtual time that one wait may let pass; 0: 60 s */
    uint64_t ceiling_ns;    /* real time that one wait may take; 0: 30 s */
    unsigned scrollback;    /* lines kept above the screen; 0: 1000 */
    size_t output_max;      /* bytes of stream kept; more ends the session; 0: 256 MiB */
    /* What it leaves: an asciicast, written when it is closed (version 2 or 3; 0: 3), and, by
     * box.record, a bundle with its tape. */
    const char *cast;
    int cast_version;
};

/* Returns when the program is about to start; NULL on failure. That a program is not there or
 * cannot run is found by the first wait. */
VITRO_API vitro_term *vitro_term_open(const struct vitro_term_options *options,
                                      struct vitro_box_error *error);
/* Ends whatever runs, waits until it is gone, and frees. Accepts NULL. */
VITRO_API void vitro_term_close(vitro_term *t);
/* The same, and says whether what it is to leave was written. A program that still runs while a
 * bundle is recorded is hung up on and has five seconds of real time to end; -ECANCELED: it did
 * not, and its tape is not closed. */
VITRO_API int vitro_term_end(vitro_term *t, struct vitro_box_error *error);

/* ---- what went wrong ------------------------------------------------------------------------ */

enum vitro_term_why {
    VITRO_TERM_FINE,
    VITRO_TERM_NOT_SEEN, /* the program settled or ended, and nothing is due: it cannot come */
    VITRO_TERM_BUDGET,   /* the virtual time that the wait may take has passed; -ETIME */
    VITRO_TERM_CEILING,  /* the real time has; -ETIMEDOUT */
    VITRO_TERM_WRONG,    /* something else was seen: wrong order, wrong exit, wrong place */
    VITRO_TERM_USAGE,    /* a wrong argument: a key that is none, an expression that is none */
    VITRO_TERM_TROUBLE,  /* ours, or the machine's */
};

struct vitro_term_failure { /* all it points at is the session's, until its next failure */
    enum vitro_term_why why;
    int code;            /* -errno, as returned */
    const char *summary; /* one line: what was wanted and what is the case */
    /* Everything: summary, times, last bytes, screen in a frame with its cursor, last inputs, what
     * is due, who is blocked on what. */
    const char *text;
    uint64_t virtual_ns, real_ns; /* how long the wait took */
};

/* Of the last call that failed; never NULL, all "" when none did. */
VITRO_API const struct vitro_term_failure *vitro_term_failure(vitro_term *t);

/* ---- input ---------------------------------------------------------------------------------- */

/* Bytes as they are, at once, wherever the program is. Output is taken meanwhile: neither side can
 * block the other. */
VITRO_API int vitro_term_send(vitro_term *t, const void *bytes, size_t length);
/* Types as a person would: when the program is settled (or two seconds later, if it does not come
 * to rest). Text with keys by name: "n<Enter>", "<C-c>", "<M-x>", "<S-Tab>", "<C-Left>", "<Up>",
 * "<PageDown>",
 * "<F5>", "<Esc>", "<Space>", "<BS>", "<Del>", "<Ins>", "<Home>", "<End>", "<lt>" for '<',
 * "<0x1b>",
 * "<Paste some text>" (bracketed if the program asked for that), and the mouse: "<Click 3,10>",
 * "<Click right 3,10>", "<C-Click 3,10>", "<DoubleClick 3,10>", "<Drag 3,10 5,20>",
 * "<Wheel up 3,10>", "<Move 3,10>", "<FocusIn>", "<FocusOut>". Names are not case sensitive. Keys
 * are encoded as the program's modes ask. What follows an <Esc>, here or in the next call, comes
 * after what the program has due within 1.5 s, so that it is a key by itself. -EINVAL for an
 * unknown name, before anything is sent; -ENOTSUP for the mouse when the program has not asked for
 * it. */
VITRO_API int vitro_term_type(vitro_term *t, const char *keys);
/* End of input: the terminal's EOF character (Ctrl-D). */
VITRO_API int vitro_term_eof(vitro_term *t);
/* A new size of the window; the program gets SIGWINCH. */
VITRO_API int vitro_term_resize(vitro_term *t, unsigned rows, unsigned cols);
/* A signal to the processes in the foreground, as from a person with kill(1). */
VITRO_API int vitro_term_signal(vitro_term *t, int signal);
#define vitro_type(t, keys) vitro_term_type((t), (keys))

/* ---- time ----------------------------------------------------------------------------------- */

/* Waits until the program is settled and nothing is due within `quiet_ns` of virtual time; 0: until
 * it is settled, and the clock stands. With a paused clock what is due earlier happens; with a
 * manual clock it is a failure. 0 as well when the program has ended. */
VITRO_API int vitro_term_settle(vitro_term *t, uint64_t quiet_ns);
/* Lets exactly `by_ns` of virtual time pass, from deadline to deadline, each followed by a frame,
 * and returns when the program is settled at its end. Held clocks only. */
VITRO_API int vitro_term_advance(vitro_term *t, uint64_t by_ns);
/* Sets the wall clock the program sees, forward or back; durations are not affected. */
VITRO_API int vitro_term_clock_set(vitro_term *t, int64_t to_ns);

/* ---- stream --------------------------------------------------------------------------------- */

struct vitro_term_expect {  /* zero is the default of each; one of text and any is given */
    const char *text;       /* bytes, or a PCRE2 expression with `regex` */
    size_t length;          /* of text; 0: up to its NUL */
    const char *const *any; /* instead of text: whichever comes first; NULL behind the last */
    int regex;              /* text, any, before and not_seen are expressions */
    int from_start;         /* look from the start of the stream, not from the cursor */
    int keep_cursor;        /* leave the cursor where it is */
    const char *before;     /* fails when this comes first, or nothing comes */
    int before_read;        /* fails when the program waits for input and has not written it yet */
    const char *not_seen;   /* fails when this is seen on the way to it */
    int at_once;            /* return when it is there, even if the program is not settled */
    uint64_t within_ns, ceiling_ns; /* 0: the session's budget and ceiling */
};

struct vitro_term_match {
    size_t start, end;   /* in the stream */
    int which;           /* index in `any` */
    uint64_t virtual_ns; /* since the start of the session, when it was written */
    const char *bytes;   /* end - start of them; the session's, until more is written */
    unsigned groups;     /* of an expression, 0 is the whole; at most 10 are told */
    size_t group_start[10], group_end[10];
};

/* Waits until the stream holds it. 0 with *ret filled, which may be NULL. */
VITRO_API int vitro_term_expect(vitro_term *t, const struct vitro_term_expect *what,
                                struct vitro_term_match *ret);
#define vitro_expect(t, wanted, ...)                                                               \
    vitro_term_expect((t), &(struct vitro_term_expect){.text = (wanted), ##__VA_ARGS__},           \
                      (struct vitro_term_match *)0)
/* Settles within the budget, and fails if the stream holds it between the cursor and the end. */
VITRO_API int vitro_term_expect_not(vitro_term *t, const struct vitro_term_expect *what);
/* Waits until the program waits for input from its terminal: in read, or in poll and its kind. */
VITRO_API int vitro_term_expect_read(vitro_term *t, uint64_t within_ns, uint64_t ceiling_ns);
/* Everything written so far, with a NUL behind; the session's, until more is written. */
VITRO_API const char *vitro_term_output(const vitro_term *t, size_t *ret_length);
VITRO_API size_t vitro_term_cursor(const vitro_term *t);
VITRO_API int vitro_term_cursor_set(vitro_term *t, size_t offset);

/* ---- screen --------------------------------------------------------------------------------- */

struct vitro_term_look { /* what is looked for; zero is the default of each */
    const char *text;    /* in one row, or over several with \n; trailing blanks do not count */
    int regex;           /* text is a PCRE2 expression, over the rows joined by \n */
    unsigned row, col;   /* where it begins; 0: anywhere */
    unsigned top, left, bottom, right; /* the part of the screen that is looked at; 0: all of it */
    const char *style; /* every cell of it has this: "bold fg=red bg=#202020 no-underline" */
    const char *title; /* the window's title is this */
    unsigned cursor_row, cursor_col; /* the cursor is here */
    int alternate;                   /* 1: the alternate screen is shown; -1: it is not */
    int cursor_visible;              /* 1: the cursor is; -1: it is not */
    int scrollback;                  /* look at the lines above the screen as well */
    /* Of vitro_term_ever and never: only frames between the first `after` in the stream and the
     * first `until` behind that; and only from `since_ns` to `to_ns` (0: no end). */
    const char *after, *until;
    uint64_t since_ns, to_ns;
    uint64_t within_ns, ceiling_ns; /* 0: the session's budget and ceiling */
};

struct vitro_term_place {
    unsigned row, col, end_row, end_col; /* first and last cell of the text */
    uint64_t virtual_ns;                 /* of the frame */
};

/* Waits until a frame shows it. 0 with *ret filled, which may be NULL. */
VITRO_API int vitro_term_see(vitro_term *t, const struct vitro_term_look *what,
                             struct vitro_term_place *ret);
#define vitro_see(t, wanted, ...)                                                                  \
    vitro_term_see((t), &(struct vitro_term_look){.text = (wanted), ##__VA_ARGS__},                \
                   (struct vitro_term_place *)0)
/* Waits until a frame does not show it. */
VITRO_API int vitro_term_see_not(vitro_term *t, const struct vitro_term_look *what);
#define vitro_see_not(t, wanted, ...)                                                              \
    vitro_term_see_not((t), &(struct vitro_term_look){.text = (wanted), ##__VA_ARGS__})
/* Settles, then asks whether it was ever, or never, visible so far: also for a moment between two
 * frames, just before it was overwritten or erased. */
VITRO_API int vitro_term_ever(vitro_term *t, const struct vitro_term_look *what,
                              struct vitro_term_place *ret);
VITRO_API int vitro_term_never(vitro_term *t, const struct vitro_term_look *what);
/* Settles, and fails if a row ever ended (line feed) while a colour or attribute was on, or its
 * last cell shows one. */
VITRO_API int vitro_term_row_ends(vitro_term *t);

enum {
    VITRO_TERM_BOLD = 1,
    VITRO_TERM_ITALIC = 2,
    VITRO_TERM_UNDERLINE = 4,
    VITRO_TERM_BLINK = 8,
    VITRO_TERM_REVERSE = 16,
    VITRO_TERM_STRIKE = 32,
    VITRO_TERM_DOUBLE_UNDERLINE = 64,
    VITRO_TERM_CURLY_UNDERLINE = 128,
    VITRO_TERM_FAINT = 256,
    VITRO_TERM_HIDDEN = 512, /* nobody sees its text: such cells are empty */
};

struct vitro_term_colour {
    enum { VITRO_TERM_DEFAULT, VITRO_TERM_INDEXED, VITRO_TERM_RGB } kind;
    unsigned char index;            /* 0-255, of VITRO_TERM_INDEXED */
    unsigned char red, green, blue; /* always set: what the eye sees in our palette */
};

struct vitro_term_cell {
    char text[28];       /* UTF-8 with combining marks; "" for an empty cell */
    unsigned char width; /* 1 or 2; 0 for the right half of a wide one */
    unsigned attributes; /* VITRO_TERM_BOLD and so on */
    struct vitro_term_colour fg, bg;
};

enum vitro_term_mouse {
    VITRO_TERM_MOUSE_OFF,
    VITRO_TERM_MOUSE_CLICK,
    VITRO_TERM_MOUSE_DRAG,
    VITRO_TERM_MOUSE_MOVE,
};

struct vitro_term_state { /* as of the last wait */
    unsigned rows, cols;
    unsigned cursor_row, cursor_col;
    int cursor_visible, cursor_shape; /* 1 block, 2 underline, 3 bar */
    int alternate, bracketed_paste, focus_events, application_cursor;
    enum vitro_term_mouse mouse;
    const char *title, *icon; /* the session's, until it waits again */
    unsigned bells, scrollback;
    size_t frames, output_length;
    uint64_t virtual_ns; /* since the start of the session */
    int64_t now_ns;      /* the program's wall clock, since 1970 */
    int64_t next_due_ns; /* virtual time left until something is due; -1: nothing is */
    int settled;         /* the last wait ended with every thread blocked */
    int reading;         /* somebody waits for input from the terminal */
    int ended;           /* the program has; vitro_term_exit tells how */
};

VITRO_API void vitro_term_state(vitro_term *t, struct vitro_term_state *ret);
/* -EINVAL outside of the screen. */
VITRO_API int vitro_term_cell(vitro_term *t, unsigned row, unsigned col,
                              struct vitro_term_cell *ret);
/* A line above the screen, 1 is the lowest; text, returns owned (free). NULL if there is none. */
VITRO_API char *vitro_term_scrollback(vitro_term *t, unsigned line);

/* ---- end ------------------------------------------------------------------------------------ */

/* Waits for the end of the program. 0 with the exit code, or 128 + the signal it died of, in
 * *ret_code; findings as of vitro_box_wait, the session's. Either may be NULL. */
VITRO_API int vitro_term_exit(vitro_term *t, uint64_t within_ns, uint64_t ceiling_ns, int *ret_code,
                              struct vitro_box_findings *ret);
/* The same, and fails unless the program exits with this code (128 + N: dies of signal N). What
 * vitro run would fail for (a leak, an orphan) fails here too, unless the box allows it. */
VITRO_API int vitro_term_expect_exit(vitro_term *t, int code, uint64_t within_ns);

/* ---- snapshots and recordings --------------------------------------------------------------- */

/* Texts below return owned (free), NUL-terminated, *ret_length may be NULL. Equal sessions give
 * equal bytes: no times but virtual ones, no names of ours. */

enum vitro_term_format {
    VITRO_TERM_TEXT,   /* rows without trailing blanks, lower empty rows left out */
    VITRO_TERM_STYLED, /* the same, and below each run of cells that is not plain */
    VITRO_TERM_ANSI,   /* the same as escape sequences */
    VITRO_TERM_JSON,   /* rows, runs, cursor, title and modes */
    VITRO_TERM_SVG,    /* a picture: integer grid, no ids, no fonts */
};
VITRO_API char *vitro_term_snapshot(vitro_term *t, enum vitro_term_format format,
                                    size_t *ret_length);
/* Frame `index`, 0 is the first, as above; NULL if there is none. *ret_ns: its virtual time. */
VITRO_API char *vitro_term_frame(vitro_term *t, size_t index, enum vitro_term_format format,
                                 uint64_t *ret_ns, size_t *ret_length);
/* The screen as PNG, drawn by rsvg-convert: pixels need fonts, which are the machine's. NULL: it is
 * not there, or failed; the failure has the words. */
VITRO_API char *vitro_term_png(vitro_term *t, size_t *ret_length);
/* The whole session as an asciicast, version 2 or 3, with inputs and markers. */
VITRO_API char *vitro_term_cast(vitro_term *t, int version, size_t *ret_length);
/* A marker: in casts, and in failure texts. */
VITRO_API void vitro_term_mark(vitro_term *t, const char *label);

struct vitro_term_golden { /* how a snapshot is compared with a file */
    enum vitro_term_format format;
    int update; /* write the file when it differs; -EPERM where the variable CI is set */
    /* What is masked on both sides: rules by name ("time", "uuid", "temp", "pid", "port", "hash"),
     * or "s/EXPRESSION/TEXT/"; NULL behind the last. */
    const char *const *mask;
    int settle_first; /* as of vitro_term_settle(t, 0) */
};
/* Compares the screen with a golden file. A difference fails, prints both, and writes the screen to
 * PATH.actual (not where CI is set); equality removes that. A golden that is not there is a
 * failure too, unless `update` says to make it. */
VITRO_API int vitro_term_golden(vitro_term *t, const char *path,
                                const struct vitro_term_golden *how);

/* A screen without a program: what a terminal of this size makes of these bytes, as a session that
 * has ended. Stream, screen, cells, snapshots and goldens can be asked for. NULL for a size that is
 * none. */
VITRO_API vitro_term *vitro_term_still(unsigned rows, unsigned cols, const void *bytes,
                                       size_t length, struct vitro_box_error *error);

/* Everything for a log: state, framed screen, last bytes. Returns owned (free). */
VITRO_API char *vitro_term_dump(vitro_term *t);

/* ---- the same in the words of the Go harness ------------------------------------------------- */

/* Spawn: argv in a box with defaults; SpawnWithEnv: with more environment, KEY=VALUE each. */
VITRO_API vitro_term *vitro_term_spawn(const char *const *argv, struct vitro_box_error *error);
VITRO_API vitro_term *vitro_term_spawn_with_env(const char *const *env, const char *const *argv,
                                                struct vitro_box_error *error);
/* Send: a text. */
VITRO_API int vitro_term_send_text(vitro_term *t, const char *text);
/* ExpectOutput: index of the first match from the start of the stream, or -errno; `timeout_ns` is
 * virtual, 0: the session's budget. */
VITRO_API int64_t vitro_term_expect_output(vitro_term *t, const char *want, uint64_t timeout_ns);
/* ExpectOutputBefore: `want` comes, and before `before` does. */
VITRO_API int vitro_term_expect_output_before(vitro_term *t, const char *want, const char *before,
                                              uint64_t timeout_ns);
/* ExpectExit is vitro_term_expect_exit, Output vitro_term_output, Dump vitro_term_dump, Close
 * vitro_term_close. */

#ifdef __cplusplus
}
#endif

#endif
