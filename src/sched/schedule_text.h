/* SPDX-License-Identifier: MIT */
#pragma once
#include "base/buf.h"

/* Appends a word so that the reader of schedules takes it for one. */
void schedule_add_word(struct buf *buf, const char *word);
char *schedule_decode(const char *word, size_t length); /* and back; returns owned */
