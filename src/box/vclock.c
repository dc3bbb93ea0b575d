/* SPDX-License-Identifier: MIT */
/* vclock: what time it is in the box, and the page that tells guests.
 *
 * One number, monotonic time, and an offset to realtime. It begins at a day of uptime, since some
 * programs take a zero for "never". */
#include "box/box_internal.h"
#include "base/text.h"
#include "base/wall.h"
#include "base/when.h"
#include <assert.h>
#include <errno.h>
#include <string.h>

static const int64_t UPTIME_START_NS = 86400 * (int64_t)NS_PER_SEC;
static const int64_t DEFAULT_START_NS = INT64_C(1767225600) * (int64_t)NS_PER_SEC; /* 2026-01-01 */
enum { READ_LIMIT = 1 << 17 };

static int parse_failed(const char *text, struct err *err)
{
    err_set(err, -EINVAL, "'%s' is not a clock", text);
    return err_hint(err, "write real, 2026-01-31T12:00:00Z, 2026-01-31,manual, +7d, -2h or x10");
}

int box_clock_parse(const char *text, struct box_clock *ret, struct err *err)
{
    struct box_clock clock = {0};
    uint64_t number;

    if (strcmp(text, "real") == 0) {
        clock.mode = BOX_CLOCK_REAL;
    } else if (strcmp(text, "manual") == 0) {
        clock.mode = BOX_CLOCK_MANUAL;
    } else if (text[0] == '+' || text[0] == '-') {
        clock.mode = BOX_CLOCK_SHIFTED;
        if (when_parse_duration(text + 1, &number, NULL) < 0)
            return parse_failed(text, err);
        clock.shift_ns = text[0] == '+' ? (int64_t)number : -(int64_t)number;
    } else if (text[0] == 'x') {
        clock.mode = BOX_CLOCK_SCALED;
        if (!text_to_u64(text + 1, &number) || number < 1 || number > 1000000)
            return parse_failed(text, err);
        clock.scale = (uint32_t)number;
    } else {
        CLEANUP(mem_free) char *when = mem_dupn(text, strcspn(text, ","));
        const char *rest = text + strlen(when);
        if (when_parse(when, &clock.start_ns, NULL) < 0 || (*rest && strcmp(rest, ",manual") != 0))
            return parse_failed(text, err);
        clock.mode = *rest ? BOX_CLOCK_MANUAL : BOX_CLOCK_PAUSED;
        clock.start_given = true;
    }
    *ret = clock;
    return 0;
}

int64_t box_clock_start_ns(const struct box_clock *clock)
{
    if (clock->start_given)
        return clock->start_ns;
    bool stands = clock->mode == BOX_CLOCK_PAUSED || clock->mode == BOX_CLOCK_MANUAL;
    return stands ? DEFAULT_START_NS : wall_now_ns() + clock->shift_ns;
}

/* The guests' page follows every change. One writer; readers retry while the sequence is odd. */
static void publish(struct vclock *clock)
{
    struct box_clock_page *page = clock->page;

    if (!page)
        return;
    __atomic_store_n(&page->sequence, page->sequence + 1, __ATOMIC_SEQ_CST);
    page->drive = vclock_held(clock) ? BOX_DRIVE_HELD : BOX_DRIVE_REAL;
    page->scale = clock->scale;
    page->monotonic_ns = clock->monotonic_ns;
    page->realtime_offset_ns = clock->realtime_offset_ns;
    page->real_base_ns = clock->real_base_ns;
    __atomic_store_n(&page->sequence, page->sequence + 1, __ATOMIC_SEQ_CST);
}

void vclock_init(struct vclock *clock, const struct box_options *options)
{
    const struct box_clock *wanted = &options->clock;
    int64_t start = box_clock_start_ns(wanted);

    clock->mode = wanted->mode;
    clock->scale = wanted->mode == BOX_CLOCK_SCALED ? wanted->scale : 1;
    clock->monotonic_ns = UPTIME_START_NS;
    clock->real_base_ns = (int64_t)wall_monotonic_ns();
    if (!vclock_held(clock))
        clock->monotonic_ns = clock->real_base_ns;
    clock->start_monotonic_ns = clock->monotonic_ns;
    clock->realtime_offset_ns = start - clock->monotonic_ns;
    if (clock->page) {
        clock->page->version = BOX_ABI_VERSION;
        clock->page->read_limit = vclock_held(clock) ? READ_LIMIT : UINT64_MAX;
        clock->page->never[0] = INT64_MAX / (int64_t)NS_PER_SEC / 2;
        clock->page->past[1] = 1;
    }
    publish(clock);
}

bool vclock_held(const struct vclock *clock)
{
    return clock->mode == BOX_CLOCK_PAUSED || clock->mode == BOX_CLOCK_MANUAL;
}

bool vclock_virtual(const struct vclock *clock)
{
    return clock->mode != BOX_CLOCK_REAL;
}

int64_t vclock_now(const struct vclock *clock)
{
    if (vclock_held(clock))
        return clock->monotonic_ns;
    return clock->monotonic_ns +
           ((int64_t)wall_monotonic_ns() - clock->real_base_ns) * (int64_t)clock->scale;
}

int64_t vclock_realtime(const struct vclock *clock)
{
    return vclock_now(clock) + clock->realtime_offset_ns;
}

bool vclock_is_realtime(clockid_t id)
{
    return id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE || id == CLOCK_REALTIME_ALARM ||
           id == CLOCK_TAI;
}

int64_t vclock_of(const struct vclock *clock, clockid_t id)
{
    return vclock_is_realtime(id) ? vclock_realtime(clock) : vclock_now(clock);
}

void vclock_move(struct vclock *clock, int64_t monotonic_ns)
{
    assert(vclock_held(clock) && monotonic_ns >= clock->monotonic_ns);
    clock->monotonic_ns = monotonic_ns;
    publish(clock);
}

void vclock_set_realtime(struct vclock *clock, int64_t realtime_ns)
{
    clock->realtime_offset_ns = realtime_ns - vclock_now(clock);
    publish(clock);
}

uint64_t vclock_real_delay(const struct vclock *clock, int64_t due_ns)
{
    int64_t left = due_ns - vclock_now(clock);

    return left > 0 ? (uint64_t)left / clock->scale + 1 : 0;
}
