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

/* Leaks of the interposed libc, counted without a lock: one slot for each capability and worker,
 * taken over into rows by whoever looks. */
enum { SLOTS = 256, WORKER_MAX = 32 };
struct slot {
    uint64_t key; /* of capability and worker; 0: free. Whoever sets it fills the rest */
    const char *capability;
    uint64_t count;
    uint64_t number;
    const void *caller;
    char worker[WORKER_MAX]; /* cut */
    uint32_t is_filled;
};

struct vitro_leaks {
    pthread_mutex_t lock;
    struct slot slots[SLOTS];
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
    memset(leaks->slots, 0, sizeof leaks->slots);
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

static void row_add(struct row *row, uint64_t more, const char *worker, uint64_t number,
                    void *const *callers, int caller_count)
{
    if (__builtin_add_overflow(row->count, more, &row->count))
        row->count = UINT64_MAX;
    int order = row->worker ? lane_compare(worker, row->worker) : -1;
    if (order > 0 || (order == 0 && number >= row->number))
        return;
    free(row->worker);
    row->worker = mem_dup(worker);
    row->number = number;
    row->caller_count = caller_count;
    memcpy(row->callers, callers, (size_t)caller_count * sizeof(void *));
}

static void count(vitro_leaks *leaks, const char *capability, void *const *callers,
                  int caller_count)
{
    struct lane *lane = lane_self();
    uint64_t number = lane->leaks++;

    (void)pthread_mutex_lock(&leaks->lock);
    row_add(row_of(leaks, capability), 1, lane_name(lane), number, callers, caller_count);
    (void)pthread_mutex_unlock(&leaks->lock);
}

static uint64_t slot_key(const char *capability, const char *worker)
{
    uint64_t key = UINT64_C(0xcbf29ce484222325);

    for (const char *text = capability; *text; text++)
        key = (key ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    key = (key ^ 0xff) * UINT64_C(0x100000001b3);
    for (const char *text = worker; *text; text++)
        key = (key ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    return key ? key : 1;
}

void leaks_note_literal(const char *capability, const void *caller)
{
    vitro_leaks *leaks = vitro_leaks_in_force();
    struct lane *lane = lane_self();
    uint64_t key = slot_key(capability, lane_name(lane));

    for (size_t i = 0; leaks && i < SLOTS; i++) {
        struct slot *slot = &leaks->slots[(key + i) % SLOTS];
        uint64_t is = 0;
        if (__atomic_compare_exchange_n(&slot->key, &is, key, false, __ATOMIC_ACQ_REL,
                                        __ATOMIC_ACQUIRE)) {
            slot->capability = capability;
            (void)strncpy(slot->worker, lane_name(lane), WORKER_MAX - 1);
            slot->number = lane->leaks++;
            slot->caller = caller;
            __atomic_store_n(&slot->is_filled, 1, __ATOMIC_RELEASE);
        } else if (is != key) {
            continue;
        }
        (void)__atomic_add_fetch(&slot->count, 1, __ATOMIC_RELAXED);
        return;
    }
}

/* With the lock held. */
static void slots_collect(vitro_leaks *leaks)
{
    for (size_t i = 0; i < SLOTS; i++) {
        struct slot *slot = &leaks->slots[i];
        if (!__atomic_load_n(&slot->is_filled, __ATOMIC_ACQUIRE))
            continue;
        uint64_t more = __atomic_exchange_n(&slot->count, 0, __ATOMIC_RELAXED);
        if (more)
            row_add(row_of(leaks, slot->capability), more, slot->worker, slot->number,
                    (void *const *)&slot->caller, slot->caller != NULL);
    }
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

/* Names only: addresses differ from run to run. A function without a name is named by its file; one
 * of a shared library has that behind it. */
static char *callers_text(const struct row *row)
{
    struct buf text = {0};

    for (int i = 0; i < row->caller_count; i++) {
        Dl_info info;
        const char *name = "?", *file = NULL;
        if (dladdr((char *)row->callers[i] - 1, &info) && info.dli_fname) {
            const char *slash = strrchr(info.dli_fname, '/');
            file = slash ? slash + 1 : info.dli_fname;
            name = info.dli_sname ? info.dli_sname : file;
        }
        buf_addf(&text, "%s%s", i ? " < " : "", name);
        if (file && name != file && strstr(file, ".so"))
            buf_addf(&text, " (%s)", file);
    }
    return text.length ? buf_take(&text) : NULL;
}

static struct vitro_leak_list copy(vitro_leaks *leaks)
{
    slots_collect(leaks);
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
    slots_collect(leaks);
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
