/* SPDX-License-Identifier: MIT */
/* term_internal: the state of one session, and what the files of this part offer each other.
 *
 * A session is a log: the stream (every byte the program wrote) and events (frames, inputs, sizes,
 * markers), each at an offset of the stream and a virtual time. Screens are made from the log; the
 * live one is fed when somebody looks, or when the program may have asked the terminal something.
 */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "term/words.h"
#include "vitro/term.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct screen;
struct plain;

/* ---- log.c ------------------------------------------------------------------------------- */

enum log_kind { LOG_FRAME, LOG_INPUT, LOG_SIZE, LOG_MARK };

struct log_event {
    enum log_kind kind;
    size_t offset; /* of the stream: what came before it */
    uint64_t virtual_ns;
    unsigned short rows, cols;   /* LOG_SIZE */
    size_t text_at, text_length; /* LOG_INPUT, LOG_MARK: in `texts` */
};

struct log {
    struct buf stream, texts;
    struct log_event *events; /* owned */
    size_t count, capacity, frames;
    unsigned short rows, cols; /* at the start */
};

struct log_event *log_add(struct log *log, enum log_kind kind, uint64_t virtual_ns);
void log_add_text(struct log *log, enum log_kind kind, uint64_t virtual_ns, const void *bytes,
                  size_t length);
uint64_t log_time_of(const struct log *log, size_t offset, uint64_t now_ns);
void log_done(struct log *log);

/* ---- the session ------------------------------------------------------------------------- */

enum drive_end { DRIVE_SETTLED, DRIVE_OUTPUT, DRIVE_ENDED, DRIVE_CEILING };

struct term_wait { /* one wait of a caller's */
    uint64_t budget_ns, ceiling_ns;
    uint64_t started_ns;      /* virtual */
    uint64_t real_started_ns; /* of the real clock */
    uint64_t give_up_ns;      /* of the real clock */
};

struct vitro_term {
    struct vitro_box *box; /* owned; NULL when plain */
    struct plain *plain;   /* owned; NULL in a box */
    int master, slave;     /* the terminal's ends; -1 until they are there */
    int socket;            /* to the supervisor */
    int init_fd;           /* pidfd of the box's init */
    uint32_t serial;       /* of the last request */
    uint64_t budget_ns, ceiling_ns;
    size_t output_max;
    struct log log;
    size_t cursor;
    struct words words;    /* the stream, as far as it was searched */
    struct screen *screen; /* live; fed up to screen_fed, with events up to screen_event */
    size_t screen_fed, screen_event;
    struct buf answers;  /* what the terminal answers to queries, on its way to the program */
    uint64_t elapsed_ns; /* virtual, since the start */
    int64_t now_ns;      /* the program's wall clock */
    int64_t due_ns;      /* as elapsed_ns; -1: nothing is due */
    uint32_t flags;      /* SETTLE_*, as of the last reply */
    bool settled, ended, started;
    struct { /* the Esc key that was typed last, with nothing behind it yet */
        bool alone;
        uint64_t at_ns, real_ns; /* when: as elapsed_ns, and on the machine */
    } escape;
    bool still;      /* there never was a program */
    bool opened;     /* there was a program */
    bool records;    /* a bundle is recorded */
    char *cast_path; /* owned; NULL: none is left */
    int cast_version;
    int exit_code;
    struct vitro_box_findings findings; /* once ended */
    struct vitro_term_failure failure;
    struct buf failure_summary, failure_text;
    struct buf title; /* as vitro_term_state told it last */
};

/* ---- drive.c: until something is the case ---- */
struct term_wait term_wait_begin(vitro_term *t, uint64_t within_ns, uint64_t ceiling_ns);
/* Until the program is settled, has ended or real time is up; with `at_output`, until it wrote
 * something. */
int drive_wait(vitro_term *t, const struct term_wait *wait, bool at_output, enum drive_end *ret);
/* Lets time pass up to `until_ns` or the next deadline, whichever is first, then waits. */
int drive_step(vitro_term *t, const struct term_wait *wait, uint64_t until_ns, bool at_output,
               enum drive_end *ret);
int drive_write(vitro_term *t, const void *bytes, size_t length, struct err *err);
ssize_t drive_drain(vitro_term *t);
bool drive_time_is_up(const struct term_wait *wait);
/* A wait with a question. `check` is asked whenever the program is settled, and for each output if
 * `at_output`: 1 when it came true, 0 not yet, -errno (with a failure set) when it cannot. */
typedef int (*drive_check)(vitro_term *t, void *arg, bool settled);
int drive_until(vitro_term *t, const struct term_wait *wait, bool at_output, drive_check check,
                void *arg, const char *wanted);
int drive_describe(vitro_term *t, struct buf *blocked, struct buf *pending);

/* ---- failure.c ---- */
int png_of_svg(const void *svg, size_t length, struct buf *ret, struct err *err); /* png.c */
int term_fail(vitro_term *t, enum vitro_term_why why, int code, const struct term_wait *wait,
              const char *format, ...) PRINTF_LIKE(5, 6);
