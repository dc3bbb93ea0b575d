/* SPDX-License-Identifier: MIT */
/* Zone files (TZif, RFC 8536), and where to find them. Version 1 files have 32-bit times; later
 * ones have a second block with 64-bit times and a rule behind it, and only that is used. */
#include "base/buf.h"
#include "base/fd.h"
#include "base/text.h"
#include "service/zone.h"
#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static_assert(sizeof(struct vitro_clock_error) == sizeof(struct err), "one layout");

enum { HEADER = 44, FILE_MAX_BYTES = 1 << 20, NAME_MAX_BYTES = 100 };

static int64_t number(const unsigned char *at, int bytes)
{
    uint64_t value = at[0] & 0x80 ? UINT64_MAX : 0; /* two's complement */

    for (int i = 0; i < bytes; i++)
        value = value << 8 | at[i];
    return (int64_t)value;
}

struct block {
    size_t times, kinds, letters, leaps, standard, universal; /* counts */
    int time_bytes;
    size_t length; /* header included */
};

static int bad(struct err *err, const char *name, const char *why)
{
    return err_set(err, -EBADMSG, "time zone '%s': %s", name, why);
}

static int block_read(const unsigned char *at, size_t left, int time_bytes, const char *name,
                      struct block *ret, struct err *err)
{
    if (left < HEADER || memcmp(at, "TZif", 4) != 0)
        return bad(err, name, left < HEADER ? "the file is cut short" : "not a time zone file");
    struct block block = {.universal = (size_t)(number(at + 20, 4) & UINT32_MAX),
                          .standard = (size_t)(number(at + 24, 4) & UINT32_MAX),
                          .leaps = (size_t)(number(at + 28, 4) & UINT32_MAX),
                          .times = (size_t)(number(at + 32, 4) & UINT32_MAX),
                          .kinds = (size_t)(number(at + 36, 4) & UINT32_MAX),
                          .letters = (size_t)(number(at + 40, 4) & UINT32_MAX),
                          .time_bytes = time_bytes};
    block.length = HEADER + block.times * ((size_t)time_bytes + 1) + block.kinds * 6 +
                   block.letters + block.leaps * ((size_t)time_bytes + 4) + block.standard +
                   block.universal;
    if (block.length > left)
        return bad(err, name, "the file is cut short");
    if (block.leaps)
        return bad(err, name, "it counts leap seconds, which clocks here do not");
    if (block.kinds == 0 || block.kinds > 256 || block.letters == 0)
        return bad(err, name, "it has no kinds of local time");
    *ret = block;
    return 0;
}

static int kind_read(const unsigned char *at, const unsigned char *letters, size_t letter_count,
                     const char *name, struct zone_kind *ret, struct err *err)
{
    int64_t offset_s = number(at, 4);

    if (offset_s < -26 * 3600 || offset_s > 26 * 3600 || at[4] > 1 || at[5] >= letter_count)
        return bad(err, name, "a kind of local time makes no sense");
    size_t length = strnlen((const char *)letters + at[5], letter_count - at[5]);
    if (length == letter_count - at[5] || length >= sizeof ret->abbreviation)
        return bad(err, name, "an abbreviation makes no sense");
    *ret = (struct zone_kind){.offset_s = (int32_t)offset_s, .is_dst = at[4]};
    memcpy(ret->abbreviation, letters + at[5], length);
    return 0;
}

static int table_read(vitro_zone *zone, const unsigned char *at, const struct block *block,
                      struct err *err)
{
    const unsigned char *kinds_of = at + HEADER + block->times * (size_t)block->time_bytes;
    const unsigned char *kinds = kinds_of + block->times;
    const unsigned char *letters = kinds + block->kinds * 6;

