/* SPDX-License-Identifier: MIT */
#include "tape/tape_data.h"
#include "base/base64.h"
#include "base/json.h"
#include "base/text.h"
#include <assert.h>
#include <string.h>

void tape_data_begin(struct tape_data *data)
{
    buf_clear(&data->text);
    buf_addc(&data->text, '{');
}

void tape_data_end(struct tape_data *data)
{
    buf_addc(&data->text, '}');
}

void tape_data_done(struct tape_data *data)
{
    buf_done(&data->text);
}

void tape_data_name(struct tape_data *data, const char *name)
{
    struct buf *text = &data->text;
    size_t length = strlen(name);

    assert(text->length);
    buf_reserve(text, length + 4);
    if (text->data[text->length - 1] != '{')
        text->data[text->length++] = ',';
    text->data[text->length++] = '"';
    memcpy(text->data + text->length, name, length);
    text->length += length;
    text->data[text->length++] = '"';
    text->data[text->length++] = ':';
    text->data[text->length] = '\0';
}

void tape_data_u64(struct tape_data *data, const char *name, uint64_t value)
{
    assert(value <= INT64_MAX);
    tape_data_name(data, name);
    buf_addu(&data->text, value);
}

void tape_data_i64(struct tape_data *data, const char *name, int64_t value)
{
    tape_data_name(data, name);
    if (value < 0)
        buf_addc(&data->text, '-');
    buf_addu(&data->text, value < 0 ? -(uint64_t)value : (uint64_t)value);
}

void tape_data_bool(struct tape_data *data, const char *name, bool value)
{
    tape_data_raw(data, name, value ? "true" : "false");
}

void tape_data_null(struct tape_data *data, const char *name)
{
    tape_data_raw(data, name, "null");
}

void tape_data_raw(struct tape_data *data, const char *name, const char *canonical)
{
    tape_data_name(data, name);
    buf_adds(&data->text, canonical);
}

static void add_bytes(struct buf *buf, const void *bytes, size_t length)
{
    if (text_is_utf8(bytes, length)) {
        json_add_string(buf, bytes, length);
        return;
    }
    buf_adds(buf, "{\"base64\":\"");
    base64_add(buf, bytes, length);
    buf_adds(buf, "\"}");
}

void tape_data_bytes(struct tape_data *data, const char *name, const void *bytes, size_t length)
{
    assert(length < INT32_MAX / 2);
    tape_data_name(data, name);
    add_bytes(&data->text, bytes, length);
}

void tape_data_text(struct tape_data *data, const char *name, const char *text)
{
    if (text)
        tape_data_bytes(data, name, text, strlen(text));
    else
        tape_data_null(data, name);
}

void tape_data_texts(struct tape_data *data, const char *name, const char *const *list)
{
    tape_data_name(data, name);
    buf_addc(&data->text, '[');
    for (size_t i = 0; list && list[i]; i++) {
        if (i)
            buf_addc(&data->text, ',');
        add_bytes(&data->text, list[i], strlen(list[i]));
    }
    buf_addc(&data->text, ']');
}

void tape_data_hash(struct tape_data *data, const char *name, const struct hash *hash)
{
    struct hash_text text = hash_to_text(hash);

    tape_data_name(data, name);
    json_add_string(&data->text, text.text, HASH_TEXT_LENGTH);
}

void tape_data_json(struct tape_data *data, const char *name, const json_t *value)
{
    tape_data_name(data, name);
    json_add_canonical(&data->text, value);
}
