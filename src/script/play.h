/* SPDX-License-Identifier: MIT */
/* play: one scenario being played. State that the verbs share: the sandbox, variables, axes of the
 * boxes to come, what the last program left, and how it failed if it did. */
#pragma once
#include "script/script.h"
#include "script/vt.h"
#include "script/words.h"
#include "box/box_options.h"
#include "sandbox/sandbox.h"
#include "vitro/term.h"

struct play_variable {
    char *name, *value; /* owned */
    bool locked;        /* set by a sabotage: the scenario cannot take it back */
};

struct play_axis {      /* a word of vitro run, for the programs to come */
    char *name, *value; /* owned; value NULL for a flag */
};

struct play_output { /* of the last exec or tmux */
    struct buf out, error;
    int code;
    uint64_t virtual_ns;
};

struct play_step {
    const struct vt_line *line;
    unsigned depth;
};

struct play {
    const struct script_options *options;
    const struct script_case *which;
    struct sandbox *sandbox;
    struct arena arena; /* of the current step */
    struct play_variable *variables;
    size_t variable_count;
    struct play_axis *axes;
    size_t axis_count;
    bool plain;
    unsigned rows, cols;
    char *term;          /* owned; TERM, NULL: the default */
    int64_t now_ns;      /* where the next clock starts; INT64_MIN: as the axis says */
    uint64_t virtual_ns; /* passed in all programs so far */
    const char *section;
    vitro_term *session; /* of the run whose lines are playing */
    bool session_ended;  /* its exit was looked at */
    struct play_output output;
    char *skip;         /* owned; why the rest is not played; NULL: it is */
    struct buf failure; /* everything about it */
    const struct vt_line *failed_at;
    bool sabotaging;         /* what is set now stays */
    bool sabotaged;          /* it is expected to fail: nothing is kept */
    struct play_step *steps; /* owned; lines of this section that were played */
    size_t step_count;
    unsigned depth;   /* of the lines that play */
    char **cassettes; /* owned, NAME=PATH: written when the scenario has passed */
    size_t cassette_count;
    int64_t real_start_ns; /* when it began, on the machine */
    int64_t *marks;        /* owned: when its lines began since files were stamped, play_stamp.c */
    size_t mark_count;
    unsigned recorded;       /* programs that left a recording */
    vitro_term *clients[16]; /* of tmux, until the scenario ends */
    size_t client_count;
    vitro_term **left; /* owned; sessions whose programs left others, until the scenario ends */
    size_t left_count;
    struct play_beside *beside;  /* owned; programs that run beside the scenario, the last first */
    struct play_beside *current; /* whose lines are playing */
};

/* A verb reads its words and, unless `play` is NULL, does what they say. */
typedef int play_verb(struct play *play, struct words *w);

enum play_where { /* in which lines a verb may stand */
                  AT_TOP = 1,
                  AT_RUN = 2,
                  AT_EXEC = 4,
                  AT_SHIM = 8,
                  AT_SABOTAGE = 16,
                  AT_TMUX = 32,
                  AT_BESIDE = 64,
};

struct play_word {
    const char *name;
    unsigned where;  /* enum play_where, or'ed */
    unsigned below;  /* what its own lines are; 0: it has none */
    play_verb *verb; /* NULL: read by script_file.c, not played */
    const char *usage, *help;
};
extern const struct play_word play_words[]; /* sorted by name; NULL name at the end */

/* Checks lines and all below them; nothing runs. */
int play_check(const struct vt_line *lines, size_t count, unsigned where,
               const struct script_options *options, struct err *err);
/* Plays lines one after the other, up to the first that fails: then -ECANCELED and `failure`. */
int play_lines(struct play *play, const struct vt_line *lines, size_t count, unsigned where);

/* Fails the line that plays, with as much text as it takes; returns -ECANCELED. */
int play_fail(struct play *play, const char *format, ...) PRINTF_LIKE(2, 3);
int play_fail_err(struct play *play, const struct err *err);

