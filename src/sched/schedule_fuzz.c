/* SPDX-License-Identifier: MIT */
/* The reader of schedules, then a run that follows whatever it read. */
#include "sched/sched.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int twice(void *arg)
{
    vitro_yield();
    *(int *)arg += (int)vitro_choose(3);
    return vitro_sleep(5);
}

static int both(void *arg)
{
    vitro_task *a = vitro_spawn(twice, arg, .name = "a"), *b = vitro_spawn(twice, arg, .name = "b");

    (void)vitro_join(a);
    return vitro_join(b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CLEANUP(mem_free) char *text = mem_dupn(data, size);

    for (int tolerant = 0; tolerant < 2; tolerant++) {
        vitro_sched *sched = vitro_sched_new(.schedule = text, .tolerant = tolerant);
        int sum = 0;
        if (sched)
            (void)vitro_run(sched, both, &sum);
        vitro_sched_free(sched);
    }
    return 0;
}