    zone->kinds = mem_alloc(block->kinds * sizeof *zone->kinds);
    zone->kind_count = block->kinds;
    for (size_t i = 0; i < block->kinds; i++) {
        int r = kind_read(kinds + 6 * i, letters, block->letters, zone->name, &zone->kinds[i], err);
        if (r < 0)
            return r;
    }
    zone->at = mem_alloc((block->times + 1) * sizeof *zone->at);
    zone->kind_of = (uint8_t *)mem_dupn(kinds_of, block->times);
    zone->count = block->times;
    for (size_t i = 0; i < block->times; i++) {
        zone->at[i] = number(at + HEADER + i * (size_t)block->time_bytes, block->time_bytes);
        if (i && zone->at[i] <= zone->at[i - 1])
            return bad(err, zone->name, "its changes are not in order");
        if (zone->kind_of[i] >= block->kinds)
            return bad(err, zone->name, "a change to a kind that is not there");
    }
    return 0;
}

static int rule_read(vitro_zone *zone, const unsigned char *at, size_t left, struct err *err)
{
    const unsigned char *end = left > 1 ? memchr(at + 1, '\n', left - 1) : NULL;

    if (left == 0 || *at != '\n' || !end)
        return bad(err, zone->name, "the rule at its end is cut short");
    if (end == at + 1)
        return 0;
    zone->has_rule = true;
    int r = zone_rule_parse((const char *)at + 1, (size_t)(end - at - 1), &zone->rule, err);
    return r < 0 ? err_wrap(err, "time zone '%s'", zone->name) : 0;
}

static int file_parse(vitro_zone *zone, const unsigned char *at, size_t left, struct err *err)
{
    struct block block;
    int r = block_read(at, left, 4, zone->name, &block, err);

    if (r < 0)
        return r;
    if (at[4] < '2')
        return table_read(zone, at, &block, err);
    at += block.length;
    left -= block.length;
    if ((r = block_read(at, left, 8, zone->name, &block, err)) < 0 ||
        (r = table_read(zone, at, &block, err)) < 0)
        return r;
    return rule_read(zone, at + block.length, left - block.length, err);
}

static vitro_zone *zone_new(const char *name)
{
    vitro_zone *zone = mem_alloc(sizeof *zone);

    zone->name = mem_dup(name);
    return zone;
}

vitro_zone *vitro_zone_parse(const char *name, const void *bytes, size_t length,
                             struct vitro_clock_error *error)
{
    vitro_zone *zone = zone_new(name ? name : "zone");

    if (file_parse(zone, bytes, length, (struct err *)error) == 0)
        return zone;
    vitro_zone_free(zone);
    return NULL;
}

void vitro_zone_free(vitro_zone *zone)
{
    if (!zone)
        return;
    free(zone->at);
    free(zone->kind_of);
    free(zone->kinds);
    free(zone->name);
    free(zone);
}

/* ---- by name */

static const char *const directories[] = {"/usr/share/zoneinfo", "/usr/lib/zoneinfo",
                                          "/usr/share/lib/zoneinfo", "/etc/zoneinfo"};

struct names {
    char **names; /* owned */
    size_t count;
};

