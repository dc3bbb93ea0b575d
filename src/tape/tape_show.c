/* SPDX-License-Identifier: MIT */
#include "tape/tape_show.h"
#include "base/json.h"
#include "base/text.h"
#include "base/when.h"
#include <string.h>

enum { VALUE_WIDTH_MAX = 100 };

static bool kind_fits(const struct tape_filter *filter, const struct tape_entry *entry)
{
    for (size_t i = 0; i < filter->kind_count; i++)
        if (span_is(entry->kind_name, filter->kinds[i]))
            return true;
    return !filter->kind_count;
}

static bool process_fits(const struct tape_filter *filter, const struct tape_entry *entry)
{
    if (!filter->process)
        return true;
    size_t length = strlen(filter->process);
    return entry->process.length >= length &&
           strncmp(entry->process.text, filter->process, length) == 0 &&
           (entry->process.length == length || entry->process.text[length] == '.');
}

bool tape_filter_fits(const struct tape_filter *filter, const struct tape_entry *entry)
{
    return (!filter->has_from || entry->virtual_time_ns >= filter->from_ns) &&
           (!filter->has_until || entry->virtual_time_ns < filter->until_ns) &&
           kind_fits(filter, entry) && process_fits(filter, entry);
}

static void add_cut(struct buf *buf, const char *text, size_t length)
{
    size_t cut = length;

    if (length > VALUE_WIDTH_MAX)
        for (cut = VALUE_WIDTH_MAX; cut && ((unsigned char)text[cut] & 0xc0) == 0x80;)
            cut--;
    text_add_escaped(buf, text, cut);
    if (cut < length)
        buf_adds(buf, "...");
}

static void add_value(struct buf *buf, const json_t *value)
{
    CLEANUP(buf_done) struct buf text = {0};
    const json_t *inside = json_object_get(value, "text");

    if (json_is_string(inside) && json_object_get(value, "content_hash"))
        value = inside;
    if (json_is_string(value)) {
        add_cut(buf, json_string_value(value), json_string_length(value));
        return;
    }
    json_add_canonical(&text, value);
    add_cut(buf, text.data, text.length);
}

/* Durations and times read better as such. */
static void add_member(struct buf *buf, const char *name, const json_t *value)
{
    if (json_is_integer(value) && json_integer_value(value) >= 0 && text_ends(name, "_ns")) {
        buf_addf(buf, "  %.*s=", (int)strlen(name) - 3, name);
        if (strcmp(name, "value_ns") == 0 &&
            json_integer_value(value) > (json_int_t)(NS_PER_SEC * 86400 * 365))
            when_add(buf, json_integer_value(value));
        else
            when_add_duration(buf, (uint64_t)json_integer_value(value));
        return;
    }
    buf_addf(buf, "  %s=", name);
    add_value(buf, value);
}

static void add_payload(struct buf *buf, enum tape_kind kind, const json_t *data)
{
    const struct tape_kind_info *info = kind < TAPE_UNKNOWN ? &tape_kinds[kind] : NULL;
    const json_t *subject = info && info->subject ? json_object_get(data, info->subject) : NULL;

    if (!info) {
        buf_addc(buf, ' ');
        add_value(buf, data);
        return;
    }
    if (subject) {
        buf_addc(buf, ' ');
        add_value(buf, subject);
    }
    for (size_t i = 0; i < ARRAY_LENGTH(info->shown) && info->shown[i]; i++)
        if (json_object_get(data, info->shown[i]))
            add_member(buf, info->shown[i], json_object_get(data, info->shown[i]));
}

int tape_show_add(struct buf *buf, const struct tape_entry *entry, int64_t start_ns,
                  struct err *err)
{
    CLEANUP(buf_done) struct buf process = {0};
    CLEANUP(buf_done) struct buf shown = {0};
    CLEANUP(buf_done) struct buf time = {0};
    CLEANUP(json_free) json_t *data = NULL;
    int r = tape_entry_data(entry, &data, err);

    if (r < 0)
        return r;
    when_add_duration(&time, entry->virtual_time_ns > start_ns
                                 ? (uint64_t)(entry->virtual_time_ns - start_ns)
                                 : 0);
    tape_entry_add_process(entry, &process);
    text_add_escaped(&shown, buf_text(&process), process.length);
    buf_addf(buf, "%6llu  %-14s  %-7s  %-*.*s", (unsigned long long)entry->seq, buf_text(&time),
             shown.length ? shown.data : "-", 15, (int)entry->kind_name.length,
             entry->kind_name.text);
    add_payload(buf, entry->kind, data);
    if (entry->phase != TAPE_USER_SCRIPT)
        buf_addf(buf, "  (%s)", tape_phases[entry->phase]);
    buf_addc(buf, '\n');
    return 0;
}
