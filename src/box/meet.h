/* SPDX-License-Identifier: MIT */
/* meet: the namespaces that the supervisor shares with its guests: IPC, for the clock page is a
 * System V segment, and network.
 *
 * Making them takes longer than anything else about a box's start. So the supervisor makes them for
 * itself while init builds the view on another CPU, and init comes in. */
#pragma once
#include "box/box_internal.h"

/* In the supervisor, when init is on its way: makes them and sends them over `socket`. */
int meet_make(const struct box *box, int socket, struct err *err);

struct meet_door { /* in init */
    int socket;
    bool entered;
};
int meet_enter(struct meet_door *door, struct err *err); /* once */
