/* SPDX-License-Identifier: MIT */
/* remote_ops: requests to a session as JSON: {"op":"expect","text":"name?","before_read":1}. The
 * members are those of the structs in vitro/term.h; tables tell where they go. Every answer has the
 * state of the session, and "failure" if what was asked did not hold. */
#include "term/remote.h"
#include "term/term_internal.h"
#include "base/text.h"
#include <errno.h>
#include <stddef.h>
#include <string.h>

enum { LIST_MAX = 64 };
enum kind { KIND_TEXT, KIND_LIST, KIND_INT, KIND_UNSIGNED, KIND_U64 };

struct member {
    const char *name;
    enum kind kind;
    size_t offset;
};

#define EXPECT(field, kind)                                                                        \
    {                                                                                              \
#field, kind, offsetof(struct vitro_term_expect, field)                                    \
    }
static const struct member expect_members[] = {
    EXPECT(text, KIND_TEXT),       EXPECT(any, KIND_LIST),        EXPECT(regex, KIND_INT),
    EXPECT(from_start, KIND_INT),  EXPECT(keep_cursor, KIND_INT), EXPECT(before, KIND_TEXT),
    EXPECT(before_read, KIND_INT), EXPECT(not_seen, KIND_TEXT),   EXPECT(at_once, KIND_INT),
    EXPECT(within_ns, KIND_U64),   EXPECT(ceiling_ns, KIND_U64),  {NULL, 0, 0},
};
#define LOOK(field, kind)                                                                          \
    {                                                                                              \
#field, kind, offsetof(struct vitro_term_look, field)                                      \
    }
static const struct member look_members[] = {
    LOOK(text, KIND_TEXT),           LOOK(regex, KIND_INT),
    LOOK(row, KIND_UNSIGNED),        LOOK(col, KIND_UNSIGNED),
    LOOK(top, KIND_UNSIGNED),        LOOK(left, KIND_UNSIGNED),
    LOOK(bottom, KIND_UNSIGNED),     LOOK(right, KIND_UNSIGNED),
    LOOK(style, KIND_TEXT),          LOOK(title, KIND_TEXT),
    LOOK(cursor_row, KIND_UNSIGNED), LOOK(cursor_col, KIND_UNSIGNED),
    LOOK(alternate, KIND_INT),       LOOK(cursor_visible, KIND_INT),
    LOOK(scrollback, KIND_INT),      LOOK(after, KIND_TEXT),
    LOOK(until, KIND_TEXT),          LOOK(since_ns, KIND_U64),
    LOOK(to_ns, KIND_U64),           LOOK(within_ns, KIND_U64),
    LOOK(ceiling_ns, KIND_U64),      {NULL, 0, 0},
};
#define GOLDEN(field, kind)                                                                        \
    {                                                                                              \
#field, kind, offsetof(struct vitro_term_golden, field)                                    \
    }
static const struct member golden_members[] = {
    GOLDEN(update, KIND_INT),
    GOLDEN(mask, KIND_LIST),
    GOLDEN(settle_first, KIND_INT),
    {NULL, 0, 0},
};

/* Fills a struct; texts are the request's. Members that are in no table belong to the operation. */
static int fill(void *to, const struct member *members, const json_t *request,
                const char *list[LIST_MAX + 1], struct err *err)
{
    for (const struct member *member = members; member->name; member++) {
        const json_t *value = json_object_get(request, member->name);
        char *at = (char *)to + member->offset;
        size_t i;
        json_t *one;
        if (!value)
            continue;
        bool number = json_is_integer(value) || json_is_boolean(value);
        json_int_t n = json_is_boolean(value) ? json_is_true(value) : json_integer_value(value);
        if (member->kind == KIND_TEXT   ? !json_is_string(value)
            : member->kind == KIND_LIST ? !json_is_array(value) || json_array_size(value) > LIST_MAX
                                        : !number || (n < 0 && member->kind != KIND_INT))
            return err_set(err, -EINVAL, "'%s' has a wrong value", member->name);
        switch (member->kind) {
        case KIND_TEXT:
            *(const char **)at = json_string_value(value);
            break;
        case KIND_LIST:
            json_array_foreach(value, i, one)
            {
                list[i] = json_is_string(one) ? json_string_value(one) : "";
            }
            list[json_array_size(value)] = NULL;
            *(const char *const **)at = list;
            break;
        case KIND_INT:
            *(int *)at = (int)n;
            break;
        case KIND_UNSIGNED:
            *(unsigned *)at = (unsigned)n;
            break;
        case KIND_U64:
            *(uint64_t *)at = (uint64_t)n;
            break;
        }
    }
    return 0;
}

/* ---- operations ----------------------------------------------------------------------------- */

struct ask {
    vitro_term *t;
    const json_t *request;
    json_t *reply;
    struct err err; /* of the request itself */
};

static uint64_t number(const struct ask *ask, const char *name)
{
    json_int_t value = json_integer_value(json_object_get(ask->request, name));

    return value > 0 ? (uint64_t)value : 0;
}

