/* SPDX-License-Identifier: MIT */
#include "tape/store_http.h"
#include "base/curl.h"
#include "base/text.h"
#include "base/trace.h"
#include <errno.h>
#include <string.h>

struct store_http {
    const struct curl_library *libcurl;
    char *url; /* without a slash at the end */
    CURL *curl;
    struct curl_slist *headers;
    char problem[CURL_ERROR_SIZE];
};

struct transfer {
    struct buf *in; /* what arrives; NULL drops it */
    size_t limit;
    bool too_large;
    const char *out; /* what is left to send */
    size_t out_length;
};

int store_http_open(const char *url, struct store_http **ret, struct err *err)
{
    if (!text_starts(url, "http://") && !text_starts(url, "https://")) {
        err_set(err, -EINVAL, "store '%s': not an HTTP address", url);
        return err_hint(err, "http://host:port or http://host/prefix");
    }
    const struct curl_library *libcurl = curl_load(err);
    if (!libcurl) {
        (void)err_wrap(err, "store '%s'", url);
        return -ELIBACC;
    }
    CLEANUP(store_http_free) struct store_http *http = mem_alloc(sizeof *http);
    http->libcurl = libcurl;
    http->url = mem_dup(url);
    for (size_t n = strlen(http->url); n && http->url[n - 1] == '/'; n--)
        http->url[n - 1] = '\0';
    http->curl = libcurl->easy_init();
    /* No "Expect: 100-continue": it costs a round trip, and a second where it is not understood. */
    http->headers = libcurl->slist_append(NULL, "Expect:");
    if (!http->curl || !http->headers)
        return err_set(err, -ENOMEM, "store '%s': libcurl cannot start", url);
    *ret = take_ptr(&http);
    return 0;
}

struct store_http *store_http_free(struct store_http *http)
{
    if (http) {
        http->libcurl->easy_cleanup(http->curl);
        http->libcurl->slist_free_all(http->headers);
        free(http->url);
    }
    free(http);
    return NULL;
}

static size_t receive(char *bytes, size_t size, size_t count, void *context)
{
    struct transfer *transfer = context;
    size_t length = size * count;

    if (!transfer->in)
        return length;
    if (length > transfer->limit - transfer->in->length) {
        transfer->too_large = true;
        return 0;
    }
    buf_add(transfer->in, bytes, length);
    return length;
}

static size_t transmit(char *bytes, size_t size, size_t count, void *context)
{
    struct transfer *transfer = context;
    size_t length = size * count < transfer->out_length ? size * count : transfer->out_length;

    if (length)
        memcpy(bytes, transfer->out, length);
    transfer->out += length;
    transfer->out_length -= length;
    return length;
}

/* Performs one request; returns the HTTP status, or -errno with a text. */
static int request(struct store_http *http, const char *verb, const struct hash *hash,
                   struct transfer *transfer, struct err *err)
{
    struct hash_text name = hash_to_text(hash);
    CLEANUP(mem_free) char *url = mem_format("%s/cas/%s", http->url, name.text);
    const struct curl_library *libcurl = http->libcurl;
    CURL *curl = http->curl;
    long status = 0;

    libcurl->easy_reset(curl);
    http->problem[0] = '\0';
    libcurl->easy_setopt(curl, CURLOPT_URL, url);
    libcurl->easy_setopt(curl, CURLOPT_ERRORBUFFER, http->problem);
    libcurl->easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    libcurl->easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, 10L);
    libcurl->easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
    libcurl->easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, 30L);
    libcurl->easy_setopt(curl, CURLOPT_HTTPHEADER, http->headers);
    libcurl->easy_setopt(curl, CURLOPT_WRITEFUNCTION, receive);
    libcurl->easy_setopt(curl, CURLOPT_WRITEDATA, transfer);
    if (strcmp(verb, "HEAD") == 0)
        libcurl->easy_setopt(curl, CURLOPT_NOBODY, 1L);
    if (strcmp(verb, "PUT") == 0) {
        libcurl->easy_setopt(curl, CURLOPT_UPLOAD, 1L);
        libcurl->easy_setopt(curl, CURLOPT_READFUNCTION, transmit);
        libcurl->easy_setopt(curl, CURLOPT_READDATA, transfer);
        libcurl->easy_setopt(curl, CURLOPT_INFILESIZE_LARGE, (curl_off_t)transfer->out_length);
    }
    CURLcode code = libcurl->easy_perform(curl);
    libcurl->easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    trace(TRACE_TAPE, "%s %s: curl %d, status %ld", verb, url, (int)code, status);
    if (transfer->too_large)
        return err_set(err, -EFBIG, "%s '%s': more than %zu bytes", verb, url, transfer->limit);
    if (code != CURLE_OK)
        return err_set(err, -EIO, "%s '%s': %s", verb, url,
                       http->problem[0] ? http->problem : libcurl->easy_strerror(code));
    if (status == 404 || (status >= 200 && status < 300))
        return (int)status;
    return err_set(err, -EIO, "%s '%s': the server answered %ld", verb, url, status);
}

int store_http_has(struct store_http *http, const struct hash *hash, struct err *err)
{
    struct transfer transfer = {0};
    int r = request(http, "HEAD", hash, &transfer, err);

    return r < 0 ? r : r != 404;
}

int store_http_get(struct store_http *http, const struct hash *hash, size_t limit, struct buf *ret,
                   struct err *err)
{
    CLEANUP(buf_done) struct buf body = {0};
    struct transfer transfer = {.in = &body, .limit = limit};
    int r = request(http, "GET", hash, &transfer, err);

    if (r < 0)
        return r;
    if (r == 404)
        return err_set(err, -ENOENT, "content %s is not on '%s'", hash_to_text(hash).text,
                       http->url);
    buf_add(ret, buf_text(&body), body.length);
    return 0;
}

int store_http_put(struct store_http *http, const struct hash *hash, const void *bytes,
                   size_t length, struct err *err)
{
    struct transfer transfer = {.out = bytes, .out_length = length};
    int r = request(http, "PUT", hash, &transfer, err);

    if (r == 404)
        return err_set(err, -EIO, "PUT '%s/cas/': the server answered 404", http->url);
    return r < 0 ? r : 0;
}
