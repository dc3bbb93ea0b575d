/* SPDX-License-Identifier: MIT */
/* spawn_actions: what posix_spawn is asked to do in the child. libc keeps the list of actions for
 * itself; its form is held against the public functions before it is read. */
#pragma once
#include <spawn.h>
#include <stdbool.h>

bool spawn_actions_known(void);
/* In the child. 0 or -errno. NULL: nothing. */
int spawn_actions_apply(const posix_spawn_file_actions_t *actions);
int spawn_attributes_apply(const posix_spawnattr_t *attributes);
