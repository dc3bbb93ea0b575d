/* SPDX-License-Identifier: MIT */
/* The reader of event-log files; what it took in can be read and appended to. */
#include "host/eventlog.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    vitro_eventlog *log = vitro_eventlog_memory();
    size_t good;

    if (eventlog_load(log, data, size, "fuzz", &good, NULL) == 0) {
        if (good > size)
            abort();
        for (size_t i = 0; i < log->topic_count; i++) {
            struct vitro_event_list list;
            const char *topic = log->topics[i]->name;
            int64_t latest = vitro_eventlog_latest(log, topic);
            (void)vitro_eventlog_read(log, topic, 0, 0, &list, NULL);
            vitro_event_list_done(&list);
            if (vitro_eventlog_append(log, topic, "x", NULL, 0, NULL) != latest + 1)
                abort();
        }
    }
    vitro_eventlog_free(log);
    return 0;
}