void term_fail_hint(vitro_term *t, const char *words); /* one more line for the last failure */
/* For wrong arguments: only the summary. */
int term_misuse(vitro_term *t, int code, const char *format, ...) PRINTF_LIKE(3, 4);
void term_add_frame(struct buf *buf, struct screen *screen); /* the screen in a frame */

/* ---- screen.c ---- */
struct screen *screen_new(unsigned rows, unsigned cols, unsigned scrollback);
struct screen *screen_free(struct screen *screen);
DEFINE_CLEANUP(struct screen *, screen_free)
void screen_feed(struct screen *screen, const void *bytes, size_t length);
void screen_resize(struct screen *screen, unsigned rows, unsigned cols);
void screen_state(const struct screen *screen, struct vitro_term_state *ret);
int screen_cell(const struct screen *screen, unsigned row, unsigned col,
                struct vitro_term_cell *ret); /* from 1 */
/* A row's text, every cell as at least one column, blanks at its end kept. `columns`, if not NULL,
 * gets the column (from 1) of each byte. */
void screen_row_text(const struct screen *screen, unsigned row, struct buf *ret,
                     struct buf *columns);
bool screen_scrollback_text(const struct screen *screen, unsigned line, struct buf *ret);
bool screen_pen_is_plain(const struct screen *screen);
unsigned screen_generation(const struct screen *screen);   /* changes when what is shown does */
struct buf *screen_answers(struct screen *screen);         /* to queries, to be sent and cleared */
struct VTerm *screen_vterm(struct screen *screen);         /* for keys.c */
void screen_divert(struct screen *screen, struct buf *to); /* keys to here; NULL: no more */
struct screen *term_screen(vitro_term *t);                 /* the live one, up to date */
/* A screen fed from the log, up to the end of event `event` (SIZE_MAX: everything). */
struct screen *screen_of_log(const struct log *log, size_t event);

/* ---- utf8.c ---- */
size_t utf8_cut_tail(const char *bytes, size_t length); /* bytes of a character that is cut off */
/* Appends text; what is no UTF-8 becomes U+FFFD. */
void utf8_add_clean(struct buf *buf, const char *bytes, size_t length);

/* ---- keys.c ---- */
/* Bytes of "n<Enter>", as the modes of the screen ask. `escapes`, if not NULL, gets where each Esc
 * key ends, as size_t. -EINVAL, -ENOTSUP with words. */
int keys_encode(struct screen *screen, const char *keys, struct buf *ret, struct buf *escapes,
                struct err *err);

/* ---- pattern.c ---- */
struct pattern;
int pattern_new(const char *text, size_t length, bool regex, struct pattern **ret, struct err *err);
struct pattern *pattern_free(struct pattern *pattern);
DEFINE_CLEANUP(struct pattern *, pattern_free)
struct pattern_match {
    size_t start, end;
    unsigned groups;
    size_t group_start[10], group_end[10];
};
/* The first match at or behind *from. 1 with *ret; 0 with *from moved to where a match that needs
 * more bytes could begin, so that nothing is looked at twice; -errno. `more`: bytes may follow. */
int pattern_find(struct pattern *pattern, const char *bytes, size_t length, size_t *from, bool more,
                 struct pattern_match *ret, struct err *err);

/* ---- snapshot.c, svg.c, cast.c, png.c ---- */
void snapshot_add(struct buf *buf, struct screen *screen, enum vitro_term_format format);
struct snapshot_run {            /* cells of one row with one style */
    unsigned from, to;           /* columns */
    struct vitro_term_cell cell; /* the first */
    struct buf text;
};
/* The run that begins at column `from`; false behind the last. */
bool snapshot_next_run(struct screen *screen, unsigned row, unsigned cols, unsigned from,
                       struct snapshot_run *ret);
bool snapshot_is_plain(const struct vitro_term_cell *cell);
bool snapshot_same_style(const struct vitro_term_cell *a, const struct vitro_term_cell *b);
void snapshot_add_style(struct buf *buf, const struct vitro_term_cell *cell);
json_t *snapshot_json(struct screen *screen);      /* returns owned */
enum { SVG_CELL_WIDTH = 9, SVG_CELL_HEIGHT = 18 }; /* pixels */
void snapshot_add_svg(struct buf *buf, struct screen *screen);
struct cast_meta {
    int64_t start_s; /* since 1970 */
    uint64_t end_ns; /* virtual, since the start */
    bool ended;
    int exit_code; /* if ended */
};
int cast_add(struct buf *buf, const struct log *log, const struct cast_meta *meta, int version,
             struct err *err);
/* cast_read.c: a cast, version 2 or 3, as a log. -EBADMSG with the line; -EFBIG beyond limits. */
int cast_read(const char *text, size_t length, struct log *ret, struct cast_meta *meta,
              struct err *err);
