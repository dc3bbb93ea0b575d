/* SPDX-License-Identifier: MIT */
/* loopback: the box's only network, set up so that time plays no part in it. */
#pragma once

/* Brings lo up and has every segment acknowledged at once. In a fresh network namespace, with the
 * rights to do so; what fails is left as it is. */
void loopback_up(void);
