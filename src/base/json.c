/* SPDX-License-Identifier: MIT */
#include "base/json.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

int json_parse(const char *text, size_t length, const char *where, json_t **ret, struct err *err)
{
    json_error_t problem;
    json_t *value = json_loadb(text, length,
                               JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | JSON_ALLOW_NUL, &problem);

    if (!value)
        return err_set(err, -EBADMSG, "%s:%d:%d: %s", where, problem.line, problem.column,
                       problem.text);
    *ret = value;
    return 0;
}

void json_add_string(struct buf *buf, const char *text, size_t length)
{
    size_t clean = 0; /* start of the run not yet copied */

    buf_addc(buf, '"');
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c >= 0x20 && c != '"' && c != '\\')
            continue;
        buf_add(buf, text + clean, i - clean);
        clean = i + 1;
        switch (c) {
        case '"':
            buf_adds(buf, "\\\"");
            break;
        case '\\':
            buf_adds(buf, "\\\\");
            break;
        case '\b':
            buf_adds(buf, "\\b");
            break;
        case '\f':
            buf_adds(buf, "\\f");
            break;
        case '\n':
            buf_adds(buf, "\\n");
            break;
        case '\r':
            buf_adds(buf, "\\r");
            break;
        case '\t':
            buf_adds(buf, "\\t");
            break;
        default:
            buf_addf(buf, "\\u%04x", c);
            break;
        }
    }
    buf_add(buf, text + clean, length - clean);
    buf_addc(buf, '"');
}

void json_add_real(struct buf *buf, double number)
{
    char text[40];

    if (!isfinite(number)) { /* jansson never makes one; JSON has no word for it */
        buf_adds(buf, "null");
        return;
    }
    if (number == 0)
        number = 0; /* -0 and 0 are one value */
    if (fabs(number) < 1e15 && number == floor(number)) {
        buf_addf(buf, "%.0f", number);
        return;
    }
    for (int digits = 1; digits <= 17; digits++) {
        (void)snprintf(text, sizeof text, "%.*g", digits, number);
        if (strtod(text, NULL) == number)
            break;
    }
    buf_adds(buf, text);
}

static int compare_keys(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void add_object(struct buf *buf, const json_t *object)
{
    size_t count = json_object_size(object), i = 0;
    CLEANUP(mem_free) const char **keys = mem_alloc(count * sizeof *keys);
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)object, key, value) keys[i++] = key;
    qsort(keys, count, sizeof *keys, compare_keys);
    buf_addc(buf, '{');
    for (i = 0; i < count; i++) {
        if (i)
            buf_addc(buf, ',');
        json_add_string(buf, keys[i], strlen(keys[i]));
        buf_addc(buf, ':');
        json_add_canonical(buf, json_object_get(object, keys[i]));
    }
    buf_addc(buf, '}');
}

void json_add_canonical(struct buf *buf, const json_t *value)
{
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        add_object(buf, value);
        break;
    case JSON_ARRAY:
        buf_addc(buf, '[');
        for (size_t i = 0; i < json_array_size(value); i++) {
            if (i)
                buf_addc(buf, ',');
            json_add_canonical(buf, json_array_get(value, i));
        }
        buf_addc(buf, ']');
        break;
    case JSON_STRING:
        json_add_string(buf, json_string_value(value), json_string_length(value));
        break;
    case JSON_INTEGER:
        buf_addf(buf, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
        break;
    case JSON_REAL:
        json_add_real(buf, json_real_value(value));
        break;
    case JSON_TRUE:
        buf_adds(buf, "true");
        break;
    case JSON_FALSE:
        buf_adds(buf, "false");
        break;
    case JSON_NULL:
        buf_adds(buf, "null");
        break;
    }
}
