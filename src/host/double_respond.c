/* SPDX-License-Identifier: MIT */
/* Responses and their scopes: answers to any method, chosen by the arguments of the call. */
#include "base/text.h"
#include "host/double.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { RESPONSES_MAX = 1 << 20 };

static bool is_known(const struct host_double *d, const char *capability, const char *method)
{
    CLEANUP(mem_free) char *name = mem_format("%s.%s", capability, method);

    for (size_t i = 0; i < HOST_METHOD_COUNT; i++)
        if (text_equal(host_methods[i].sub_handle, capability) &&
            text_equal(host_methods[i].method, method))
            return true;
    for (char **own = d->capabilities; own && *own; own++)
        if (text_equal(*own, name))
            return true;
    return false;
}

static int unknown(const struct host_double *d, const char *capability, const char *method,
                   struct err *err)
{
    CLEANUP(mem_free) char *name = mem_format("%s.%s", capability, method);
    const char *names[HOST_METHOD_COUNT + 64];
    char *made[HOST_METHOD_COUNT];
    size_t count = 0;

    for (; count < HOST_METHOD_COUNT; count++)
        names[count] = made[count] =
            mem_format("%s.%s", host_methods[count].sub_handle, host_methods[count].method);
    for (char **own = d->capabilities; own && *own && count < ARRAY_LENGTH(names); own++)
        names[count++] = *own;
    const char *closest = text_closest(name, names, count);
    err_set(err, -EINVAL, "a response for '%s': there is no such capability", name);
    if (closest)
        err_hint(err, "did you mean '%s'?", closest);
    else
        err_hint(err, "name it in `capabilities` if it is the program's own");
    for (size_t i = 0; i < HOST_METHOD_COUNT; i++)
        free(made[i]);
    return err ? err->code : -EINVAL;
}

static int read_json(const char *text, const char *what, json_t **ret, struct err *err)
{
    return text ? json_parse(text, strlen(text), what, ret, err) : 0;
}

static void response_free(struct host_response *response)
{
    free(response->capability);
    free(response->method);
    free(response->error);
    json_decref(response->when);
    json_decref(response->result);
    free(response);
}

int responses_add(struct host_double *d, struct host_responses *to,
                  const struct vitro_host_response *response, struct err *err)
{
    json_t *when = NULL, *result = NULL;

    if (!response || !response->capability || !response->method)
        return err_set(err, -EINVAL, "a response needs a capability and a method");
    if (response->error && response->result)
        return err_set(err, -EINVAL, "a response for '%s.%s' has a result and an error",
                       response->capability, response->method);
    if (response->error_code > 0)
        return err_set(err, -EINVAL,
                       "a response for '%s.%s' with error_code %d: an error is "
                       "-errno, less than 0",
                       response->capability, response->method, response->error_code);
    if (!is_known(d, response->capability, response->method))
        return unknown(d, response->capability, response->method, err);
    int r = read_json(response->when, "when", &when, err);
    if (r == 0 && when && !json_is_object(when))
        r = err_set(err, -EINVAL, "`when` is no JSON object");
    if (r == 0)
        r = read_json(response->result, "result", &result, err);
    if (r < 0) {
        json_decref(when);
        json_decref(result);
        return err_wrap(err, "a response for '%s.%s'", response->capability, response->method);
    }
    struct host_response *made = mem_alloc(sizeof *made);
    *made = (struct host_response){.capability = mem_dup(response->capability),
                                   .method = mem_dup(response->method),
                                   .error = mem_dup(response->error || !response->error_code
                                                        ? response->error
                                                        : strerror(-response->error_code)),
                                   .error_code = response->error_code ? response->error_code : -EIO,
                                   .when = when,
                                   .result = result ? result : json_null(),
                                   .repeat = response->repeat};
    *to->last = made;
    to->last = &made->next;
    return 0;
}

void responses_done(struct host_responses *responses)
{
    for (struct host_response *response = responses->first, *next; response; response = next) {
        next = response->next;
        response_free(response);
    }
    responses->first = NULL;
}

static struct host_response *find_in(const struct host_responses *responses, const struct ask *ask,
                                     bool with_when)
{
    for (struct host_response *response = responses->first; response; response = response->next)
        if ((response->when != NULL) == with_when &&
            (!response->repeat || response->used < response->repeat) &&
            text_equal(response->capability, ask->note->sub_handle) &&
            text_equal(response->method, ask->note->method) &&
            (!with_when || match_json_subset(response->when, ask->args, NULL)))
            return response;
    return NULL;
}

struct host_response *responses_find(struct host_double *d, const struct ask *ask)
{
    struct host_response *found = NULL;
    const struct vitro_host_scope *scope = d->top;

    for (;;) {
        const struct host_responses *here = scope ? scope->responses : &d->responses;
        found = find_in(here, ask, true);
        found = found ? found : find_in(here, ask, false);
        if (found || !scope)
            break;
        scope = scope->below;
    }
    if (found)
        found->used++;
    return found;
}

/* ---- scopes */

static int no_double(const char *what, struct err *err)
{
    return err_set(err, -EINVAL, "%s: not a mock host", what);
}

int vitro_host_respond(struct vitro_host *host, const struct vitro_host_response *response,
                       struct vitro_host_error *error)
{
    struct host_double *d = host_double(host);

