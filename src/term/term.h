/* SPDX-License-Identifier: MIT */
/* term: what other parts of vitro use beside include/vitro/term.h. */
#pragma once
#include "base/err.h"
#include "vitro/term.h"
#include <stdbool.h>

struct proc_options;

/* vitro_term_open with what is to be done about subprocesses said as a box wants it, instead of by
 * the options' cassette. Borrows `proc` while it starts. */
vitro_term *term_open_with(const struct vitro_term_options *options,
                           const struct proc_options *proc, struct err *err);
/* Whether a program without a box has ended and left others, as a server that it started: they live
 * as long as the session. */
bool term_left_some(const vitro_term *t);
/* Whether a style is written as vitro_term_look takes it. */
int term_check_style(const char *style, struct err *err);
/* Whether keys are written as vitro_term_type takes them; places of the mouse are not looked at. */
int term_check_keys(const char *keys, struct err *err);
