/* SPDX-License-Identifier: MIT */
/* remote: a session that outlives the command which opened it. It lives in a process of its own,
 * reached by name through a socket in a directory that only its user can enter: a line of JSON
 * there, a line of JSON back. The process ends when it is told to, and by itself when nobody asked
 * it anything for a while; the program in it ends with it. */
#pragma once
#include "base/json.h"
#include "vitro/term.h"

/* Letters, digits, '.', '_' and '-', at most 64. */
bool remote_name_is_good(const char *name);
/* Opens the session in a new process and returns when the program has settled for the first time.
 * -EEXIST when there is one of that name. */
int remote_open(const char *name, const struct vitro_term_options *options, uint64_t idle_ns,
                struct err *err);
/* Asks. Returns owned. -ENOENT when there is no such session. */
int remote_ask(const char *name, const json_t *request, json_t **ret, struct err *err);
/* The names of all sessions, sorted; returns owned. What a killed process left is cleared away. */
int remote_list(json_t **ret, struct err *err);

/* remote_ops.c: one request, one answer. True when it was the last ("close"). */
bool remote_answer(vitro_term *t, const json_t *request, json_t **ret);
