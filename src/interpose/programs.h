/* SPDX-License-Identifier: MIT */
/* programs: what the processes of a bench run, through its cassette.
 *
 * A process that a thread of the bench forks has a socket to a thread here, which serves it until
 * it ends. When it wants to become another program it asks instead: the call and its three standard
 * streams go through the socket, the program is run or played here, and the process ends as the
 * program ended. So the cassette is used in one place, by whatever way a program was started, and
 * all the rest (pids, pipes, waiting, groups) is real.
 *
 * The process counts as running, for the bench's clock, from the fork until its program has been
 * played; then the recorded time passes. */
#pragma once
#include "clock/clock.h"
#include "interpose/world.h"
#include "vitro/process.h"

struct programs {
    vitro_cassette *cassette; /* borrowed; NULL when it was closed */
    pthread_mutex_t lock;     /* of the cassette */
    struct served *first;
    int socket; /* in a child: to who serves it; -1 in the bench's own process */
};

void programs_init(struct programs *programs, vitro_cassette *cassette);
/* No program is run or played from now on. */
void programs_close(struct programs *programs);

/* A fork, in a thread of the bench. Real but for the socket. */
pid_t programs_fork(struct lane *lane, struct vitro_world *world, pid_t (*real)(void));
/* In a child: becomes the program, or returns -errno. */
int programs_exec(struct programs *programs, const char *file, char *const argv[],
                  char *const envp[]);
