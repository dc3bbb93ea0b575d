/* SPDX-License-Identifier: MIT */
/* vitro/flow.h: values over time, between tasks.
 *
 * DISCRETE flows are sequences: a consumer pulls, a producer waits until it does (back-pressure).
 *
 *     vitro_flow *flow = vitro_flow_seed((vitro_value[]){1, 2, 3}, 3);
 *     vitro_value all[8];
 *     int64_t n = vitro_collect(flow, all, 8);             3: {1, 2, 3}
 *
 * CONTINUOUS flows always have a value: variables that are set, and signals computed from them.
 *
 *     vitro_signal *x = vitro_watch(vitro_var_new(1));
 *     vitro_signal *y = vitro_latest(sum, NULL, (vitro_signal *[]){x, x}, 2);
 *
 * Setting a variable computes everything that depends on it at once, in the setter's own stack,
 * each signal once and after all it depends on: nobody sees a mixture of old and new (no glitches).
 * A signal whose new value equals the old one is not passed on. A consumer sees the current value
 * first and then, whenever it gets to look, the latest; values between two looks are lost on
 * purpose.
 *
 * A flow is consumed once, by one task. Functions that make a flow out of others take those: free
 * only the outermost. Signals and variables are counted; whoever makes one owns one reference, and
 * a signal holds its inputs. Everything here is used inside tasks. */
#ifndef VITRO_FLOW_H
#define VITRO_FLOW_H

#include "vitro/sched.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct vitro_flow vitro_flow;
typedef struct vitro_emitter vitro_emitter;
typedef struct vitro_signal vitro_signal;
typedef struct vitro_var vitro_var;

/* ---- making */
VITRO_API vitro_flow *vitro_flow_seed(const vitro_value *values, size_t n); /* copies */
/* Calls subscribe when the flow is first pulled and unsubscribe (may be NULL) when it is freed. In
 * between, vitro_emit passes values to the consumer. */
VITRO_API vitro_flow *vitro_flow_observe(void (*subscribe)(void *arg, vitro_emitter *emitter),
                                         void (*unsubscribe)(void *arg), void *arg);
/* Waits until the consumer takes the value. -EPIPE when there is no consumer any more. */
#define vitro_emit(emitter, value) vitro_emit_at(emitter, value, VITRO_HERE)
VITRO_API int vitro_emit_at(vitro_emitter *emitter, vitro_value value, const char *where);
/* The current value of a signal, then each later one. Takes a reference of its own. */
VITRO_API vitro_flow *vitro_flow_of(vitro_signal *signal);

/* ---- changing; each takes its flows */
typedef vitro_value (*vitro_fold)(void *arg, vitro_value so_far, vitro_value value);
VITRO_API vitro_flow *vitro_flow_map(vitro_value (*fn)(void *arg, vitro_value value), void *arg,
                                     vitro_flow *flow);
/* Never makes the producer wait: values the consumer is too slow for are folded together. */
VITRO_API vitro_flow *vitro_flow_relieve(vitro_fold fold, void *arg, vitro_flow *flow);
/* One after the other. */
VITRO_API vitro_flow *vitro_flow_amb(vitro_flow *const *flows, size_t n);
/* All at once, in the order values come. */
VITRO_API vitro_flow *vitro_flow_merge(vitro_flow *const *flows, size_t n);
/* For every value of the sampler, what fn makes of it and of the signal's current value. */
VITRO_API vitro_flow *vitro_flow_sample(vitro_value (*fn)(void *arg, vitro_value sampled,
                                                          vitro_value value),
                                        void *arg, vitro_signal *sampled, vitro_flow *sampler);
/* Shares one flow among n consumers: each of ret gets every value; the slowest sets the pace. */
VITRO_API void vitro_flow_stream(vitro_flow *flow, vitro_flow **ret, size_t n);

/* ---- consuming */
/* 1 and a value, 0 at the end, -errno. */
#define vitro_flow_next(flow, ret) vitro_flow_next_at(flow, ret, VITRO_HERE)
VITRO_API int vitro_flow_next_at(vitro_flow *flow, vitro_value *ret, const char *where);
VITRO_API vitro_flow *vitro_flow_free(vitro_flow *flow); /* ends what works for it; accepts NULL */
/* Calls step for every value until the end, or until it returns something else than 0: above 0 to
 * stop early, -errno to fail; that is returned. Takes the flow. */
VITRO_API int vitro_reduce(vitro_flow *flow, int (*step)(void *so_far, vitro_value value),
                           void *so_far);
struct vitro_collect_options {
    uint64_t timeout_ns; /* 0: none */
    bool stop_at_max;    /* `max` values are enough; otherwise more than that is -E2BIG */
};
#define vitro_collect(flow, ret, max, ...)                                                         \
    vitro_collect_with(flow, ret, max, &(struct vitro_collect_options){__VA_ARGS__})
/* How many; -ETIMEDOUT when time was over before the end. Takes the flow. */
VITRO_API int64_t vitro_collect_with(vitro_flow *flow, vitro_value *ret, size_t max,
                                     const struct vitro_collect_options *options);

/* ---- continuous */
typedef bool (*vitro_equal)(vitro_value a, vitro_value b);
VITRO_API vitro_var *vitro_var_new(vitro_value value);
VITRO_API vitro_var *vitro_var_free(vitro_var *var);
VITRO_API void vitro_var_set(vitro_var *var, vitro_value value);
VITRO_API vitro_value vitro_var_get(const vitro_var *var);
VITRO_API vitro_signal *vitro_watch(vitro_var *var);
/* fn(arg, values of the inputs); at most 16 inputs. */
VITRO_API vitro_signal *vitro_latest(vitro_value (*fn)(void *arg, const vitro_value *values),
                                     void *arg, vitro_signal *const *inputs, size_t n);
VITRO_API void vitro_signal_equal(vitro_signal *signal, vitro_equal equal); /* instead of == */
VITRO_API vitro_value vitro_signal_get(const vitro_signal *signal);
VITRO_API vitro_signal *vitro_signal_ref(vitro_signal *signal);
VITRO_API vitro_signal *vitro_signal_unref(vitro_signal *signal);

#ifdef __cplusplus
}
#endif
#endif
