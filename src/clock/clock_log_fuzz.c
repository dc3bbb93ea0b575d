/* SPDX-License-Identifier: MIT */
/* The reader of clock logs; what it reads is written and read again to the same text. */
#include "base/buf.h"
#include "vitro/clock.h"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    vitro_clock_log *log = vitro_clock_log_parse((const char *)data, size, NULL);

    if (!log)
        return 0;
    CLEANUP(mem_free) char *text = vitro_clock_log_text(log);
    vitro_clock_log *again = vitro_clock_log_parse(text, strlen(text), NULL);
    if (!again)
        abort();
    CLEANUP(mem_free) char *same = vitro_clock_log_text(again);
    if (strcmp(text, same) != 0)
        abort();
    vitro_clock_log_free(log);
    vitro_clock_log_free(again);
    return 0;
}
