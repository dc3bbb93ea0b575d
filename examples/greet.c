/* SPDX-License-Identifier: MIT */
/* greet: a program that takes its world as an argument. On its own it is an ordinary program; under
 * `vitro conform` the sidecar beside it decides what it finds, and its calls are checked.
 *
 *     USER=ada greet                    hello ada
 *     VITRO_HARNESS=greet.harness.json greet */
#include "vitro/host.h"
#include <stdlib.h>

static int greet(struct vitro_host *host, int argc, char **argv)
{
    struct vitro_host_error error = {0};
    const char *name = NULL;
    char *motd = NULL;

    (void)argc;
    (void)argv;
    int r = vitro_env_get(host->env, "USER", &name, &error);
    if (r < 0) {
        (void)vitro_stdio_print_error(host->stdio, "greet: %s\n", error.text);
        return 3;
    }
    (void)vitro_stdio_print(host->stdio, "hello %s\n", name ? name : "whoever you are");
    if (vitro_fs_read(host->fs, "/etc/greeting", &motd, NULL, &error) == 0)
        (void)vitro_stdio_print(host->stdio, "%s", motd);
    free(motd);
    return 0;
}

int main(int argc, char **argv)
{
    return vitro_host_main(greet, argc, argv);
}