/* All names below a directory, but for the second copies that count otherwise. */
static void names_gather(const char *directory, const char *prefix, int depth, struct names *names)
{
    CLEANUP(mem_free) char *path = mem_format("%s/%s", directory, prefix);
    DIR *dir = depth < 4 ? opendir(path) : NULL;
    const struct dirent *entry;

    while (dir && (entry = readdir(dir)) && names->count < 5000) {
        CLEANUP(mem_free)
        char *name = mem_format("%s%s%s", prefix, *prefix ? "/" : "", entry->d_name);
        CLEANUP(mem_free) char *below = mem_format("%s/%s", directory, name);
        struct stat status;
        if (strchr(entry->d_name, '.') || strcmp(name, "right") == 0 ||
            strcmp(name, "posix") == 0 || stat(below, &status) < 0)
            continue;
        if (S_ISDIR(status.st_mode)) {
            names_gather(directory, name, depth + 1, names);
            continue;
        }
        names->names = mem_grow(names->names, (names->count + 1) * sizeof *names->names);
        names->names[names->count++] = take_ptr(&name);
    }
    if (dir)
        (void)closedir(dir);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int unknown(const char *name, struct err *err)
{
    struct names names = {0};
    const char *closest = NULL;
    int r = err_set(err, -ENOENT, "there is no time zone '%s'", name);

    for (size_t i = 0; i < ARRAY_LENGTH(directories); i++)
        names_gather(directories[i], "", 0, &names);
    if (names.count) {
        qsort(names.names, names.count, sizeof *names.names, by_text);
        for (size_t i = 0; i < names.count && !closest; i++) { /* "berlin" */
            const char *last = strrchr(names.names[i], '/');
            if (strcasecmp(names.names[i], name) == 0 || (last && strcasecmp(last + 1, name) == 0))
                closest = names.names[i];
        }
        if (!closest)
            closest = text_closest(name, (const char *const *)names.names, names.count);
        if (closest)
            (void)err_hint(err, "did you mean '%s'?", closest);
    } else {
        (void)err_hint(err, "there are no zone files; on Debian they are in the package tzdata");
    }
    for (size_t i = 0; i < names.count; i++)
        free(names.names[i]);
    free(names.names);
    return r;
}

static bool is_name(const char *name)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_+-/";

    return *name && *name != '/' && *name != '-' && strlen(name) <= NAME_MAX_BYTES &&
           name[strspn(name, letters)] == '\0' && !strstr(name, "//");
}

/* "+05:30" */
static bool fixed(vitro_zone *zone, const char *name)
{
    unsigned hours, minutes;
    int end = 0;

    if ((*name != '+' && *name != '-') || strlen(name) != 6 ||
        sscanf(name + 1, "%2u:%2u%n", &hours, &minutes, &end) != 2 || end != 5 || hours > 24 ||
        minutes > 59)
        return false;
    zone->has_rule = true;
    zone->rule.standard.offset_s = (*name == '-' ? -1 : 1) * (int32_t)(hours * 3600 + minutes * 60);
    (void)snprintf(zone->rule.standard.abbreviation, sizeof zone->rule.standard.abbreviation, "%s",
                   name);
    return true;
}

static int named(vitro_zone *zone, const char *name, struct err *err)
{
    CLEANUP(buf_done) struct buf bytes = {0};
    bool found = false;

    if (strcmp(name, "UTC") == 0 || strcmp(name, "Z") == 0) {
        zone->has_rule = true;
        memcpy(zone->rule.standard.abbreviation, "UTC", 4);
        return 0;
    }
    if (fixed(zone, name))
        return 0;
    for (size_t i = 0; i < ARRAY_LENGTH(directories) && is_name(name) && !found; i++) {
        CLEANUP(mem_free) char *path = mem_format("%s/%s", directories[i], name);
        struct stat status;
        found = stat(path, &status) == 0 && S_ISREG(status.st_mode);
        int r = found ? file_read(path, FILE_MAX_BYTES, &bytes, err) : 0;
        if (r < 0)
            return r;
    }
    if (found)
        return file_parse(zone, (const unsigned char *)buf_text(&bytes), bytes.length, err);
    if (strpbrk(name, "<,") || (!strchr(name, '/') && strpbrk(name, "0123456789"))) {
        zone->has_rule = true;
        return zone_rule_parse(name, strlen(name), &zone->rule, err);
    }
    if (!is_name(name))
        return err_set(err, -EINVAL,
                       "time zone '%.100s': no name of one\nhint: names are like 'Europe/Berlin', "
                       "'UTC' or '+05:30'",
                       name);
    return unknown(name, err);
}

vitro_zone *vitro_zone_open(const char *name, struct vitro_clock_error *error)
{
    vitro_zone *zone = zone_new(name ? name : "UTC");

    if (named(zone, zone->name, (struct err *)error) == 0)
        return zone;
    vitro_zone_free(zone);
    return NULL;
}
