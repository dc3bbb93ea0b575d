/* SPDX-License-Identifier: MIT */
/* A golden test: a deploy script in C takes its world, the test gives it a mock, and the calls it
 * makes are held against a golden with sentinels for what differs from run to run. After a change
 * on purpose, VITRO_UPDATE=1 writes the golden anew. */
#include "tap.h"
#include "vitro/host.h"
#include <stdlib.h>
#include <string.h>

/* ---- the program: takes its world */

static int deploy(struct vitro_host *host)
{
    static const char *const push[] = {"git", "push", "origin", "main", NULL};
    struct vitro_host_error error = {0};
    struct vitro_process_result pushed;
    struct vitro_net_response answer;
    const char *token;
    char id[37], *notes;

    if (vitro_env_get(host->env, "DEPLOY_TOKEN", &token, &error) != 1 ||
        vitro_fs_read(host->fs, "NOTES", &notes, NULL, &error) < 0)
        return 1;
    if (vitro_random_uuid(host->random, id, &error) < 0 ||
        vitro_process_finish(host->process, &(struct vitro_process_call){.argv = push}, &pushed,
                             &error) < 0) {
        free(notes);
        return 1;
    }
    vitro_process_result_done(&pushed);
    /* The service takes a while: ask until it is up. */
    for (int tries = 0; tries < 3; tries++) {
        int r = vitro_net_get(host->net, "https://example.test/health", &answer, &error);
        int up = r == 0 && answer.ok;
        vitro_net_response_done(&answer);
        if (up)
            break;
        (void)vitro_clock_sleep(host->clock, INT64_C(30000000000));
    }
    (void)vitro_stdio_print(host->stdio, "deployed %s: %s", id, notes);
    free(notes);
    return 0;
}

/* ---- its test */

int main(void)
{
    static const char *const pushes[] = {"git", "push", "...", NULL};
    struct vitro_host_error error = {0};
    uint64_t id[2];
    struct vitro_host *machine = vitro_host_real(NULL, &error);

    /* Another id in every run: the golden says <uuid>. */
    (void)vitro_random_bytes(machine->random, id, sizeof id, &error);
    vitro_host_free(machine);
    struct vitro_host *host =
        vitro_host_mock(
            &(struct vitro_host_mock_options){
                .env = (const char *const[]){"DEPLOY_TOKEN=secret", NULL},
                .files = (const struct vitro_host_file[]){{"NOTES", "faster\n", 0}, {0}},
                .random_u64 = id,
                .random_count = 2,
                .steps = (const struct vitro_host_step[]){{.argv = pushes}, {0}},
                .responses =
                    (const struct vitro_host_response[]){
                        {.capability = "net",
                         .method = "get",
                         .result = "{\"status\": 503}",
                         .repeat = 2},
                        {.capability = "net", .method = "get", .result = "\"up\"", .repeat = 1},
                        {0}}},
            &error);

    tap(host != NULL, "the mock is made");
    tap(deploy(host) == 0, "the deploy goes through");
    tap(vitro_clock_monotonic(host->clock) == UINT64_C(60000000000),
        "it waited a minute, in no time");
    tap(vitro_host_check_used(host, &error) == 0, "and asked for everything it was given");
    tap(vitro_host_golden(host, __FILE__ ".golden", NULL, &error) == 0,
        "what it called is what the golden says");
    tap_note(error.text);
    vitro_host_free(host);
    return tap_end();
}
