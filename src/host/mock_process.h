/* SPDX-License-Identifier: MIT */
/* mock_process: doubles of programs. The spawner owns its doubles; a double is spawned once, and
 * its child handle is a part of it. One lock, the room's, guards all of a spawner. */
#pragma once
#include "host/host_internal.h"
#include "host/mock_wait.h"
#include "match/call.h"

struct mock_stream {
    struct buf bytes; /* what was printed and not read */
    bool held;        /* it stays open after the end */
};
struct vitro_mock_process {
    vitro_child child; /* first */
    vitro_spawner *spawner;
    vitro_mock_process *next;       /* in the order of the queue */
    struct vitro_clock_timer timer; /* of exit_after_ns; on a paused clock */
    struct call_rule rule;
    struct mock_stream streams[3]; /* 0: what was written to it */
    char *name;                    /* owned; of the program it was spawned as, "" before */
    char *cleanup_report;          /* owned */
    int pid, group, exit_code, signal;
    int spawn_error, wait_error;
    int64_t exit_after_ns;
    uint64_t exit_at_ns; /* monotonic; 0: not by itself */
    bool runs, ignores_signals, force_timeout;
    bool spawned, ended, killed, input_closed, interrupted, timer_armed;
    bool is_childs; /* nobody but the child handle knows of it: it goes with that */
    int *signals;   /* owned; those it got */
    size_t signal_count;
};
struct mock_spawned {
    struct call call; /* owns its texts */
    vitro_mock_process *process;
};
struct vitro_spawner {
    struct vitro_processes processes; /* first */
    struct mock_room room;
    vitro_mock_process *first, **last;
    vitro_mock_process *queue;     /* all before it are spawned; NULL: all are */
    struct mock_spawned **spawned; /* owned; one block each, so that what was handed out stays */
    size_t spawned_count;
};

extern const struct vitro_child_ops mock_child_ops; /* mock_child.c */
/* With the lock held. */
bool mock_end(vitro_mock_process *process, int exit_code, int signal); /* false: it had ended */
void mock_look(vitro_mock_process *process); /* ends it if its time has come */
bool mock_is_closed(const vitro_mock_process *process, int stream);
void mock_signal(vitro_mock_process *process, int signal);
/* Without the lock: takes it out of its spawner. */
void mock_drop(vitro_mock_process *process);
