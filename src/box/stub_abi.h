/* SPDX-License-Identifier: MIT */
/* stub_abi: what the supervisor and the stub agree on. The stub is the program that stands in for a
 * recorded one (guest/stub.c): it walks over a list of operations that the supervisor wrote into
 * its memory, and asks for more when it comes to STUB_MORE. No libc, nothing else of ours. */
#pragma once
#include <stdint.h>

#define STUB_BLOCK   UINT64_C(0x20000000) /* where the block is in its memory */
#define STUB_CALL    0x7671 /* a system call number that only the supervisor answers */
#define STUB_OPS     64
#define STUB_ROOM    (256 * 1024)
#define STUB_FILE_FD (-2) /* in an fd's place: what STUB_OPEN opened last */

enum stub_what {
    STUB_MORE,  /* ask the supervisor for the next operations; error: in its first argument */
    STUB_WRITE, /* all of `length` bytes at `address` to `fd` */
    STUB_READ,  /* `length` bytes, or up to the end, to `address`; the count goes to `got` */
    STUB_OPEN,  /* a file for writing: path at `address`, flags in `length`, mode in `fd` */
    STUB_CHECK, /* a plain call (number, arguments); an error is told by the next STUB_MORE */
    STUB_CALLS, /* the same, and its result does not matter */
    STUB_SLEEP, /* until the monotonic time at `address`, a struct timespec */
    STUB_FORK,  /* a child goes on behind the next `length` operations, the parent does them */
    STUB_EXIT,  /* with the status in `fd` */
    STUB_DIE,   /* by the signal in `fd` */
    STUB_WAIT,  /* for a signal that ends it */
    STUB_TAKE,  /* waits for a signal that is blocked, of the mask at `address` */
};

struct stub_op {
    uint32_t what;
    int32_t fd;
    uint64_t address, length;
    uint64_t arguments[6]; /* CHECK, CALLS; the number is in `length` */
};

struct stub_block {
    uint64_t got;    /* by the last STUB_READ */
    int64_t error;   /* -errno of the first STUB_CHECK or STUB_OPEN that failed since STUB_MORE */
    uint64_t failed; /* which operation it was */
    int64_t file_fd;
    struct stub_op ops[STUB_OPS];
    unsigned char room[STUB_ROOM];
};

_Static_assert(sizeof(struct stub_op) == 72, "stub ABI");
