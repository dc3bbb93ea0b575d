/* SPDX-License-Identifier: MIT */
/* box_files: the view of src/fs in the life of a box. */
#pragma once
#include "box/box_internal.h"
#include <sys/socket.h>

/* In init: enters the view. *ret_store is owned; -1 where there is none. */
int box_files_enter(const struct box *box, int socket, int *ret_store, struct err *err);
/* Takes the machine's files away from below the view, and says so over `socket`, with the store. */
int box_files_entered(int socket, int store, struct err *err);
/* In the supervisor: takes the store out of init's message. */
int box_files_receive(struct box *box, const struct msghdr *message);
/* When the guests are gone: writes the changes to the bundle, or to the place for the last run. */
int box_files_gather(struct box *box, struct err *err);
void box_files_done(struct box *box);
