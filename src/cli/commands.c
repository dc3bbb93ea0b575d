/* SPDX-License-Identifier: MIT */
/* The list of all verbs, sorted by name. */
#include "cli/cli.h"

extern const struct command command_apply;
extern const struct command command_clock_advance;
extern const struct command command_clock_now;
extern const struct command command_clock_pending;
extern const struct command command_clock_set;
extern const struct command command_conform;
extern const struct command command_diff;
extern const struct command command_doctor;
extern const struct command command_fidelity;
extern const struct command command_help;
extern const struct command command_replay;
extern const struct command command_run;
extern const struct command command_sched_lanes;
extern const struct command command_sched_show;
extern const struct command command_sched_shrink;
extern const struct command command_tape_annotate_add;
extern const struct command command_tape_annotate_export;
extern const struct command command_tape_annotate_list;
extern const struct command command_tape_annotate_validate;
extern const struct command command_tape_diff;
extern const struct command command_tape_export;
extern const struct command command_tape_fetch;
extern const struct command command_tape_gc;
extern const struct command command_tape_import;
extern const struct command command_tape_push;
extern const struct command command_tape_show;
extern const struct command command_tape_verify;
extern const struct command command_term_advance;
extern const struct command command_term_cast;
extern const struct command command_term_close;
extern const struct command command_term_expect;
extern const struct command command_term_list;
extern const struct command command_term_open;
extern const struct command command_term_output;
extern const struct command command_term_play;
extern const struct command command_term_resize;
extern const struct command command_term_screen;
extern const struct command command_term_send;
extern const struct command command_term_settle;
extern const struct command command_term_signal;
extern const struct command command_term_svg;
extern const struct command command_test;
extern const struct command command_verify;

const struct command *const cli_commands[] = {
    &command_apply,
    &command_clock_advance,
    &command_clock_now,
    &command_clock_pending,
    &command_clock_set,
    &command_conform,
    &command_diff,
    &command_doctor,
    &command_fidelity,
    &command_help,
    &command_replay,
    &command_run,
    &command_sched_lanes,
    &command_sched_show,
    &command_sched_shrink,
    &command_tape_annotate_add,
    &command_tape_annotate_export,
    &command_tape_annotate_list,
    &command_tape_annotate_validate,
    &command_tape_diff,
    &command_tape_export,
    &command_tape_fetch,
    &command_tape_gc,
    &command_tape_import,
    &command_tape_push,
    &command_tape_show,
    &command_tape_verify,
    &command_term_advance,
    &command_term_cast,
    &command_term_close,
    &command_term_expect,
    &command_term_list,
    &command_term_open,
    &command_term_output,
    &command_term_play,
    &command_term_resize,
    &command_term_screen,
    &command_term_send,
    &command_term_settle,
    &command_term_signal,
    &command_term_svg,
    &command_test,
    &command_verify,
    NULL,
};
