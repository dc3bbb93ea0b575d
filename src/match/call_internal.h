/* SPDX-License-Identifier: MIT */
/* What the files of calls share. */
#pragma once
#include "match/call.h"

const char *call_program(const struct call *call, const struct call_view *view); /* as it counts */
const char *call_env(const struct call *call, const char *name);                 /* or NULL */
bool call_counts(const struct call_view *view, enum call_field field);
