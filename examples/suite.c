/* SPDX-License-Identifier: MIT */
/* A test program whose main is vitro_main: it lists, replays and shrinks its tests by itself. With
 * SUITE_BROKEN in the environment the transfers forget their lock, and the failing schedule is
 * saved as transfers.schedule. */
#include <stdlib.h>
#include <vitro/explore.h>

struct bank {
    struct vitro_mutex mutex;
    int from, to;
    bool broken;
};

static int transfer(void *arg)
{
    struct bank *b = arg;

    if (!b->broken)
        vitro_lock(&b->mutex);
    vitro_read(&b->from);
    int from = b->from;
    vitro_write(&b->from);
    b->from = from - 1;
    vitro_write(&b->to);
    b->to++;
    if (!b->broken)
        vitro_unlock(&b->mutex);
    return 0;
}

static int transfers(void *arg)
{
    struct bank b = {.mutex = VITRO_MUTEX("bank"), .from = 10, .broken = getenv("SUITE_BROKEN")};
    struct vitro_call calls[] = {{transfer, &b, "alice", 0}, {transfer, &b, "bob", 0}};

    (void)arg;
    vitro_join_all(calls, 2);
    return b.from + b.to;
}
VITRO_CHECK(transfers, .want = 10, .save = "transfers.schedule")

static int transfers_proved(void *arg)
{
    (void)arg;
    return getenv("SUITE_BROKEN") ? 10 : transfers(NULL);
}
VITRO_PROVE(transfers_proved, .want = 10)

int main(int argc, char **argv)
{
    return vitro_main(argc, argv);
}
