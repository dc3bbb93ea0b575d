/* SPDX-License-Identifier: MIT */
/* host_real: the machine as a host. */
#pragma once
#include "base/buf.h"
#include "host/host_internal.h"
#include <pthread.h>

struct host_real {
    struct vitro_host host; /* first */
    struct vitro_stdio stdio;
    struct vitro_env env;
    struct vitro_fs fs;
    struct vitro_random random;
    struct vitro_net net;
    struct vitro_processes processes;
    struct vitro_terminal terminal;
    pthread_mutex_t lock; /* of what follows */
    char **variables;     /* owned; "NAME=VALUE", sorted, NULL-ended */
    char **old;           /* owned; what was replaced: its values may be in use */
    struct buf input;     /* read and not given */
    bool input_ended;
    vitro_spawner *spawner;                           /* owned; plays what the cassette knows */
    struct vitro_overlay *overlay;                    /* borrowed */
    vitro_cassette *cassette;                         /* borrowed */
    const struct vitro_host_capability *capabilities; /* borrowed */
};

#define REAL_OF(pointer, member)                                                                   \
    ((struct host_real *)(void *)((char *)(pointer)-offsetof(struct host_real, member)))

void real_fs_init(struct host_real *real);
void real_net_init(struct host_real *real);
/* The variables as of now; owned. */
char **real_env_list(struct host_real *real);
