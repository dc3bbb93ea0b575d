/* SPDX-License-Identifier: MIT */
/* bare: a box where the machine permits no namespaces, as in a container with Docker's default
 * profile. Clock, chance, identity and subprocesses are virtual as ever: the supervisor stops calls
 * for them. Files, network and process numbers are the machine's, so a bare box is made only for
 * who gave those up. What the supervisor puts in the guests' way (special.h) is in a directory of
 * the machine instead of a mount of the box, and guests are ended one by one. */
#pragma once
#include "box/box_internal.h"

bool bare_is_why(int code); /* whether namespaces are not to be had, when this was the answer */
bool bare_may_be(const struct box *box); /* whether everything was given up that needs them */
/* Makes the box a bare one. Otherwise `err`, which says why there are no namespaces, names the axis
 * that was asked for. */
int bare_begin(struct box *box, struct err *err);
void bare_end(struct box *box); /* does nothing for other boxes */
