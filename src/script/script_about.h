/* SPDX-License-Identifier: MIT */
/* script_about: lines about the scenario itself (tags, skip, needs, retries, quarantine, examples,
 * sabotage), which are read with the file and not played. They know no variables. */
#pragma once
#include "script/script.h"
#include "script/vt.h"

/* "path:line:column: text" at a word, or at the line when it has no such word. */
int about_wrong(const struct vt_line *line, size_t word, struct err *err, const char *format, ...)
    PRINTF_LIKE(4, 5);
const char *about_verb(const struct vt_line *line); /* "" of a row */
/* A word that is known when the file is read: no variables. NULL: it has some, or is not there. */
const char *about_word(const struct vt_line *line, size_t index);
/* What a line says about the scenario; other lines say nothing. */
int about_read(const struct vt_line *line, struct script_case *which, struct err *err);
/* A variable that nothing in a scenario makes is wrong; `given` are NAME=VALUE, NULL-ended. */
int variables_check(const struct script_case *which, const char *const *given, struct err *err);
int about_check_examples(const struct vt_line *line, struct err *err);
