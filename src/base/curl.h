/* SPDX-License-Identifier: MIT */
/* curl: libcurl, loaded when it is first needed. It brings two dozen libraries along, and loading
 * them takes longer than most runs do. */
#pragma once
#include "base/err.h"
#include <curl/curl.h>

struct curl_library {
    CURL *(*easy_init)(void);
    void (*easy_cleanup)(CURL *);
    void (*easy_reset)(CURL *);
    CURLcode (*easy_setopt)(CURL *, CURLoption, ...);
    CURLcode (*easy_perform)(CURL *);
    CURLcode (*easy_getinfo)(CURL *, CURLINFO, ...);
    const char *(*easy_strerror)(CURLcode);
    struct curl_slist *(*slist_append)(struct curl_slist *, const char *);
    void (*slist_free_all)(struct curl_slist *);
};

/* NULL with words: -ELIBACC where it is not installed. It stays loaded. From any thread. */
const struct curl_library *curl_load(struct err *err);
