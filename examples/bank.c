/* SPDX-License-Identifier: MIT */
/* A bank account that loses a deposit: seen, explained, and proved right after the fix. */
#include "tap.h"
#include <vitro/explore.h>

struct account {
    int balance;
    bool locked; /* the fix is in */
    struct vitro_mutex mutex;
};

static int deposit(void *arg)
{
    struct account *a = arg;

    if (a->locked)
        vitro_lock(&a->mutex);
    int seen = a->balance;
    vitro_yield(); /* another task may run here */
    a->balance = seen + 10;
    if (a->locked)
        vitro_unlock(&a->mutex);
    return 0;
}

static int deposits(void *arg)
{
    struct account a = {.locked = arg != NULL, .mutex = VITRO_MUTEX("account")};
    vitro_task *left = vitro_spawn(deposit, &a, .name = "left");
    vitro_task *right = vitro_spawn(deposit, &a, .name = "right");

    vitro_join(left);
    vitro_join(right);
    return a.balance;
}

int main(int argc, char **argv)
{
    int fixed = 1;

    if (vitro_args(&argc, argv) < 0)
        return fprintf(stderr, "%s\n", vitro_error(NULL)), 2;
    struct vitro_outcomes o = vitro_explore(deposits, NULL, .strategy = VITRO_DPOR);
    tap(o.complete && o.count == 2 && o.list[0].result + o.list[1].result == 30,
        "the account ends with exactly 10 or 20");
    vitro_outcomes_done(&o);

    struct vitro_verdict v = vitro_check(deposits, NULL, .name = "deposits", .want = 20);
    tap(v.kind == VITRO_PROPERTY && v.preemptions == 1,
        "a check finds the lost deposit and shrinks it to one preemption");
    tap_note(v.report);
    vitro_verdict_done(&v);

    v = vitro_prove(deposits, &fixed, .name = "deposits with a lock", .want = 20);
    tap(v.kind == VITRO_OK && v.complete, "with a lock no schedule loses one");
    vitro_verdict_done(&v);
    return tap_end();
}