static const char *text(const struct ask *ask, const char *name)
{
    const char *value = json_string_value(json_object_get(ask->request, name));

    return value ? value : "";
}

static int op_state(struct ask *ask)
{
    (void)ask;
    return 0;
}

static int op_settle(struct ask *ask)
{
    return vitro_term_settle(ask->t, number(ask, "quiet_ns"));
}

static int op_type(struct ask *ask)
{
    return vitro_term_type(ask->t, text(ask, "keys"));
}

static int op_send(struct ask *ask)
{
    const json_t *value = json_object_get(ask->request, "text");

    return vitro_term_send(ask->t, text(ask, "text"), json_string_length(value));
}

static int op_expect(struct ask *ask)
{
    struct vitro_term_expect what = {0};
    struct vitro_term_match match;
    const char *list[LIST_MAX + 1];
    int r = fill(&what, expect_members, ask->request, list, &ask->err);

    if (r < 0)
        return r;
    if (json_is_true(json_object_get(ask->request, "not")))
        return vitro_term_expect_not(ask->t, &what);
    r = vitro_term_expect(ask->t, &what, &match);
    if (r == 0) {
        (void)json_object_set_new(ask->reply, "match",
                                  json_pack("{s:I,s:I,s:i,s:I,s:o}", "start",
                                            (json_int_t)match.start, "end", (json_int_t)match.end,
                                            "which", match.which, "virtual_ns",
                                            (json_int_t)match.virtual_ns, "groups", json_array()));
        for (unsigned i = 0; i < match.groups; i++) {
            CLEANUP(buf_done) struct buf group = {0};
            if (match.group_end[i] != SIZE_MAX)
                text_add_escaped(&group, ask->t->log.stream.data + match.group_start[i],
                                 match.group_end[i] - match.group_start[i]);
            (void)json_array_append_new(
                json_object_get(json_object_get(ask->reply, "match"), "groups"),
                json_string(buf_text(&group)));
        }
    }
    return r;
}

static int op_read(struct ask *ask)
{
    return vitro_term_expect_read(ask->t, number(ask, "within_ns"), number(ask, "ceiling_ns"));
}

static int op_see(struct ask *ask)
{
    struct vitro_term_look what = {0};
    struct vitro_term_place place = {0};
    const char *how = text(ask, "how");
    int r = fill(&what, look_members, ask->request, NULL, &ask->err);

    if (r < 0)
        return r;
    if (strcmp(how, "not") == 0)
        r = vitro_term_see_not(ask->t, &what);
    else if (strcmp(how, "ever") == 0)
        r = vitro_term_ever(ask->t, &what, &place);
    else if (strcmp(how, "never") == 0)
        r = vitro_term_never(ask->t, &what);
    else
        r = vitro_term_see(ask->t, &what, &place);
    if (r == 0 && place.row)
        (void)json_object_set_new(ask->reply, "place",
                                  json_pack("{s:i,s:i,s:i,s:i,s:I}", "row", (int)place.row, "col",
                                            (int)place.col, "end_row", (int)place.end_row,
                                            "end_col", (int)place.end_col, "virtual_ns",
                                            (json_int_t)place.virtual_ns));
    return r;
}

static int op_exit(struct ask *ask)
{
    const json_t *code = json_object_get(ask->request, "code");

    if (code)
        return vitro_term_expect_exit(ask->t, (int)json_integer_value(code),
                                      number(ask, "within_ns"));
    return vitro_term_exit(ask->t, number(ask, "within_ns"), number(ask, "ceiling_ns"), NULL, NULL);
}

static int op_advance(struct ask *ask)
{
    return vitro_term_advance(ask->t, number(ask, "by_ns"));
}

static int op_resize(struct ask *ask)
{
    int r = vitro_term_resize(ask->t, (unsigned)number(ask, "rows"), (unsigned)number(ask, "cols"));

    return r < 0 ? r : vitro_term_settle(ask->t, 0);
}

static int op_signal(struct ask *ask)
{
    return vitro_term_signal(ask->t, (int)number(ask, "signal"));
}

static int op_mark(struct ask *ask)
{
    vitro_term_mark(ask->t, text(ask, "label"));
    return 0;
}

static int op_row_ends(struct ask *ask)
{
    return vitro_term_row_ends(ask->t);
}

static bool read_format(struct ask *ask, enum vitro_term_format *ret)
{
    static const char *const names[] = {"text", "styled", "ansi", "json", "svg"};
    const char *name = text(ask, "format");

    *ret = VITRO_TERM_TEXT;
    for (size_t i = 0; i < ARRAY_LENGTH(names); i++)
        if (strcmp(name, names[i]) == 0) {
            *ret = (enum vitro_term_format)i;
            return true;
        }
    if (!*name)
        return true;
    (void)err_set(&ask->err, -EINVAL, "format '%s': text, styled, ansi, json or svg", name);
    return false;
}

