/* SPDX-License-Identifier: MIT */
/* Continuous flows: variables, signals, and consumers that look.
 *
 * Every signal has a height, one more than its highest input. A change goes up by height: a signal
 * is computed when all below it that changed are new, so once for each change and never from a
 * mixture. Signals hold their inputs; inputs know their dependents and consumers by lists that
 * those leave when they are freed. */
#include "sched/flow.h"
#include <stdlib.h>
#include <string.h>

enum { INPUTS_MAX = 16 };

struct look; /* a consumer */

struct vitro_signal {
    unsigned refs, height;
    vitro_value value;
    vitro_equal equal;
    uint64_t version;
    vitro_value (*fn)(void *arg, const vitro_value *values); /* NULL: a variable's own */
    void *arg;
    vitro_signal **inputs; /* owned references */
    size_t input_count;
    vitro_signal **dependents; /* borrowed */
    size_t dependent_count;
    struct look *looks;
    bool waiting; /* is on the list of the change that goes up */
};

struct vitro_var {
    vitro_signal *signal;
};

struct look {
    vitro_flow flow;
    vitro_signal *signal; /* a reference */
    struct look *next;
    struct vitro_object object;
    uint64_t version; /* last one seen */
};

/* ---- nodes */

static vitro_signal *signal_new(vitro_value value)
{
    vitro_signal *signal = mem_alloc(sizeof *signal);

    signal->refs = 1;
    signal->value = value;
    signal->version = 1;
    return signal;
}

vitro_signal *vitro_signal_ref(vitro_signal *signal)
{
    if (signal)
        signal->refs++;
    return signal;
}

static void forget_dependent(vitro_signal *signal, const vitro_signal *dependent)
{
    for (size_t i = 0; i < signal->dependent_count; i++)
        if (signal->dependents[i] == dependent) {
            memmove(&signal->dependents[i], &signal->dependents[i + 1],
                    (signal->dependent_count - i - 1) * sizeof(vitro_signal *));
            signal->dependent_count--;
            return;
        }
}

vitro_signal *vitro_signal_unref(vitro_signal *signal)
{
    if (!signal || --signal->refs > 0)
        return NULL;
    for (size_t i = 0; i < signal->input_count; i++) {
        forget_dependent(signal->inputs[i], signal);
        vitro_signal_unref(signal->inputs[i]);
    }
    free(signal->inputs);
    free(signal->dependents);
    free(signal);
    return NULL;
}

static vitro_value compute(const vitro_signal *signal)
{
    vitro_value values[INPUTS_MAX];

    for (size_t i = 0; i < signal->input_count; i++)
        values[i] = signal->inputs[i]->value;
    return signal->fn(signal->arg, values);
}

vitro_signal *vitro_latest(vitro_value (*fn)(void *, const vitro_value *), void *arg,
                           vitro_signal *const *inputs, size_t n)
{
    if (n == 0 || n > INPUTS_MAX)
        mistake("vitro_latest with %zu inputs: 1 to %d are possible", n, INPUTS_MAX);
    vitro_signal *signal = signal_new(0);
    signal->fn = fn;
    signal->arg = arg;
    signal->inputs = mem_alloc(n * sizeof(vitro_signal *));
    signal->input_count = n;
    for (size_t i = 0; i < n; i++) {
        vitro_signal *input = inputs[i];
        signal->inputs[i] = vitro_signal_ref(input);
        if (input->height >= signal->height)
            signal->height = input->height + 1;
        input->dependents =
            mem_grow(input->dependents, (input->dependent_count + 1) * sizeof(vitro_signal *));
        input->dependents[input->dependent_count++] = signal;
    }
    signal->value = compute(signal);
    return signal;
}

void vitro_signal_equal(vitro_signal *signal, vitro_equal equal)
{
    signal->equal = equal;
}

vitro_value vitro_signal_get(const vitro_signal *signal)
{
    return signal->value;
}

/* ---- change */

struct change {
    vitro_signal **list; /* by height */
    size_t count;
};

static void change_add(struct change *change, vitro_signal *signal)
{
    size_t at = change->count;

    if (signal->waiting)
        return;
    signal->waiting = true;
    change->list = mem_grow(change->list, (change->count + 1) * sizeof(vitro_signal *));
    while (at > 0 && change->list[at - 1]->height > signal->height) {
        change->list[at] = change->list[at - 1];
        at--;
    }
    change->list[at] = signal;
    change->count++;
}

static bool is_new(const vitro_signal *signal, vitro_value value)
{
    return signal->equal ? !signal->equal(signal->value, value) : signal->value != value;
}

/* Takes a value that is new: tells the consumers, and says who else has to be computed. */
static void assign(vitro_signal *signal, vitro_value value, struct change *change)
{
    vitro_task *task = task_here();

    signal->value = value;
    signal->version++;
    for (struct look *look = signal->looks; look; look = look->next) {
        if (!task || look->object.run != task->sched->run)
            continue;
        core_access(&task->sched->core, &task->core, look->object.id, true);
        object_changed(&look->object);
    }
    for (size_t i = 0; i < signal->dependent_count; i++)
        change_add(change, signal->dependents[i]);
}

void vitro_var_set(vitro_var *var, vitro_value value)
{
    struct change change = {0};

    if (!is_new(var->signal, value))
        return;
    assign(var->signal, value, &change);
    for (size_t i = 0; i < change.count; i++) {
        vitro_signal *signal = change.list[i];
        signal->waiting = false;
        vitro_value computed = compute(signal);
        if (is_new(signal, computed))
            assign(signal, computed, &change);
    }
    free(change.list);
}

vitro_value vitro_var_get(const vitro_var *var)
{
    return var->signal->value;
}

vitro_var *vitro_var_new(vitro_value value)
{
    vitro_var *var = mem_alloc(sizeof *var);

    var->signal = signal_new(value);
    return var;
}

vitro_var *vitro_var_free(vitro_var *var)
{
    if (var)
        vitro_signal_unref(var->signal);
    free(var);
    return NULL;
}

vitro_signal *vitro_watch(vitro_var *var)
{
    return vitro_signal_ref(var->signal);
}

/* ---- consumers */

static bool look_new(struct vitro_object *object, const struct wait *wait)
{
    const struct look *look = (struct look *)((char *)object - offsetof(struct look, object));

    (void)wait;
    return look->version != look->signal->version;
}

static int look_next(vitro_flow *flow, vitro_value *ret, const char *where)
{
    struct look *look = (struct look *)flow;
    TASK_OR_RETURN("flow next", &look->object);

    (void)object_bind(task->sched, &look->object, OBJECT_FLOW);
    struct op op = {
        .where = where, .object = look->object.id, .kind = OP_RECEIVE, .flags = OP_CANCELS};
    int r = task_wait(task, op, &look->object, look_new, VITRO_FOREVER);
    if (r < 0)
        return r;
    look->version = look->signal->version;
    *ret = look->signal->value;
    return 1;
}

static void look_free(vitro_flow *flow)
{
    struct look *look = (struct look *)flow;

    for (struct look **link = &look->signal->looks; *link; link = &(*link)->next)
        if (*link == look) {
            *link = look->next;
            break;
        }
    vitro_signal_unref(look->signal);
}

vitro_flow *vitro_flow_of(vitro_signal *signal)
{
    struct look *look = mem_alloc(sizeof *look);

    *look = (struct look){.flow = {.next = look_next, .free = look_free},
                          .signal = vitro_signal_ref(signal),
                          .next = signal->looks,
                          .object.name = "signal"};
    signal->looks = look;
    return &look->flow;
}
