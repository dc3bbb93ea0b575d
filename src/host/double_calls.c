/* SPDX-License-Identifier: MIT */
/* What was called of a double, and what was printed to it. */
#include "host/double.h"
#include <errno.h>

static size_t count_notes(const struct vitro_host *host, bool denied_only)
{
    struct host_double *d = host_double(host);
    size_t count = 0;

    if (!d)
        return 0;
    (void)pthread_mutex_lock(&d->lock);
    for (size_t i = 0; i < d->note_count; i++)
        count += !denied_only || d->notes[i]->denied;
    (void)pthread_mutex_unlock(&d->lock);
    return count;
}

static int note_at(const struct vitro_host *host, size_t index, bool denied_only,
                   struct vitro_host_call *ret)
{
    struct host_double *d = host_double(host);
    int r = -ENOENT;

    if (!d)
        return r;
    (void)pthread_mutex_lock(&d->lock);
    for (size_t i = 0; r < 0 && i < d->note_count; i++) {
        const struct host_note *note = d->notes[i];
        if ((denied_only && !note->denied) || index--)
            continue;
        *ret = (struct vitro_host_call){.sub_handle = note->sub_handle,
                                        .method = note->method,
                                        .args = (const char *const *)note->args,
                                        .arg_count = note->arg_count,
                                        .worker = note->worker,
                                        .result = note->result,
                                        .denied = note->denied};
        r = 0;
    }
    (void)pthread_mutex_unlock(&d->lock);
    return r;
}

size_t vitro_host_call_count(const struct vitro_host *host)
{
    return count_notes(host, false);
}

int vitro_host_call_at(const struct vitro_host *host, size_t index, struct vitro_host_call *ret)
{
    return note_at(host, index, false, ret);
}

size_t vitro_host_deny_count(const struct vitro_host *host)
{
    return count_notes(host, true);
}

int vitro_host_deny_at(const struct vitro_host *host, size_t index, struct vitro_host_call *ret)
{
    return note_at(host, index, true, ret);
}

static char *captured(const struct vitro_host *host, int stream, size_t *ret_length)
{
    struct host_double *d = host_double(host);

    if (!d) {
        if (ret_length)
            *ret_length = 0;
        return mem_dup("");
    }
    (void)pthread_mutex_lock(&d->lock);
    char *copy = mem_dupn(buf_text(&d->captured[stream]), d->captured[stream].length);
    if (ret_length)
        *ret_length = d->captured[stream].length;
    (void)pthread_mutex_unlock(&d->lock);
    return copy;
}

char *vitro_host_captured_stdio(const struct vitro_host *host, size_t *ret_length)
{
    return captured(host, 1, ret_length);
}

char *vitro_host_captured_stderr(const struct vitro_host *host, size_t *ret_length)
{
    return captured(host, 2, ret_length);
}