static int op_screen(struct ask *ask)
{
    enum vitro_term_format format;
    int r = vitro_term_settle(ask->t, 0);

    if (r < 0)
        return r;
    if (!read_format(ask, &format))
        return -EINVAL;
    CLEANUP(mem_free) char *screen = vitro_term_snapshot(ask->t, format, NULL);
    (void)json_object_set_new(ask->reply, "screen", json_string(screen));
    return 0;
}

static int op_golden(struct ask *ask)
{
    struct vitro_term_golden how = {.settle_first = 1};
    const char *list[LIST_MAX + 1];
    int r = fill(&how, golden_members, ask->request, list, &ask->err);

    if (r < 0 || !read_format(ask, &how.format))
        return -EINVAL;
    return vitro_term_golden(ask->t, text(ask, "path"), &how);
}

static int op_output(struct ask *ask)
{
    CLEANUP(buf_done) struct buf escaped = {0};
    size_t length;

    (void)vitro_term_settle(ask->t, 0);
    const char *output = vitro_term_output(ask->t, &length);
    size_t from = number(ask, "from");
    from = from > length ? length : from;
    if (text_is_utf8(output + from, length - from)) {
        (void)json_object_set_new(ask->reply, "output", json_stringn(output + from, length - from));
    } else {
        text_add_escaped(&escaped, output + from, length - from);
        (void)json_object_set_new(ask->reply, "escaped", json_string(buf_text(&escaped)));
    }
    return 0;
}

static int op_cast(struct ask *ask)
{
    int version = (int)number(ask, "version");
    (void)vitro_term_settle(ask->t, 0);
    CLEANUP(mem_free) char *cast = vitro_term_cast(ask->t, version ? version : 3, NULL);

    if (!cast)
        return -EINVAL;
    (void)json_object_set_new(ask->reply, "cast", json_string(cast));
    return 0;
}

static int op_dump(struct ask *ask)
{
    CLEANUP(mem_free) char *dump = vitro_term_dump(ask->t);

    (void)json_object_set_new(ask->reply, "dump", json_string(dump));
    return 0;
}

static const struct {
    const char *name;
    int (*run)(struct ask *ask);
} operations[] = {
    {"advance", op_advance}, {"cast", op_cast},     {"close", op_state},
    {"dump", op_dump},       {"exit", op_exit},     {"expect", op_expect},
    {"golden", op_golden},   {"mark", op_mark},     {"output", op_output},
    {"read", op_read},       {"resize", op_resize}, {"row_ends", op_row_ends},
    {"screen", op_screen},   {"see", op_see},       {"send", op_send},
    {"settle", op_settle},   {"signal", op_signal}, {"state", op_state},
    {"type", op_type},
};

static json_t *state_json(vitro_term *t)
{
    struct vitro_term_state state;

    vitro_term_state(t, &state);
    return json_pack("{s:i,s:i,s:b,s:b,s:b,s:I,s:I,s:I,s:I,s:I,s:o}", "rows", (int)state.rows,
                     "cols", (int)state.cols, "settled", state.settled, "reading", state.reading,
                     "ended", state.ended, "virtual_ns", (json_int_t)state.virtual_ns, "now_ns",
                     (json_int_t)state.now_ns, "next_due_ns", (json_int_t)state.next_due_ns,
                     "frames", (json_int_t)state.frames, "output_length",
                     (json_int_t)state.output_length, "exit_code",
                     state.ended ? json_integer(t->exit_code) : json_null());
}

static json_t *failure_json(const struct vitro_term_failure *failure)
{
    static const char *const words[] = {"fine",  "not-seen", "budget", "ceiling",
                                        "wrong", "usage",    "trouble"};

    return json_pack("{s:s,s:i,s:s,s:s,s:I}", "why", words[failure->why], "code", failure->code,
                     "summary", failure->summary, "text", failure->text, "virtual_ns",
                     (json_int_t)failure->virtual_ns);
}

bool remote_answer(vitro_term *t, const json_t *request, json_t **ret)
{
    struct ask ask = {.t = t, .request = request, .reply = json_object()};
    const char *name = json_string_value(json_object_get(request, "op"));
    size_t i = 0;
    int r = -EINVAL;

    while (i < ARRAY_LENGTH(operations) && !(name && strcmp(operations[i].name, name) == 0))
        i++;
    if (i < ARRAY_LENGTH(operations))
        r = operations[i].run(&ask);
    else
        (void)err_set(&ask.err, -EINVAL, "no such request: '%s'", name ? name : "");
    if (ask.err.code)
        (void)json_object_set_new(ask.reply, "error", json_string(ask.err.text));
    else if (r < 0)
        (void)json_object_set_new(ask.reply, "failure", failure_json(vitro_term_failure(t)));
    (void)json_object_set_new(ask.reply, "state", state_json(t));
    *ret = ask.reply;
    return name && strcmp(name, "close") == 0;
}
