/* SPDX-License-Identifier: MIT */
/* shim_words: patterns and answers of commands that are played, as words and as the JSON of
 * docs/formats/shim.md; and what is asked about calls. `play` is NULL while checking. */
#pragma once
#include "script/play.h"
#include <jansson.h>

int shim_vector_words(struct words *w, const struct vt_token *token, json_t *match);
/* [PATTERNS] | with TEXT..., then when ...; into `match` */
int shim_match_words(struct words *w, json_t *match);
int shim_answer_words(struct play *play, struct words *w, json_t *answer);
int shim_answers_words(struct play *play, struct words *w, json_t *answers); /* with `then` */

/* verbs_called.c: shim NAME called ..., never called ..., call N ... */
int shim_called(struct play *play, struct words *w, const char *name, bool never);
int shim_call_is(struct play *play, struct words *w, const char *name);
