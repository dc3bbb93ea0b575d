/* SPDX-License-Identifier: MIT */
/* What the files of cassettes share. */
#pragma once
#include "proc/cassette.h"

struct group { /* entries with the same key, oldest first */
    size_t *ids, count;
    size_t first; /* those before it are used */
};

struct cassette {
    struct cassette_options options;
    struct cassette_entry *entries;
    size_t count;
    struct group *groups;
    size_t group_count;
    struct call_table *keys;  /* key to group */
    struct call_table *names; /* program to an entry */
    struct store **stores;
    size_t store_count;
    struct secrets *secrets;
    size_t next;        /* strict order: the entry whose turn it is */
    bool any_directory; /* some entries do not say where they were recorded */
};

void cassette_keep(struct cassette *cassette, const struct recording *recording, const char *data,
                   const char *host, struct store *store);

/* harn.c */
int harn_load(struct cassette *cassette, const char *path, const struct buf *text, struct err *err);
