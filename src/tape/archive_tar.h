/* SPDX-License-Identifier: MIT */
/* The 512-byte headers of POSIX ustar. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

enum { TAR_BLOCK = 512, TAR_NAME_MAX = 100 };

struct tar_entry {
    char name[TAR_NAME_MAX + 1];
    uint64_t size;
    bool is_directory;
};

/* False if the name or the size has no room in a header. */
bool tar_header_write(const struct tar_entry *entry, unsigned char *block);
/* 1 with an entry, 0 for the zero block that ends an archive, -1 with what is wrong. */
int tar_header_read(const unsigned char *block, struct tar_entry *ret, const char **ret_problem);
