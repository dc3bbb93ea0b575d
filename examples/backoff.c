/* SPDX-License-Identifier: MIT */
/* A client that retries with exponential backoff and jitter, through a server that is down for most
 * of a virtual day. Takes no real time; the same code would sleep for real outside a scheduler. */
#include "tap.h"
#include <errno.h>
#include <vitro/explore.h>

#define HOUR VITRO_SEC(3600)

struct server {
    uint64_t up_at_ns;
    int calls;
};

static int request(struct server *server)
{
    server->calls++;
    vitro_sleep(VITRO_MS(20)); /* the wire */
    return vitro_clock() >= server->up_at_ns ? 0 : -ECONNREFUSED;
}

static int client(void *arg)
{
    struct server *server = arg;
    uint64_t pause = VITRO_SEC(1);

    for (;;) {
        int r = request(server);
        if (r != -ECONNREFUSED)
            return r;
        r = vitro_sleep(pause + VITRO_MS(vitro_choose(1000)));
        if (r < 0)
            return r;
        pause = pause * 2 < HOUR ? pause * 2 : HOUR;
    }
}

static int outage(void *arg)
{
    struct server server = {.up_at_ns = 20 * HOUR};
    int r = vitro_timeout(client, &server, 24 * HOUR, -ETIMEDOUT);

    *(struct server *)arg = server;
    return r;
}

static bool back_within_an_hour(void *arg, int result)
{
    struct server *server = arg;

    return result == 0 && server->calls < 40;
}

int main(void)
{
    struct server server;
    vitro_sched *sched = vitro_sched_new();
    int r = vitro_run(sched, outage, &server);
    uint64_t ended = vitro_now(sched);

    vitro_sched_free(sched);
    tap(r == 0, "the client gets through when the server is back");
    tap(ended >= 20 * HOUR && ended < 21 * HOUR + VITRO_SEC(2), "within an hour of its return");
    tap(server.calls < 40, "and did not hammer it");
    struct vitro_verdict v = vitro_check(outage, &server, .property = back_within_an_hour,
                                         .schedules = 200, .strategy = VITRO_RANDOM);
    tap(v.kind == VITRO_OK, "whatever the jitter");
    vitro_verdict_done(&v);
    return tap_end();
}
