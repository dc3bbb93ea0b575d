/* SPDX-License-Identifier: MIT */
/* cli: the command as tables. A verb is one file cmd_<verb>.c with one `const struct command` a
 * verb or sub-verb; everything a person or a shell can learn about it (help, man synopsis and
 * options, completions) is printed from the table, and so is the answer to a mistyped word.
 *
 * Every command also understands --help and --json; --version belongs to `vitro` itself. */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include <stdbool.h>
#include <stddef.h>

enum exit_code { /* docs: vitro help exit-codes */
                 EXIT_CLEAN = 0,
                 EXIT_FINDINGS = 1,
                 EXIT_USAGE = 2,
                 EXIT_DIVERGED = 120,
                 EXIT_LEAK = 121,
                 EXIT_UNMATCHED = 122,
                 EXIT_DEADLOCK = 123,
                 EXIT_CEILING = 124,
                 EXIT_TROUBLE = 125,
                 EXIT_NOT_EXECUTABLE = 126,
                 EXIT_NOT_FOUND = 127,
};

struct cli_option {
    const char *name;  /* long form without dashes; NULL ends the table */
    const char *value; /* what stands behind it ("DIR"); NULL for a flag */
    const char *help;  /* one line, lower case */
    char letter;       /* short form, 0 for none */
    bool repeats;      /* may be given more than once */
};

struct cli_args; /* a command line, read against a table */

struct command {
    const char *name;                 /* "run", or "tape show" for a sub-verb */
    const char *summary;              /* one line for the list of verbs */
    const char *operands;             /* "BUNDLE", "[options] -- PROGRAM [ARG...]"; "" for none */
    int operands_min, operands_max;   /* -1: any number */
    const struct cli_option *options; /* may be NULL */
    const char *const *examples;      /* command line, explanation, ..., NULL; may be NULL */
    bool stops_at_operand;            /* options end at the first operand, as for `run` */
    int (*run)(const struct cli_args *args);
};

extern const struct command *const cli_commands[]; /* sorted by name, NULL at the end */

/* The table is the authority: asking for a name that is not in it is a mistake in the program. */
bool cli_flag(const struct cli_args *args, const char *name);
const char *cli_value(const struct cli_args *args, const char *name); /* the last one, or NULL */
size_t cli_values(const struct cli_args *args, const char *name, const char *const **ret);
size_t cli_operands(const struct cli_args *args,
                    const char *const **ret); /* NULL behind the last */
bool cli_json(const struct cli_args *args);

/* Reads argv (behind the verb). -EINVAL with a text that names the closest option. */
int cli_parse(const struct command *command, int argc, char **argv, struct cli_args **ret,
              struct err *err);
struct cli_args *cli_args_free(struct cli_args *args);
DEFINE_CLEANUP(struct cli_args *, cli_args_free)

/* Prints "vitro: text" on standard error and returns `code`. */
int cli_fail(int code, const struct err *err);
int cli_usage(const struct command *command, const char *format, ...) PRINTF_LIKE(2, 3);
bool cli_colour(int fd); /* a terminal, and neither NO_COLOR nor TERM=dumb */

int cli_main(int argc, char **argv);
const struct command *cli_find(const char *name);

/* cli_help.c: the views of the tables. */
void cli_add_synopsis(struct buf *buf, const struct command *command);
void cli_add_help(struct buf *buf, const struct command *command);
void cli_add_overview(struct buf *buf);
void cli_add_man(struct buf *buf, const char *verb); /* SYNOPSIS and OPTIONS of all sub-verbs */
int cli_add_completions(struct buf *buf, const char *shell); /* -EINVAL for an unknown shell */
