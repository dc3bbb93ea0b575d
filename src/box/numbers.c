/* SPDX-License-Identifier: MIT */
#include "box/numbers.h"
#include "base/fd.h"
#include "base/text.h"
#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum nameless { OF_PIPES, OF_SOCKETS, OF_NAMESPACES, OF_MEMORY, OF_PIDS, NAMELESS_COUNT };
enum space { DEVICES, MOUNTS, INODES, SPACES }; /* inodes of the device d are in INODES + d */

struct number {
    uint64_t space, real, shown; /* shown 0: a free place */
};

struct numbers {
    struct number *table;
    size_t count, capacity; /* capacity is a power of two, or 0 */
    uint64_t last[SPACES];
    uint64_t nameless[NAMELESS_COUNT]; /* their devices, by the kernel's numbers */
};

static struct number *place_of(const struct numbers *numbers, uint64_t space, uint64_t real)
{
    size_t mask = numbers->capacity - 1;
    size_t at = (size_t)((real * 0x9e3779b97f4a7c15u ^ space * 0xc2b2ae3d27d4eb4fu) >> 20) & mask;

    while (numbers->table[at].shown &&
           (numbers->table[at].real != real || numbers->table[at].space != space))
        at = (at + 1) & mask;
    return &numbers->table[at];
}

static void grow(struct numbers *numbers)
{
    struct number *old = numbers->table;
    size_t old_capacity = numbers->capacity;

    numbers->capacity = old_capacity ? old_capacity * 2 : 64;
    numbers->table = mem_alloc(numbers->capacity * sizeof *numbers->table);
    for (size_t i = 0; i < old_capacity; i++)
        if (old[i].shown)
            *place_of(numbers, old[i].space, old[i].real) = old[i];
    free(old);
}

static uint64_t number_of(struct numbers *numbers, uint64_t space, uint64_t real)
{
    if (numbers->count * 2 >= numbers->capacity)
        grow(numbers);
    struct number *place = place_of(numbers, space, real);
    if (!place->shown) {
        *place = (struct number){space, real, ++numbers->last[space < INODES ? space : INODES]};
        numbers->count++;
    }
    return place->shown;
}

static bool is_nameless(const struct numbers *numbers, uint64_t device)
{
    for (size_t i = 0; i < NAMELESS_COUNT; i++)
        if (numbers->nameless[i] == device)
            return true;
    return false;
}

/* Lets guests find it without asking (guest/vdso_fast.S); nameless files are always asked for. */
static void tell_guests(struct box *box, uint64_t device, uint64_t shown)
{
    struct box_clock_page *page = box->clock.page;

    if (minor(device) < BOX_DEVICES && shown <= UINT8_MAX && !is_nameless(box->numbers, device))
        page->devices[minor(device)] = (uint8_t)shown;
}

static uint64_t add_device(struct box *box, uint64_t device)
{
    uint64_t shown = number_of(box->numbers, DEVICES, device);

    tell_guests(box, device, shown);
    return makedev(0, (unsigned)shown);
}

static uint64_t device_of_fd(int fd)
{
    struct stat st;
    bool found = fd >= 0 && fstat(fd, &st) == 0;

    fd_close(fd);
    return found ? st.st_dev : 0;
}

static void learn_nameless(struct numbers *numbers)
{
    struct stat st;
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) == 0) {
        numbers->nameless[OF_PIPES] = device_of_fd(ends[0]);
        fd_close(ends[1]);
    }
    numbers->nameless[OF_SOCKETS] = device_of_fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    numbers->nameless[OF_MEMORY] = device_of_fd(memfd_create("vitro", MFD_CLOEXEC));
    numbers->nameless[OF_PIDS] = device_of_fd((int)syscall(SYS_pidfd_open, getpid(), 0));
    if (stat("/proc/self/ns/mnt", &st) == 0)
        numbers->nameless[OF_NAMESPACES] = st.st_dev;
}

void numbers_expect(struct box *box)
{
    if (box->options->identity_real)
        return;
    box->numbers = mem_alloc(sizeof *box->numbers);
    learn_nameless(box->numbers);
}

/* What every box has comes first, whichever of it a program happens to meet first. */
void numbers_open(struct box *box)
{
    static const char *const first[] = {".", "tmp", "proc", "sys", "dev/pts"};
    struct stat st;

    if (!box->numbers)
        return;
    for (size_t i = 0; i < ARRAY_LENGTH(first); i++) {
        if (fstatat(box->root_fd, first[i], &st, AT_SYMLINK_NOFOLLOW) == 0 && major(st.st_dev) == 0)
            (void)add_device(box, st.st_dev);
    }
    for (size_t i = 0; i < NAMELESS_COUNT; i++)
        if (box->numbers->nameless[i])
            (void)add_device(box, box->numbers->nameless[i]);
}

uint64_t numbers_device(struct box *box, uint64_t device)
{
    return major(device) == 0 && box->numbers ? add_device(box, device) : device;
}

uint64_t numbers_inode(struct box *box, uint64_t device, uint64_t inode)
{
    if (major(device) != 0 || !box->numbers || !is_nameless(box->numbers, device))
        return inode;
    return number_of(box->numbers, INODES + device, inode);
}

uint64_t numbers_mount(struct box *box, uint64_t id)
{
    return box->numbers ? number_of(box->numbers, MOUNTS, id) : id;
}

/* "pipe:[", "socket:[", and the kinds of namespaces; anything else has a name, or is no file. */
static enum nameless kind_of(const char *target, size_t length)
{
    static const char *const namespaces[] = {"cgroup", "ipc",  "mnt",  "net",
                                             "pid",    "time", "user", "uts"};

    if (length == 4 && memcmp(target, "pipe", 4) == 0)
        return OF_PIPES;
    if (length == 6 && memcmp(target, "socket", 6) == 0)
        return OF_SOCKETS;
    for (size_t i = 0; i < ARRAY_LENGTH(namespaces); i++)
        if (strlen(namespaces[i]) == length && memcmp(target, namespaces[i], length) == 0)
            return OF_NAMESPACES;
    return NAMELESS_COUNT;
}

size_t numbers_link(struct box *box, char *target, size_t length, size_t size)
{
    char text[64], *end;
    const char *mark = memchr(target, ':', length);

    if (length >= sizeof text || length < 4 || target[length - 1] != ']' || !mark ||
        mark[1] != '[' || !isdigit((unsigned char)mark[2]) || !box->numbers)
        return length;
    enum nameless kind = kind_of(target, (size_t)(mark - target));
    memcpy(text, target, length);
    text[length] = '\0';
    unsigned long long inode = strtoull(text + (mark - target) + 2, &end, 10);
    if (kind == NAMELESS_COUNT || end != text + length - 1)
        return length;
    int made =
        snprintf(text + (mark - target) + 2, sizeof text - (size_t)(mark - target) - 2, "%llu]",
                 (unsigned long long)numbers_inode(box, box->numbers->nameless[kind], inode));
    size_t whole = (size_t)(mark - target) + 2 + (size_t)made;
    whole = whole < size ? whole : size;
    memcpy(target, text, whole);
    return whole;
}

struct numbers *numbers_free(struct numbers *numbers)
{
    if (numbers)
        free(numbers->table);
    free(numbers);
    return NULL;
}
