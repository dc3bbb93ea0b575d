/* SPDX-License-Identifier: MIT */
/* The network of the real host: HTTP and HTTPS through libcurl
 * (docs/decisions/0070-hosts-speak-http-by-libcurl.md). A ceiling for everything: ten seconds to
 * connect, thirty without a byte, ten redirects. */
#include "base/curl.h"
#include "base/text.h"
#include "host/host_real.h"
#include "proc/recording.h"
#include <errno.h>
#include <string.h>

enum { ANSWER_MAX = 64 << 20, HEADERS_MAX = 1 << 20 };

struct transfer {
    struct buf body, headers; /* headers: of the last response, a line each */
    size_t limit;
    bool too_large;
};

static size_t on_body(char *bytes, size_t size, size_t count, void *context)
{
    struct transfer *transfer = context;

    if (size * count > transfer->limit - transfer->body.length) {
        transfer->too_large = true;
        return 0;
    }
    buf_add(&transfer->body, bytes, size * count);
    return size * count;
}

static size_t on_header(char *bytes, size_t size, size_t count, void *context)
{
    struct transfer *transfer = context;
    size_t length = size * count;

    if (length > 5 && strncmp(bytes, "HTTP/", 5) == 0) { /* a new response: of a redirect, say */
        buf_clear(&transfer->headers);
        return length;
    }
    while (length && (bytes[length - 1] == '\r' || bytes[length - 1] == '\n'))
        length--;
    if (transfer->headers.length + length > HEADERS_MAX)
        return 0;
    if (length) {
        buf_add(&transfer->headers, bytes, length);
        buf_addc(&transfer->headers, '\n');
    }
    return size * count;
}

static char **lines_of(const struct buf *text)
{
    size_t count = 0;

    for (size_t i = 0; i < text->length; i++)
        count += text->data[i] == '\n';
    char **lines = mem_alloc((count + 1) * sizeof *lines);
    size_t n = 0;
    for (const char *at = buf_text(text); n < count; at += strcspn(at, "\n") + 1)
        lines[n++] = mem_dupn(at, strcspn(at, "\n"));
    return lines;
}

static void set_up(const struct curl_library *libcurl, CURL *curl,
                   const struct vitro_net_request *request, struct curl_slist *headers,
                   struct transfer *transfer)
{
    libcurl->easy_setopt(curl, CURLOPT_URL, request->url);
    libcurl->easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    libcurl->easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, 10L);
    libcurl->easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
    libcurl->easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, 30L);
    libcurl->easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 1L);
    libcurl->easy_setopt(curl, CURLOPT_MAXREDIRS, 10L);
    libcurl->easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    libcurl->easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
    libcurl->easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    libcurl->easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_body);
    libcurl->easy_setopt(curl, CURLOPT_WRITEDATA, transfer);
    libcurl->easy_setopt(curl, CURLOPT_HEADERFUNCTION, on_header);
    libcurl->easy_setopt(curl, CURLOPT_HEADERDATA, transfer);
    if (request->body_length) {
        libcurl->easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body_length);
        libcurl->easy_setopt(curl, CURLOPT_POSTFIELDS, request->body);
    }
    if (request->method && strcmp(request->method, "HEAD") == 0)
        libcurl->easy_setopt(curl, CURLOPT_NOBODY, 1L);
    else if (request->method && strcmp(request->method, "GET") != 0)
        libcurl->easy_setopt(curl, CURLOPT_CUSTOMREQUEST, request->method);
}

static int perform(const struct curl_library *libcurl, CURL *curl,
                   const struct vitro_net_request *request, struct transfer *transfer,
                   struct vitro_net_response *ret, struct err *err)
{
    char problem[CURL_ERROR_SIZE] = "";
    const char *method = request->method ? request->method : "GET", *url = NULL;
    long status = 0;

    libcurl->easy_setopt(curl, CURLOPT_ERRORBUFFER, problem);
    CURLcode code = libcurl->easy_perform(curl);
    if (transfer->too_large)
        return err_set(err, -EFBIG, "%s '%s': more than %zu bytes", method, request->url,
                       transfer->limit);
    if (code != CURLE_OK)
        return err_set(err, -EIO, "%s '%s': %s", method, request->url,
                       problem[0] ? problem : libcurl->easy_strerror(code));
    libcurl->easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    libcurl->easy_getinfo(curl, CURLINFO_EFFECTIVE_URL, &url);
    *ret = (struct vitro_net_response){.status = (int)status,
                                       .ok = status >= 200 && status < 300,
                                       .headers = lines_of(&transfer->headers),
                                       .body_length = transfer->body.length,
                                       .final_url = mem_dup(url ? url : request->url)};
    ret->body = transfer->body.data ? buf_take(&transfer->body) : mem_dup("");
    return 0;
}

static int net_request(struct vitro_net *net, const struct vitro_net_request *request,
                       struct vitro_net_response *ret, struct vitro_host_error *error)
{
    struct transfer transfer = {.limit = request->answer_max ? request->answer_max : ANSWER_MAX};
    struct err *err = host_err(error);

    (void)net;
    if (!text_starts(request->url, "http://") && !text_starts(request->url, "https://"))
        return err_set(err, -EINVAL, "'%s' is no HTTP address\nhint: http://host:port/path",
                       request->url);
    const struct curl_library *libcurl = curl_load(err);
    if (!libcurl)
        return -ELIBACC;
    CURL *curl = libcurl->easy_init();
    struct curl_slist *headers = libcurl->slist_append(NULL, "Expect:");
    for (const char *const *header = request->headers; header && *header; header++)
        headers = libcurl->slist_append(headers, *header);
    int r = curl && headers ? 0 : err_set(err, -ENOMEM, "net: libcurl cannot start");
    if (r == 0) {
        set_up(libcurl, curl, request, headers, &transfer);
        r = perform(libcurl, curl, request, &transfer, ret, err);
    }
    libcurl->easy_cleanup(curl);
    libcurl->slist_free_all(headers);
    buf_done(&transfer.body);
    buf_done(&transfer.headers);
    return r;
}

void real_net_init(struct host_real *real)
{
    static const struct vitro_net_ops ops = {.request = net_request};

    real->net.ops = &ops;
}
