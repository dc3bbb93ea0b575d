/* SPDX-License-Identifier: MIT */
/* What the tape verbs share: which tape is meant, which store, and how results are printed. */
#pragma once
#include "cli/cli.h"
#include "tape/store.h"
#include <jansson.h>

/* The tape an operand means (a bundle's, if it is a directory); returns owned. */
char *cmd_tape_operand(const struct cli_args *args, size_t index);
/* Opens the store of a tape; with --store, if the table has it and it is given. */
int cmd_tape_store(const struct cli_args *args, const char *tape_path, bool has_url, bool read_only,
                   struct store **ret, struct err *err);
void cmd_print_json(json_t *value); /* canonical, with a newline; takes value */
void cmd_print(const struct buf *text);
