/* SPDX-License-Identifier: MIT */
#include "tape/archive_tar.h"
#include <stdio.h>
#include <string.h>

/* Offsets and widths of the fields we use, by POSIX.1-2017 pax, "ustar interchange format". */
enum {
    AT_NAME = 0,
    AT_MODE = 100,
    AT_UID = 108,
    AT_GID = 116,
    AT_SIZE = 124,
    AT_MTIME = 136,
    AT_CHECKSUM = 148,
    AT_TYPE = 156,
    AT_MAGIC = 257,
};

static void put_octal(unsigned char *to, int digits, uint64_t value)
{
    char text[24];

    (void)snprintf(text, sizeof text, "%0*llo", digits, (unsigned long long)value);
    memcpy(to, text, (size_t)digits + 1);
}

static bool get_octal(const unsigned char *from, int width, uint64_t *ret)
{
    uint64_t value = 0;
    int i = 0;

    while (i < width && from[i] == ' ')
        i++;
    if (i == width || from[i] < '0' || from[i] > '7')
        return false;
    for (; i < width && from[i] >= '0' && from[i] <= '7'; i++)
        value = value << 3 | (uint64_t)(from[i] - '0');
    *ret = value;
    return i == width || from[i] == ' ' || from[i] == '\0';
}

static uint64_t checksum(const unsigned char *block)
{
    uint64_t sum = 0;

    for (int i = 0; i < TAR_BLOCK; i++)
        sum += i >= AT_CHECKSUM && i < AT_CHECKSUM + 8 ? ' ' : block[i];
    return sum;
}

bool tar_header_write(const struct tar_entry *entry, unsigned char *block)
{
    static const unsigned char magic[8] = {'u', 's', 't', 'a', 'r', 0, '0', '0'};
    size_t length = strlen(entry->name);

    if (length > TAR_NAME_MAX || entry->size >= UINT64_C(1) << 33)
        return false;
    memset(block, 0, TAR_BLOCK);
    (void)snprintf((char *)block + AT_NAME, TAR_NAME_MAX + 1, "%s", entry->name);
    put_octal(block + AT_MODE, 7, entry->is_directory ? 0755 : 0644);
    put_octal(block + AT_UID, 7, 0);
    put_octal(block + AT_GID, 7, 0);
    put_octal(block + AT_SIZE, 11, entry->size);
    put_octal(block + AT_MTIME, 11, 0);
    block[AT_TYPE] = entry->is_directory ? '5' : '0';
    memcpy(block + AT_MAGIC, magic, sizeof magic);
    put_octal(block + AT_CHECKSUM, 6, checksum(block));
    block[AT_CHECKSUM + 7] = ' ';
    return true;
}

int tar_header_read(const unsigned char *block, struct tar_entry *ret, const char **ret_problem)
{
    static const unsigned char zeros[TAR_BLOCK];
    uint64_t sum;

    *ret_problem = NULL;
    if (memcmp(block, zeros, TAR_BLOCK) == 0)
        return 0;
    if (memcmp(block + AT_MAGIC, "ustar", 5) != 0)
        *ret_problem = "not a tar archive";
    else if (!get_octal(block + AT_CHECKSUM, 8, &sum) || sum != checksum(block))
        *ret_problem = "a header is damaged";
    else if (!get_octal(block + AT_SIZE, 12, &ret->size))
        *ret_problem = "a header has no size";
    else if (block[AT_TYPE] != '0' && block[AT_TYPE] != '\0' && block[AT_TYPE] != '5')
        *ret_problem = "an entry is neither file nor directory";
    else if (block[345])
        *ret_problem = "a name is too long";
    if (*ret_problem)
        return -1;
    memcpy(ret->name, block + AT_NAME, TAR_NAME_MAX);
    ret->name[TAR_NAME_MAX] = '\0';
    ret->is_directory = block[AT_TYPE] == '5';
    return 1;
}
