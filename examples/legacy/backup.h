/* SPDX-License-Identifier: MIT */
#pragma once
/* How many tries it took; 0: none helped; -1: another one is running. */
int backup_run(const char *host);