    if (!d || d->is_null)
        return no_double("add a response", host_err(error));
    (void)pthread_mutex_lock(&d->lock);
    int r = responses_add(d, d->top ? d->top->responses : &d->responses, response, host_err(error));
    (void)pthread_mutex_unlock(&d->lock);
    return r;
}

int vitro_host_scope_push_at(struct vitro_host_scope *scope, struct vitro_host *host,
                             const char *where, struct vitro_host_error *error)
{
    struct host_double *d = host_double(host);
    struct err *err = host_err(error);

    where = where ? where : "?";
    if (!scope)
        return err_set(err, -EINVAL, "push a scope at %s: no scope", where);
    if (!d || d->is_null)
        return err_set(err, -EINVAL, "push a scope at %s: not a mock host", where);
    (void)pthread_mutex_lock(&d->lock);
    for (const struct vitro_host_scope *other = d->top; other; other = other->below)
        if (other == scope) {
            int r = err_set(err, -EBUSY, "push a scope at %s: it was pushed at %s and is in use",
                            where, scope->where);
            (void)pthread_mutex_unlock(&d->lock);
            return r;
        }
    struct host_responses *responses = mem_alloc(sizeof *responses);
    responses->last = &responses->first;
    *scope = (struct vitro_host_scope){
        .host = host, .below = d->top, .where = where, .responses = responses};
    d->top = scope;
    (void)pthread_mutex_unlock(&d->lock);
    return 0;
}

int vitro_host_scope_pop_at(struct vitro_host_scope *scope, const char *where,
                            struct vitro_host_error *error)
{
    struct host_double *d = scope ? host_double(scope->host) : NULL;
    struct err *err = host_err(error);
    int r = 0;

    where = where ? where : "?";
    if (!d)
        return err_set(err, -EINVAL, "pop a scope at %s: it is not pushed", where);
    (void)pthread_mutex_lock(&d->lock);
    if (d->top != scope) {
        r = err_set(err, -EPERM,
                    "pop a scope at %s: what was pushed at %s is not on top, what was pushed at %s "
                    "is\nhint: scopes are popped in the opposite order of pushing",
                    where, scope->where, d->top ? d->top->where : "?");
    } else {
        d->top = scope->below;
        responses_done(scope->responses);
        free(scope->responses);
        *scope = (struct vitro_host_scope){0};
    }
    (void)pthread_mutex_unlock(&d->lock);
    return r;
}

static void misuse(const struct vitro_host_error *error)
{
    (void)fprintf(stderr, "vitro: %s\n", error->text);
    abort();
}

void vitro_host_scope_begin(struct vitro_host_scope *scope, struct vitro_host *host,
                            const char *where)
{
    struct vitro_host_error error;

    if (vitro_host_scope_push_at(scope, host, where, &error) < 0)
        misuse(&error);
}

void vitro_host_scope_end(struct vitro_host_scope *scope)
{
    struct vitro_host_error error;

    if (scope->host && vitro_host_scope_pop_at(scope, "the end of its block", &error) < 0)
        misuse(&error);
}

/* ---- was it all asked for */

static void add_unused(const struct host_responses *responses, struct buf *words)
{
    for (const struct host_response *response = responses->first; response;
         response = response->next)
        if (response->repeat && response->used < response->repeat)
            buf_addf(words, "\n  response for %s.%s: %u of %u times", response->capability,
                     response->method, response->used, response->repeat);
}

int vitro_host_check_used(const struct vitro_host *host, struct vitro_host_error *error)
{
    struct host_double *d = host_double(host);
    CLEANUP(buf_done) struct buf left = {0};
    CLEANUP(buf_done) struct buf missed = {0};
    size_t lines = 0;

    if (!d)
        return no_double("check what was used", host_err(error));
    (void)pthread_mutex_lock(&d->lock);
    while (d->lines && d->lines[d->line_next + lines])
        lines++;
    for (size_t i = 0; i < d->note_count; i++)
        if (d->notes[i]->result == -ENODATA)
            buf_addf(&missed, "\n  %s.%s%s%s", d->notes[i]->sub_handle, d->notes[i]->method,
                     d->notes[i]->arg_count ? " " : "",
                     d->notes[i]->arg_count ? d->notes[i]->args[0] : "");
    if (d->number_next < d->number_count)
        buf_addf(&left, "\n  random numbers: %zu of %zu", d->number_count - d->number_next,
                 d->number_count);
    if (lines)
        buf_addf(&left, "\n  lines of standard input: %zu", lines);
    if (d->step_next < d->step_count)
        buf_addf(&left, "\n  steps of programs: %zu of %zu", d->step_count - d->step_next,
                 d->step_count);
    add_unused(&d->responses, &left);
    for (const struct vitro_host_scope *scope = d->top; scope; scope = scope->below)
        add_unused(scope->responses, &left);
    (void)pthread_mutex_unlock(&d->lock);
    if (missed.length)
        return err_set(host_err(error), -ENODATA, "calls without an answer:%s", buf_text(&missed));
    if (left.length)
        return err_set(host_err(error), -ENOTEMPTY, "given, and not asked for:%s", buf_text(&left));
    return 0;
}
