/* SPDX-License-Identifier: MIT */
/* cmd_term: what the sub-verbs of vitro term share. */
#pragma once
#include "cli/cli.h"
#include "base/json.h"

const char *cmd_term_name(const struct cli_args *args); /* the first operand */
/* Puts the duration of an option into a request, if it was given. */
int cmd_term_duration(const struct cli_args *args, const char *option, json_t *request,
                      const char *member, struct err *err);
/* Takes the request, asks the session and prints what failed, or everything as JSON. Returns the
 * exit status; *ret, if not NULL, is owned. */
int cmd_term_ask(const struct cli_args *args, json_t *request, json_t **ret);
/* A text member of a reply to standard output, unless everything is printed as JSON. */
void cmd_term_print(const struct cli_args *args, const json_t *reply, const char *member);
