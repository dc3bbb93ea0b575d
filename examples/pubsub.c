/* SPDX-License-Identifier: MIT */
/* A dashboard of signals: a price feeds two computed values, those feed a third, and subscribers
 * look at their own pace. Nobody ever sees a total that does not fit its parts. */
#include "tap.h"
#include <errno.h>
#include <vitro/explore.h>
#include <vitro/flow.h>

static vitro_value net(void *arg, const vitro_value *v)
{
    (void)arg;
    return v[0] * 100;
}
static vitro_value tax(void *arg, const vitro_value *v)
{
    (void)arg;
    return v[0] * 19;
}
static vitro_value total(void *arg, const vitro_value *v)
{
    (void)arg;
    return v[0] + v[1];
}

struct subscriber {
    vitro_signal *total;
    uint64_t pace_ns;
    int looks;
    vitro_value last;
};

static int look(void *arg, vitro_value value)
{
    struct subscriber *s = arg;

    if (value % 119 != 0)
        return -EILSEQ; /* a mixture of old and new */
    s->looks++;
    s->last = value;
    int r = vitro_sleep(s->pace_ns);
    return r < 0 ? r : value == 119 * 5;
}

static int subscribe(void *arg)
{
    struct subscriber *s = arg;

    return vitro_reduce(vitro_flow_of(s->total), look, s);
}

static int publish(void *arg)
{
    for (int price = 2; price <= 5; price++) {
        vitro_sleep(VITRO_MS(10));
        vitro_var_set(arg, price);
    }
    return 0;
}

static int dashboard(void *arg)
{
    vitro_var *price = vitro_var_new(1);
    vitro_signal *p = vitro_watch(price);
    vitro_signal *parts[] = {vitro_latest(net, NULL, &p, 1), vitro_latest(tax, NULL, &p, 1)};
    vitro_signal *sum = vitro_latest(total, NULL, parts, 2);
    struct subscriber quick = {sum, VITRO_MS(1), 0, 0}, slow = {sum, VITRO_MS(25), 0, 0};
    struct vitro_call calls[] = {{subscribe, &quick, "quick", 0},
                                 {subscribe, &slow, "slow", 0},
                                 {publish, price, "publisher", 0}};
    int r = vitro_join_all(calls, 3);

    (void)arg;
    vitro_signal_unref(sum);
    vitro_signal_unref(parts[0]);
    vitro_signal_unref(parts[1]);
    vitro_signal_unref(p);
    vitro_var_free(price);
    if (r < 0)
        return r;
    return quick.looks == 5 && slow.looks < 5 && slow.last == 595 ? 1 : 2;
}

int main(void)
{
    struct vitro_verdict v = vitro_check(dashboard, NULL, .want = 1, .schedules = 300);

    tap(v.kind == VITRO_OK,
        "the quick one sees every price, the slow one skips, none sees a wrong total");
    if (v.kind != VITRO_OK)
        tap_note(v.report);
    vitro_verdict_done(&v);
    return tap_end();
}
