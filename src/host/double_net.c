/* SPDX-License-Identifier: MIT */
/* The network of null and mock hosts: answers by address. */
#include "host/double.h"
#include "proc/recording.h"
#include <errno.h>
#include <string.h>

/* "body", or {"status": 404, "headers": {"Name": "value"}, "body": "..."}. */
static bool response_of(const json_t *answer, struct vitro_net_response *ret)
{
    const json_t *status = json_object_get(answer, "status");
    const json_t *headers = json_object_get(answer, "headers");
    const json_t *body = json_is_object(answer) && !json_object_get(answer, "base64")
                             ? json_object_get(answer, "body")
                             : answer;
    const char *name;
    json_t *value;
    size_t count = 0;

    if ((status && !json_is_integer(status)) || (headers && !json_is_object(headers)))
        return false;
    ret->status = status ? (int)json_integer_value(status) : 200;
    if (!body)
        ret->body = mem_dup("");
    else if (!double_bytes_of(body, &ret->body, &ret->body_length))
        return false;
    ret->headers = mem_alloc((json_object_size(headers) + 1) * sizeof *ret->headers);
    json_object_foreach((json_t *)headers, name, value)
    {
        if (!json_is_string(value))
            return false;
        ret->headers[count++] = mem_format("%s: %s", name, json_string_value(value));
    }
    return ret->status >= 100 && ret->status < 1000;
}

static int net_request(struct vitro_net *net, const struct vitro_net_request *request,
                       struct vitro_net_response *ret, struct vitro_host_error *error)
{
    struct host_double *d = DOUBLE_OF(net, net);
    const char *method = request->method ? request->method : "GET";
    bool get = strcmp(method, "GET") == 0 && !request->body_length;
    json_t *args = json_pack("{s:s}", "url", request->url);
    CLEANUP(json_free) json_t *canned = NULL;
    struct ask ask;

    if (!args)
        return err_set(host_err(error), -EINVAL, "net: the url is not UTF-8");
    if (!get) {
        json_object_set_new(args, "method", json_string(method));
        json_object_set_new(args, "body", double_bytes(request->body, request->body_length));
    }
    int r = double_begin(d, get ? NET_GET : NET_REQUEST, args, &ask, host_err(error));
    if (r < 0)
        return r;
    if (r == 0) {
        (void)pthread_mutex_lock(&d->lock);
        const struct host_entry *entry = entries_find(&d->answers, request->url);
        if (entry && get)
            (void)json_parse(entry->bytes, entry->length, "answer", &canned, NULL);
        (void)pthread_mutex_unlock(&d->lock);
        if (!canned)
            return double_missing(&ask, request->url, host_err(error));
    }
    if (!response_of(canned ? canned : ask.answer, ret)) {
        vitro_net_response_done(ret);
        return double_wrong(&ask, host_err(error));
    }
    ret->ok = ret->status >= 200 && ret->status < 300;
    ret->final_url = mem_dup(request->url);
    json_t *given = json_object();
    json_object_set_new(given, "status", json_integer(ret->status));
    json_object_set_new(given, "body", double_bytes(ret->body, ret->body_length));
    return double_end(&ask, 0, given);
}

void double_net_init(struct host_double *d)
{
    static const struct vitro_net_ops ops = {.request = net_request};

    d->net.ops = &ops;
}
