/* SPDX-License-Identifier: MIT */
/* Dining philosophers: the deadlock with its cycle, and the order of forks that avoids it. */
#include "tap.h"
#include <string.h>
#include <vitro/explore.h>

enum { SEATS = 3 };

struct table {
    struct vitro_mutex fork[SEATS];
    bool ordered; /* everybody takes the lower fork first */
};
struct seat {
    struct table *table;
    int number;
};

static int dine(void *arg)
{
    struct seat *seat = arg;
    int left = seat->number, right = (seat->number + 1) % SEATS;
    bool swap = seat->table->ordered && left > right;
    struct vitro_mutex *first = &seat->table->fork[swap ? right : left];
    struct vitro_mutex *second = &seat->table->fork[swap ? left : right];

    vitro_lock(first);
    vitro_lock(second);
    vitro_unlock(second);
    vitro_unlock(first);
    return 0;
}

static int dinner(void *arg)
{
    struct table table = {
        .fork = {VITRO_MUTEX("fork 0"), VITRO_MUTEX("fork 1"), VITRO_MUTEX("fork 2")},
        .ordered = arg != NULL};
    struct seat seats[SEATS];
    struct vitro_call calls[SEATS];
    static const char *const names[] = {"plato", "kant", "hume"};

    for (int i = 0; i < SEATS; i++) {
        seats[i] = (struct seat){&table, i};
        calls[i] = (struct vitro_call){.fn = dine, .arg = &seats[i], .name = names[i]};
    }
    return vitro_join_all(calls, SEATS);
}

int main(void)
{
    int ordered = 1;
    struct vitro_verdict v = vitro_check(dinner, NULL, .name = "dinner", .schedules = 5000);

    tap(v.kind == VITRO_DEADLOCK, "philosophers who all reach left first can starve");
    tap(v.error && strstr(v.error, "cycle: ") && strstr(v.error, "'main/kant'"),
        "the report names the ring of who waits for whom");
    vitro_verdict_done(&v);
    v = vitro_prove(dinner, &ordered, .name = "ordered dinner");
    tap(v.kind == VITRO_OK && v.complete, "taking the lower fork first is proved free of it");
    tap_note(v.report);
    vitro_verdict_done(&v);
    return tap_end();
}
