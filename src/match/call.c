/* SPDX-License-Identifier: MIT */
/* The key of a call, and the table that finds recordings by it. */
#include "match/call_internal.h"
#include "base/text.h"
#include <errno.h>
#include <string.h>

const char *const call_field_names[CALL_FIELD_COUNT] = {"program", "argv", "cwd", "env", "stdin"};

int call_fields_parse(const char *text, unsigned *ret_fields, struct err *err)
{
    unsigned fields = 0;
    while (*text) {
        size_t length = strcspn(text, ",");
        CLEANUP(mem_free) char *word = mem_dupn(text, length);
        size_t i = 0;
        while (i < CALL_FIELD_COUNT && strcmp(call_field_names[i], word) != 0)
            i++;
        if (i == CALL_FIELD_COUNT) {
            err_set(err, -EINVAL, "'%s' is no field of a call", word);
            const char *closest = text_closest(word, call_field_names, CALL_FIELD_COUNT);
            return closest ? err_hint(err, "did you mean '%s'?", closest)
                           : err_hint(err, "fields are program, argv, cwd, env, stdin");
        }
        fields |= 1u << i;
        text += length;
        text += *text == ',';
    }
    if (!fields)
        return err_set(err, -EINVAL, "no field of a call is named");
    *ret_fields = fields;
    return 0;
}

const char *call_program(const struct call *call, const struct call_view *view)
{
    const char *slash = strrchr(call->program, '/');
    return view->whole_path || !slash || !slash[1] ? call->program : slash + 1;
}

const char *call_env(const struct call *call, const char *name)
{
    size_t length = strlen(name);
    for (const char *const *at = call->env; at && *at; at++)
        if (strncmp(*at, name, length) == 0 && (*at)[length] == '=')
            return *at + length + 1;
    return NULL;
}

bool call_counts(const struct call_view *view, enum call_field field)
{
    return (view->fields ? view->fields : CALL_FIELDS_DEFAULT) & 1u << field;
}

static void key_add(struct buf *key, const struct call_view *view, const char *text)
{
    CLEANUP(buf_done) struct buf steady = {0};
    match_rules_apply(view->rules, text, strlen(text), &steady);
    text_add_quoted(key, buf_text(&steady));
}

void call_key(const struct call *call, const struct call_view *view, struct buf *key)
{
    if (call_counts(view, CALL_PROGRAM)) {
        buf_adds(key, "program ");
        key_add(key, view, call_program(call, view));
        buf_addc(key, '\n');
    }
    if (call_counts(view, CALL_ARGV)) {
        buf_adds(key, "argv");
        for (size_t i = 1; call->argv && call->argv[0] && call->argv[i]; i++) {
            buf_addc(key, ' ');
            key_add(key, view, call->argv[i]);
        }
        buf_addc(key, '\n');
    }
    if (call_counts(view, CALL_CWD) && call->cwd) {
        buf_adds(key, "cwd ");
        key_add(key, view, call->cwd);
        buf_addc(key, '\n');
    }
    for (size_t i = 0; call_counts(view, CALL_ENV) && view->env_names && view->env_names[i]; i++) {
        const char *value = call_env(call, view->env_names[i]);
        buf_addf(key, "env %s", view->env_names[i]);
        if (value) {
            buf_addc(key, '=');
            key_add(key, view, value);
        }
        buf_addc(key, '\n');
    }
    if (call_counts(view, CALL_STDIN) && call->stdin_digest)
        buf_addf(key, "stdin %s\n", call->stdin_digest);
}