int play_variable(const struct play *play, const char *name, const char **ret, struct err *err);
void play_set(struct play *play, const char *name, const char *value, bool lock);
int play_check_regex(const char *expression, struct err *err);

/* The first group of the first match; false: none. */
bool play_capture(const char *expression, const char *bytes, size_t length, struct buf *ret);
/* verbs_run.c: the end of the program in the terminal; what it says about a call that failed. */
int play_session_exits(struct play *play, int code);
int session_told(struct play *play, int r);
/* verbs_screen.c: what is looked for on a screen; a golden of the session's screen. */
int screen_read_look(struct words *w, struct vitro_term_look *look);
int screen_read_golden(struct play *play, struct words *w);

enum { PLAY_FILE_MAX = 256 << 20 };
/* A file that is read may stand in the sandbox or beside the scenario. Returns owned. */
char *play_source(struct play *play, const char *path);
bool play_holds(const struct words_pattern *pattern, const char *bytes, size_t length);
/* What a test says about bytes: is, contains, lacks, matches, empty, json, same as. */
int play_compare(struct play *play, struct words *w, const char *subject, const char *bytes,
                 size_t length);

/* The box for the next program, from the axes. Texts are the play's. */
int play_box(struct play *play, struct box_options *ret, struct err *err);
void play_mark(struct play *play); /* play_stamp.c: a line begins */
/* play_stamp.c: files of the sandbox get times of the clock that is to start at `start_ns`, before
 * it when it is the `first` of its clock. When it starts then. */
int64_t play_stamp(struct play *play, int64_t start_ns, bool first);
/* DIR/CASE-N of a suite that is recorded, N from 1; what an earlier try left there is gone.
 * *ret is NULL when this program leaves nothing. */
int play_record(struct play *play, const char **ret, struct err *err);
void play_clock_after(struct play *play, const struct box_options *box, uint64_t virtual_ns);
/* PROGRAM with a slash: from the work directory, else from beside the scenario. */
const char *play_program(struct play *play, const char *program);

/* Starts a program without a box, with the sandbox's environment and directory, in a process group
 * of its own. */
int play_spawn(struct play *play, const char *const *argv, const int stdio[3], pid_t *ret);
/* As a shell tells its end; -ETIMEDOUT when it was killed after `timeout`, or a minute. */
int play_await(const struct play *play, pid_t pid);
void play_stop_all(struct play *play);                           /* verbs_beside.c */
void play_tell_beside(const struct play *play, struct buf *ret); /* what they wrote, for people */
/* Two files or trees: names, kinds, modes, links and bytes. What differs is told, a line each. */
void play_tree_differences(const char *one, const char *other, struct buf *ret);

/* verbs, by file */
play_verb verb_set, verb_env, verb_unset, verb_write, verb_append, verb_mkdir, verb_remove,
    verb_copy, verb_replace, verb_file, verb_chmod, verb_cd; /* verbs_files.c */
play_verb verb_axis, verb_plain, verb_boxed, verb_size, verb_term, verb_quota, verb_build,
    verb_repeat, verb_section, verb_needs, verb_skip; /* verbs_setting.c */
play_verb verb_exec, verb_stdin, verb_stdout, verb_stderr, verb_exits, verb_takes,
    verb_capture; /* verbs_exec.c */
play_verb verb_shim, verb_reply, verb_expect, verb_else, verb_spy, verb_success, verb_failure,
    verb_no, verb_record, verb_replay; /* verbs_shim.c */
play_verb verb_run, verb_see, verb_not, verb_type, verb_press, verb_send, verb_eof, verb_resize,
    verb_signal, verb_settled, verb_advance, verb_waits; /* verbs_run.c */
play_verb verb_screen, verb_never, verb_ever, verb_cursor, verb_title, verb_mark,
    verb_snapshot;                                         /* verbs_screen.c */
play_verb verb_start, verb_stop, verb_wait, verb_until;    /* verbs_beside.c */
play_verb verb_tmux, verb_pane, verb_output, verb_clients; /* verbs_tmux.c */
