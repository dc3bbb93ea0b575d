/* SPDX-License-Identifier: MIT */
#include "base/curl.h"
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>

static struct curl_library library;
static bool loaded;
static char problem[256];

static void load(void)
{
    static const struct {
        const char *name;
        void **place;
    } symbols[] = {
        {"curl_easy_init", (void **)&library.easy_init},
        {"curl_easy_cleanup", (void **)&library.easy_cleanup},
        {"curl_easy_reset", (void **)&library.easy_reset},
        {"curl_easy_setopt", (void **)&library.easy_setopt},
        {"curl_easy_perform", (void **)&library.easy_perform},
        {"curl_easy_getinfo", (void **)&library.easy_getinfo},
        {"curl_easy_strerror", (void **)&library.easy_strerror},
        {"curl_slist_append", (void **)&library.slist_append},
        {"curl_slist_free_all", (void **)&library.slist_free_all},
    };
    void *handle = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);

    for (size_t i = 0; handle && i < ARRAY_LENGTH(symbols); i++) {
        *symbols[i].place = dlsym(handle, symbols[i].name);
        if (!*symbols[i].place)
            handle = NULL; /* stays loaded: unloading it is not safe */
    }
    loaded = handle != NULL;
    if (!loaded)
        (void)snprintf(problem, sizeof problem, "%s", dlerror());
}

const struct curl_library *curl_load(struct err *err)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    (void)pthread_once(&once, load);
    if (loaded)
        return &library;
    err_set(err, -ELIBACC, "load libcurl: %s", problem);
    (void)err_hint(err, "install libcurl4");
    return NULL;
}
