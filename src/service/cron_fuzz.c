/* SPDX-License-Identifier: MIT */
/* Cron texts; what is taken has times, each after the one before. */
#include "base/buf.h"
#include "vitro/cron.h"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = mem_dupn(data, size);
    vitro_cron *cron = vitro_cron_parse(text, NULL, NULL);
    int64_t last_ns = INT64_C(1767225600000000000), next_ns;

    for (int i = 0; cron && i < 20 && vitro_cron_next(cron, last_ns, &next_ns) == 0; i++) {
        if (next_ns <= last_ns)
            abort();
        last_ns = next_ns;
    }
    vitro_cron_free(cron);
    free(text);
    return 0;
}
