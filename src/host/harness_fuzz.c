/* SPDX-License-Identifier: MIT */
/* Any bytes as a sidecar: refused in words that begin with where it stands, or a world. */
#include "host/harness.h"
#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    CLEANUP(mem_free) char *text = mem_dupn(bytes, length);
    struct harness harness = {0};
    struct err err = {0};

    if (harness_parse(text, length, "s", &harness, &err) < 0) {
        assert(strncmp(err.text, "s:", 2) == 0);
        return 0;
    }
    struct vitro_host *host = harness_host(&harness, false, &err);
    if (!host) {
        assert(err.code < 0);
        return 0;
    }
    (void)vitro_clock_now(host->clock);
    (void)vitro_host_check_sidecar(host, NULL);
    vitro_host_free(host);
    return 0;
}
