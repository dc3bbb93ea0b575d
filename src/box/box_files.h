/* SPDX-License-Identifier: MIT */
/* box_files: the view of src/fs in the life of a box. */
#pragma once
#include "box/box_internal.h"
#include <sys/socket.h>

/* In init: enters the view and sends its store, if there is one, over `socket`. */
int box_files_enter(const struct box *box, int socket, struct err *err);
/* In the supervisor: takes the store out of init's message. */
int box_files_receive(struct box *box, const struct msghdr *message);
/* When the guests are gone: writes the changes to the bundle, or to the place for the last run. */
int box_files_gather(struct box *box, struct err *err);
void box_files_done(struct box *box);
