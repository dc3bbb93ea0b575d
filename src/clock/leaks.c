/* SPDX-License-Identifier: MIT */
/* The audit of looks at the real world. A row keeps its first leak: of several workers the one that
 * stands first by name, whoever came first in real time. */
#include "vitro/leaks.h"
#include "base/buf.h"
#include "base/wall.h"
#include "clock/clock.h"
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <pthread.h>
#include <string.h>

enum { CALLERS_MAX = 16 };

struct row {
    char *capability; /* owned */
    uint64_t count;
    char *worker; /* owned; with `number` the place of its first leak */
    uint64_t number;
    void *callers[CALLERS_MAX];
    int caller_count;
};

struct vitro_leaks {
    pthread_mutex_t lock;
    struct row *rows; /* owned */
    size_t count, capacity;
    bool callers;
};

vitro_leaks *vitro_leaks_new(const struct vitro_leaks_options *options)
{
    vitro_leaks *leaks = mem_alloc(sizeof *leaks);

    (void)pthread_mutex_init(&leaks->lock, NULL);
    leaks->callers = options && options->callers;
    return leaks;
}

static void rows_clear(vitro_leaks *leaks)
{
    for (size_t i = 0; i < leaks->count; i++) {
        free(leaks->rows[i].capability);
        free(leaks->rows[i].worker);
    }
    leaks->count = 0;
}

void vitro_leaks_free(vitro_leaks *leaks)
{
    if (!leaks)
        return;
    rows_clear(leaks);
    free(leaks->rows);
    (void)pthread_mutex_destroy(&leaks->lock);
    free(leaks);
}

/* ---- counting */

static struct row *row_of(vitro_leaks *leaks, const char *capability)
{
    for (size_t i = 0; i < leaks->count; i++)
        if (strcmp(leaks->rows[i].capability, capability) == 0)
            return &leaks->rows[i];
    if (leaks->count == leaks->capacity) {
        leaks->capacity = leaks->capacity ? leaks->capacity * 2 : 16;
        leaks->rows = mem_grow(leaks->rows, leaks->capacity * sizeof *leaks->rows);
    }
    leaks->rows[leaks->count] = (struct row){.capability = mem_dup(capability)};
    return &leaks->rows[leaks->count++];
}

static void count(vitro_leaks *leaks, const char *capability, void *const *callers,
                  int caller_count)
{
    struct lane *lane = lane_self();
    const char *worker = lane_name(lane);
    uint64_t number = lane->leaks++;

    (void)pthread_mutex_lock(&leaks->lock);
    struct row *row = row_of(leaks, capability);
    row->count += row->count < UINT64_MAX;
    if (!row->worker || lane_compare(worker, row->worker) < 0) {
        free(row->worker);
        row->worker = mem_dup(worker);
        row->number = number;
        row->caller_count = caller_count;
        memcpy(row->callers, callers, (size_t)caller_count * sizeof(void *));
    }
    (void)pthread_mutex_unlock(&leaks->lock);
}

/* `caller`: where the library was entered; what is inside of that is its own. */
static int note(const char *capability, const void *caller)
{
    vitro_leaks *leaks = vitro_leaks_in_force();
    void *calls[CALLERS_MAX];
    int found = 0, ours = 0;

    if (!capability || !*capability)
        return -EINVAL;
    if (!leaks)
        return 0;
    if (leaks->callers)
        found = backtrace(calls, CALLERS_MAX);
    while (ours < found && calls[ours] != caller)
        ours++;
    count(leaks, capability, calls + ours, found - ours);
    return 1;
}

int vitro_leak_note(const char *capability)
{
    return note(capability, __builtin_return_address(0));
}

int64_t vitro_leak_now(const char *capability)
{
    if (vitro_is_mocked())
        (void)note(capability, __builtin_return_address(0));
    return wall_now_ns();
}

uint64_t vitro_leak_monotonic(const char *capability)
{
    if (vitro_is_mocked())
        (void)note(capability, __builtin_return_address(0));
    return wall_monotonic_ns();
}

/* ---- looking */

static int by_first(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    int order = lane_compare(x->worker, y->worker);

    return order ? order : x->number < y->number ? -1 : 1;
}

