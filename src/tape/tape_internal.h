/* SPDX-License-Identifier: MIT */
/* What the files of this part share with each other and with nobody else. */
#pragma once
#include "base/err.h"

struct store;

/* The fd of the store's directory (borrowed), or -ENOENT without a text when there is none. */
int store_directory(struct store *store, struct err *err);
int store_make_directory(struct store *store, struct err *err); /* the same; made if need be */
