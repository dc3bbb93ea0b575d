/* SPDX-License-Identifier: MIT */
/* A program whose world is chosen by who starts it. It finds the sidecar by a variable, and tells
 * its calls, a line each as they are made, in the file that another variable names: so that they
 * are known however the program ends.
 *
 *     {"mode":"mock","version":1}
 *     {"args":["KEY"],"denied":false,"method":"get","sub_handle":"env"} */
#include "base/fd.h"
#include "host/harness.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

enum { TROUBLE = 125 };

static void tell(struct host_double *d, json_t *line) /* takes it */
{
    CLEANUP(buf_done) struct buf text = {0};

    json_add_canonical(&text, line);
    buf_addc(&text, '\n');
    (void)fd_write_full(d->report_fd, text.data, text.length);
    json_decref(line);
}

void harness_report_call(struct host_double *d, const struct host_note *note)
{
    if (d->report_fd < 0)
        return;
    json_t *args = json_array();
    for (size_t i = 0; i < note->arg_count; i++)
        json_array_append_new(args, double_bytes(note->args[i], strlen(note->args[i])));
    tell(d, json_pack("{s:o, s:b, s:s, s:s}", "args", args, "denied", d->is_null, "method",
                      note->method, "sub_handle", note->sub_handle));
}

struct vitro_host *vitro_host_from_env(struct vitro_host_error *error)
{
    const char *path = getenv(HARNESS_VARIABLE), *report = getenv(HARNESS_REPORT_VARIABLE);
    struct err *err = host_err(error);
    struct harness harness;

    if (!path || !*path)
        return vitro_host_real(NULL, error);
    if (harness_read(path, &harness, err) < 0)
        return NULL;
    struct vitro_host *host = harness_host(&harness, true, err);
    if (!host || !report || !*report)
        return host;
    struct host_double *d = host_double(host);
    d->report_fd = open(report, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (d->report_fd < 0) {
        (void)err_set(err, -errno, "report calls to '%s': %m", report);
        vitro_host_free(host);
        return NULL;
    }
    tell(d, json_pack("{s:s, s:i}", "mode", d->is_null ? "null" : "mock", "version", 1));
    return host;
}

int vitro_host_main(int (*run)(struct vitro_host *host, int argc, char **argv), int argc,
                    char **argv)
{
    struct vitro_host_error error = {0};
    struct vitro_host *host = vitro_host_from_env(&error);

    if (!host) {
        (void)fprintf(stderr, "vitro: %s\n", error.text);
        return TROUBLE;
    }
    int code = run(host, argc, argv);
    struct host_double *d = host_double(host);
    if (d && d->report_fd < 0 && vitro_host_check_sidecar(host, &error) < 0) {
        (void)fprintf(stderr, "vitro: %s\n", error.text);
        code = 1;
    }
    vitro_host_free(host);
    return code;
}