/* Names only: addresses differ from run to run. A function without a name is named by its file. */
static char *callers_text(const struct row *row)
{
    struct buf text = {0};

    for (int i = 0; i < row->caller_count; i++) {
        Dl_info info;
        const char *name = "?";
        if (dladdr((char *)row->callers[i] - 1, &info) && info.dli_fname) {
            const char *slash = strrchr(info.dli_fname, '/');
            name = info.dli_sname ? info.dli_sname : slash ? slash + 1 : info.dli_fname;
        }
        buf_addf(&text, "%s%s", i ? " < " : "", name);
    }
    return text.length ? buf_take(&text) : NULL;
}

static struct vitro_leak_list copy(vitro_leaks *leaks)
{
    struct vitro_leak_list list = {.rows = mem_alloc((leaks->count + 1) * sizeof *list.rows),
                                   .count = leaks->count};

    if (leaks->count)
        qsort(leaks->rows, leaks->count, sizeof *leaks->rows, by_first);
    for (size_t i = 0; i < leaks->count; i++) {
        const struct row *row = &leaks->rows[i];
        list.rows[i] = (struct vitro_leak){.capability = mem_dup(row->capability),
                                           .count = row->count,
                                           .worker = mem_dup(row->worker),
                                           .callers = callers_text(row)};
    }
    return list;
}

struct vitro_leak_list vitro_leaks_snapshot(vitro_leaks *leaks)
{
    (void)pthread_mutex_lock(&leaks->lock);
    struct vitro_leak_list list = copy(leaks);
    (void)pthread_mutex_unlock(&leaks->lock);
    return list;
}

struct vitro_leak_list vitro_leaks_drain(vitro_leaks *leaks)
{
    (void)pthread_mutex_lock(&leaks->lock);
    struct vitro_leak_list list = copy(leaks);
    rows_clear(leaks);
    (void)pthread_mutex_unlock(&leaks->lock);
    return list;
}

void vitro_leak_list_done(struct vitro_leak_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        free((char *)list->rows[i].capability);
        free((char *)list->rows[i].worker);
        free((char *)list->rows[i].callers);
    }
    free(list->rows);
    *list = (struct vitro_leak_list){0};
}

void vitro_leaks_reset(vitro_leaks *leaks)
{
    (void)pthread_mutex_lock(&leaks->lock);
    rows_clear(leaks);
    (void)pthread_mutex_unlock(&leaks->lock);
}

uint64_t vitro_leaks_count(vitro_leaks *leaks, const char *capability)
{
    uint64_t sum = 0;

    (void)pthread_mutex_lock(&leaks->lock);
    for (size_t i = 0; i < leaks->count; i++)
        if ((!capability || strcmp(leaks->rows[i].capability, capability) == 0) &&
            __builtin_add_overflow(sum, leaks->rows[i].count, &sum))
            sum = UINT64_MAX;
    (void)pthread_mutex_unlock(&leaks->lock);
    return sum;
}

char *vitro_leaks_text(vitro_leaks *leaks)
{
    struct vitro_leak_list list = vitro_leaks_snapshot(leaks);
    struct buf text = {0};

    buf_adds(&text, "");
    for (size_t i = 0; i < list.count; i++) {
        buf_addf(&text, "%s %llu", list.rows[i].capability, (unsigned long long)list.rows[i].count);
        if (list.rows[i].callers)
            buf_addf(&text, " from %s", list.rows[i].callers);
        buf_addc(&text, '\n');
    }
    vitro_leak_list_done(&list);
    return text.data ? buf_take(&text) : mem_dup("");
}

/* ---- scopes */

int vitro_leaks_push_at(struct vitro_frame *frame, vitro_leaks *leaks, const char *where,
                        struct vitro_clock_error *error)
{
    if (!frame || !leaks)
        return err_set(clock_err(error), -EINVAL, "push a leak scope at %s: no %s",
                       where ? where : "?", frame ? "audit" : "guard");
    if (!frame->is_pushed)
        *frame = (struct vitro_frame){.leaks = leaks};
    return frame_push(frame, where, clock_err(error));
}

void vitro_leaks_begin(struct vitro_frame *frame, vitro_leaks *leaks, const char *where)
{
    struct vitro_clock_error error;

    *frame = (struct vitro_frame){0};
    if (vitro_leaks_push_at(frame, leaks, where, &error) < 0)
        clock_misuse(clock_err(&error));
}

vitro_leaks *vitro_leaks_in_force(void)
{
    const struct vitro_frame *top = lane_self()->top;

    return top ? top->leaks : NULL;
}
