/* SPDX-License-Identifier: MIT */
/* box_abi: what the supervisor and code inside guests agree on. The only header that guest-side
 * code includes: no libc, nothing else of ours.
 *
 * At every exec the supervisor maps into the new image, at one place in memory:
 *
 *     BASE              guest page    read-write, private to the process: counters, scratch
 *     BASE + 1 page     patch page    code that the supervisor writes for this process (fast.c)
 *     BASE + 2 pages    clock page    read-only, shared by the whole box, written by the supervisor
 *     BASE + 3 pages    vDSO image    read and execute, shared; AT_SYSINFO_EHDR points here
 *
 * The last two are one System V segment, attached by number: no file descriptor and no path is
 * needed in the guest, so it works after chroot, setuid and close-everything. */
#pragma once

/* A call that no kernel has, which filters hand to the supervisor: the new image has its pages. */
#define BOX_CALL_READY 0x7fff

/* Devices of major 0 that guests can number by themselves. */
#define BOX_DEVICES 2048

#ifndef __ASSEMBLER__
#include <stdint.h>

#define BOX_ABI_VERSION 2u
#define BOX_PAGE        4096ul
#define BOX_IMAGE_PAGES 2ul

/* Where the pages are, from BASE on: within reach of a jump from the libraries, far enough below
 * them to be out of the way of what is mapped later. */
#define BOX_BASE       0x7fffb0000000ul
#define BOX_PATCH_PAGE (BOX_BASE + 1 * BOX_PAGE)
#define BOX_CLOCK_PAGE (BOX_BASE + 2 * BOX_PAGE)
#define BOX_IMAGE      (BOX_BASE + 3 * BOX_PAGE)

enum box_clock_drive {
    BOX_DRIVE_HELD = 0, /* the page says what time it is */
    BOX_DRIVE_REAL = 1, /* the kernel's clock, shifted and scaled by what the page says */
};

struct box_clock_page {
    uint32_t version;
    uint32_t sequence; /* odd while the supervisor writes */
    uint32_t drive;
    uint32_t scale; /* BOX_DRIVE_REAL: virtual ns for each real ns */
    int64_t monotonic_ns;
    int64_t realtime_offset_ns; /* realtime = monotonic + this */
    int64_t real_base_ns;       /* BOX_DRIVE_REAL: kernel monotonic at which monotonic_ns held */
    uint64_t read_limit;        /* reads by one process before it must ask the supervisor */
    int64_t never[2];           /* a timespec that does not end: the timeout of waits we time */
    int64_t file_start_s;       /* files as new as this were written in the box */
    int64_t age_limit_s;        /* files as new as this look different to who asks for their age */
    uint64_t writes_free;       /* writes to files need not be noted before the clock moves; then */
    int64_t fresh[2];           /* a stamp behind this (s, ns) was made since the clock moved */
    int64_t now[2];             /* and means this */
    int64_t zero[2], past[2];   /* no time at all, and a time long ago: waits that are over */
    uint64_t shows_devices;     /* as the box numbers them (numbers.h), by the kernel's minor: */
    uint8_t devices[BOX_DEVICES]; /* 0: not met yet */
};

_Static_assert(sizeof(struct box_clock_page) <= BOX_PAGE, "guest ABI");

/* A wait whose timeout argument was replaced comes back through the return stub of the image
 * (vdso_return.S) with its slot's address in rcx, which a system call may clobber. */
struct box_return_slot {
    uint64_t argument; /* what the guest had in the register */
    uint64_t ip;       /* where its call returns to */
};

#define BOX_SLOTS 192

struct box_guest_page {
    uint64_t reads;                /* clock reads since the clock last moved */
    uint64_t kernel_clock_gettime; /* BOX_DRIVE_REAL: the kernel's own function */
    uint64_t sequence; /* the clock page's, when `reads` began: a moved clock resets it */
    uint64_t in_special_directory;           /* relative paths may be below /proc, /dev or /sys */
    struct box_return_slot slots[BOX_SLOTS]; /* one a thread that waits */
    unsigned char scratch[BOX_PAGE - 96 - 16 * BOX_SLOTS]; /* the supervisor's, while stopped */
    char stub_path[64]; /* of the program that stands in for recorded ones, sub.c */
};

_Static_assert(sizeof(struct box_clock_page) == 160 + BOX_DEVICES, "guest ABI");
_Static_assert(sizeof(struct box_guest_page) == BOX_PAGE, "guest ABI");
#endif
