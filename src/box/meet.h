/* SPDX-License-Identifier: MIT */
/* meet: the network namespace, which the supervisor shares with its guests.
 *
 * Making it takes longer than anything else about a box's start. So the supervisor makes it for
 * itself while init builds the view on another CPU, and init comes in. Nothing in it takes the
 * number of a device: those of the view's mounts, which guests can see, are given in the order of
 * mounting. */
#pragma once
#include "box/box_internal.h"

/* In the supervisor, when init is on its way: makes it and sends it over `socket`. */
int meet_make(const struct box *box, int socket, struct err *err);

struct meet_door { /* in init */
    int socket;
    bool entered;
};
int meet_enter(struct meet_door *door, struct err *err); /* once */
