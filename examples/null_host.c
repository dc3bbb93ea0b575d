/* SPDX-License-Identifier: MIT */
/* A sandbox test: a formatter claims that it only reads the file it is given and prints. Under a
 * null host everything it tries is denied and told, in order, so what it tries besides is seen. */
#include "tap.h"
#include "vitro/host.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- the program: takes its world */

static int format(struct vitro_host *host, const char *path)
{
    struct vitro_host_error error;
    struct vitro_net_response response;
    char *text = NULL;

    /* "Telemetry", as it was called in the review. */
    if (vitro_net_get(host->net, "https://stats.example.test/used", &response, &error) == 0)
        vitro_net_response_done(&response);
    int r = vitro_fs_read(host->fs, path, &text, NULL, &error);
    if (r < 0) {
        (void)vitro_stdio_print_error(host->stdio, "%s\n", error.text);
        return r;
    }
    for (char *p = text; *p; p++)
        *p = *p == '\t' ? ' ' : *p;
    r = vitro_stdio_print(host->stdio, "%s", text);
    free(text);
    return r;
}

/* ---- its test */

static int is(const struct vitro_host_call *call, const char *sub_handle, const char *method,
              const char *arg)
{
    return strcmp(call->sub_handle, sub_handle) == 0 && strcmp(call->method, method) == 0 &&
           call->arg_count == 1 && strcmp(call->args[0], arg) == 0;
}

int main(void)
{
    struct vitro_host *host = vitro_host_null();
    struct vitro_host_call call;

    tap(format(host, "/secrets") == -EPERM, "nothing is given to it");
    tap(vitro_host_deny_count(host) == 3, "it tried three things");
    tap(vitro_host_deny_at(host, 0, &call) == 0 &&
            is(&call, "net", "get", "https://stats.example.test/used"),
        "first it wanted to tell somebody");
    tap(vitro_host_deny_at(host, 1, &call) == 0 && is(&call, "fs", "read", "/secrets"),
        "then it wanted the file");
    tap(vitro_host_deny_at(host, 2, &call) == 0 &&
            is(&call, "stdio", "print_error",
               "fs.read(\"/secrets\"): denied, this is a null host\n"),
        "then it wanted to complain");
    char *printed = vitro_host_captured_stdio(host, NULL);
    tap(*printed == '\0', "and nothing came out of it");
    free(printed);
    vitro_host_free(host);
    return tap_end();
}
