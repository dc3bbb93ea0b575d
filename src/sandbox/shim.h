/* SPDX-License-Identifier: MIT */
/* shim: commands that are played rather than run. A shim is the one static binary under the
 * command's name in the sandbox's bin/; what it answers is a list of rules, what it was asked is a
 * journal. Rules and answers are JSON (docs/formats/shim.md), which is what the scenario language
 * and the public interface both write:
 *
 *     {"match": {"args": ["issue", "create", "..."]}, "label": "issue create ...",
 *      "kind": "stub" | "plan", "times": N,
 *      "answers": [{"steps": [{"stdout": "https://..\n"}], "exit": 0}, ...]}
 *
 * A stub answers whenever it fits; a plan must be called as often as it says, in the order of the
 * plans of its command. Answers are given in order, the last one stays. */
#pragma once
#include "sandbox/sandbox.h"
#include "base/json.h"

/* Puts a shim of that name into the sandbox, once. Without rules it succeeds and says nothing. */
int shim_install(struct sandbox *sandbox, const char *name, struct err *err);
/* Takes rule, which is checked: its patterns compile, its answers are known. */
int shim_add_rule(struct sandbox *sandbox, const char *name, json_t *rule, struct err *err);
/* What is answered when no rule fits: an answer, taken. Without: the call fails, and the test. */
int shim_set_else(struct sandbox *sandbox, const char *name, json_t *answer, struct err *err);
int shim_set_stdin(struct sandbox *sandbox, const char *name, bool take, struct err *err);
/* Forgets rules, not calls. */
int shim_clear(struct sandbox *sandbox, const char *name, struct err *err);
/* The plan reaches the disk; to be called before a program starts. */
int shim_flush(struct sandbox *sandbox, struct err *err);
bool shim_is_installed(const struct sandbox *sandbox, const char *name);
void shim_plan_free(struct sandbox *sandbox);

/* One call, as the journal has it; json_t is the journal's entry. */
struct shim_log {
    json_t *calls; /* owned array of entries, of all commands, in order */
};
int shim_log_read(const struct sandbox *sandbox, struct shim_log *ret, struct err *err);
void shim_log_done(struct shim_log *log);
static inline __attribute__((unused)) void shim_log_done_cleanup(struct shim_log *log)
{
    shim_log_done(log);
}
/* Arguments of an entry without the command, joined by spaces. */
void shim_call_words(const json_t *entry, struct buf *ret);
/* Call `index` (from 0) of this command; NULL when there were fewer. */
const json_t *shim_call_at(const struct shim_log *log, const char *name, size_t index);
size_t shim_call_count(const struct shim_log *log, const char *name);
/* The first call of this command whose words hold every text of `parts` (NULL-ended); NULL: none.
 * Without parts: the first call. */
const json_t *shim_call_with(const struct shim_log *log, const char *name,
                             const char *const *parts);
/* Whether one does; 1, or 0 with what does not fit in `why`. */
int shim_call_fits(const json_t *call, const json_t *pattern, struct buf *why, struct err *err);
/* The first one that fits a pattern as of call_rule_from_json; -EINVAL for one that is none. */
int shim_call_like(const struct shim_log *log, const char *name, const json_t *pattern,
                   const json_t **ret, struct err *err);
/* All calls of a command, one line each, for people; says so when there were none. */
void shim_log_show(const struct shim_log *log, const char *name, struct buf *ret);

/* Everything that is wrong with what was called: unmatched, too many, out of order, plans that
 * were not met. One paragraph each; returns how many. */
int shim_verify(const struct sandbox *sandbox, struct buf *ret, size_t *ret_count, struct err *err);

/* shim_cassette.c: calls that were passed on with `record`, as a cassette
 * (docs/formats/cassette.md) that `vitro run --cassette` plays as well; replaces one that is there.
 */
int shim_record(const struct sandbox *sandbox, const char *name, const char *path, struct err *err);
/* Rules from a cassette: each recording of this command answers once, the same call in the order of
 * the recordings; those that nobody asked for fail the test. -ENOENT when it has none. */
int shim_replay(struct sandbox *sandbox, const char *name, const char *path, struct err *err);

/* Two-line presets. */
json_t *shim_answer_success(const char *output);               /* exit 0 */
json_t *shim_answer_failure(const char *error_text, int code); /* standard error, exit code */
json_t *shim_rule_any(const char *label, json_t *answer); /* a stub for every call; takes answer */
json_t *shim_bytes_to_json(const char *bytes, size_t length);
bool shim_bytes_from_json(const json_t *value, struct buf *ret);

/* tmux.c: a server of the sandbox's own. */
const char *sandbox_tmux_socket(struct sandbox *sandbox);           /* no server yet */
int sandbox_tmux_install(struct sandbox *sandbox, struct err *err); /* a shim that forces it */
/* What a pane shows, as bytes for a terminal of its size. -ENOENT when there is none. */
int sandbox_tmux_pane(struct sandbox *sandbox, const char *target, unsigned *ret_rows,
                      unsigned *ret_cols, struct buf *ret, struct err *err);
/* Runs tmux with our socket; output without the last newline. The exit code, or -errno. */
int sandbox_tmux(struct sandbox *sandbox, const char *const *args, struct buf *ret_output,
                 struct err *err);
