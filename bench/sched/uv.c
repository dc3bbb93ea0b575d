/* SPDX-License-Identifier: MIT */
/* libuv beside us: timers in its heap. It has no virtual time and no tasks. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <uv.h>

static uint64_t state = 88172645463325252u;
static uint64_t number(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state >> 34;
}
static void nothing(uv_timer_t *timer)
{
    (void)timer;
}

int main(void)
{
    enum { MILLION = 1000000, MORE = 100000 };
    uv_loop_t loop;
    uv_timer_t *all = calloc(MILLION + MORE, sizeof *all);
    double insert = 0, cancel = 0;

    uv_loop_init(&loop);
    for (int i = 0; i < MILLION + MORE; i++)
        uv_timer_init(&loop, &all[i]);
    for (int i = 0; i < MILLION; i++)
        uv_timer_start(&all[i], nothing, 1000000 + number(), 0);
    for (int r = 0; r < 7; r++) {
        uint64_t t0 = uv_hrtime();
        for (int i = 0; i < MORE; i++)
            uv_timer_start(&all[MILLION + i], nothing, 1000000 + number(), 0);
        uint64_t t1 = uv_hrtime();
        for (int i = 0; i < MORE; i++)
            uv_timer_stop(&all[MILLION + i]);
        uint64_t t2 = uv_hrtime();
        double a = (double)(t1 - t0) / MORE, b = (double)(t2 - t1) / MORE;
        insert = !insert || a < insert ? a : insert;
        cancel = !cancel || b < cancel ? b : cancel;
    }
    printf("timer_insert_1m_ns %.1f\ntimer_cancel_1m_ns %.1f\n", insert, cancel);
    return 0;
}
