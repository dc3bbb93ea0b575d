/* SPDX-License-Identifier: MIT */
/* A rate limiter: so many calls a second, a queue before it, and virtual time to see it at work. */
#include "tap.h"
#include <vitro/explore.h>

enum { CALLS = 20, PER_SECOND = 5 };

struct limiter {
    struct vitro_sem tokens;
    uint64_t at[CALLS];
    int done;
};

static int refill(void *arg)
{
    struct limiter *l = arg;
    struct vitro_ticker ticker = VITRO_TICKER(VITRO_SEC(1));

    while (vitro_ticker_wait(&ticker) > 0)
        for (int i = 0; i < PER_SECOND; i++)
            vitro_release(&l->tokens);
    return 0;
}

static int caller(void *arg)
{
    struct limiter *l = arg;
    int r = vitro_acquire(&l->tokens);

    if (r == 0)
        l->at[l->done++] = vitro_clock();
    return r;
}

static int burst(void *arg)
{
    struct limiter l = {.tokens = VITRO_SEM("tokens", PER_SECOND)};
    vitro_task *refiller = vitro_spawn(refill, &l, .name = "refill");
    struct vitro_call calls[CALLS];

    (void)arg;
    for (int i = 0; i < CALLS; i++)
        calls[i] = (struct vitro_call){.fn = caller, .arg = &l};
    int r = vitro_join_all(calls, CALLS);
    vitro_cancel(refiller);
    vitro_join(refiller);
    for (int i = 0; r == 0 && i + PER_SECOND < CALLS; i++)
        if (l.at[i + PER_SECOND] - l.at[i] < VITRO_SEC(1))
            return 1; /* more than allowed within a second */
    return r < 0 ? r : (int)(l.at[CALLS - 1] / VITRO_SEC(1));
}

int main(void)
{
    struct vitro_verdict v = vitro_check(burst, NULL, .want = 3, .schedules = 300);

    tap(v.kind == VITRO_OK, "twenty calls at five a second take three seconds in every schedule");
    if (v.kind != VITRO_OK)
        tap_note(v.report);
    vitro_verdict_done(&v);
    return tap_end();
}
