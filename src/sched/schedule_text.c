/* SPDX-License-Identifier: MIT */
/* Schedules as text: what a run decided, by names that survive changes of the program.
 *
 *     vitro schedule 1
 *     test deposits
 *     run main/left
 *     run main/right *3
 *     timer 1/2
 *
 * One decision a line, or separated by ';'. Only real choices are decisions: a step with one
 * candidate is not in it. `run` names the task that goes; the others say which of how many: timer,
 * waiter, spurious, timeout, random. `*3`: three times in a row. Lines that begin with '#', and
 * words before the first decision that are not decisions, are notes. In names, what would be
 * misread is written %20. */
#include "sched/sched.h"
#include "sched/schedule_text.h"
#include "base/text.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const choice_names[CORE_CHOICES] = {
    [CORE_TASK] = "run",          [CORE_TIMER] = "timer",     [CORE_WAITER] = "waiter",
    [CORE_SPURIOUS] = "spurious", [CORE_TIMEOUT] = "timeout", [CORE_RANDOM] = "random",
};

/* ---- writing */

void schedule_add_word(struct buf *buf, const char *word)
{
    for (; *word; word++) {
        unsigned char c = (unsigned char)*word;
        if (c <= ' ' || c == '%' || c == ';' || c == '*' || c == '#' || c == 127)
            buf_addf(buf, "%%%02x", c);
        else
            buf_addc(buf, (char)c);
    }
}

static void add_decision(const struct core *core, const struct core_decision *decision,
                         struct buf *buf)
{
    buf_adds(buf, choice_names[decision->kind]);
    buf_addc(buf, ' ');
    if (decision->kind == CORE_TASK) {
        CLEANUP(buf_done) struct buf name = {0};
        core_add_name(core, decision->value, &name);
        schedule_add_word(buf, buf_text(&name));
    } else {
        buf_addf(buf, "%u/%u", decision->value, decision->n);
    }
}

void schedule_add(const vitro_sched *sched, struct buf *buf)
{
    const struct core *core = &sched->core;

    for (size_t i = 0; i < core->decision_count;) {
        const struct core_decision *d = &core->decisions[i];
        size_t same = 1;
        while (i + same < core->decision_count && core->decisions[i + same].kind == d->kind &&
               core->decisions[i + same].value == d->value &&
               (d->kind == CORE_TASK || core->decisions[i + same].n == d->n))
            same++;
        add_decision(core, d, buf);
        if (same > 1)
            buf_addf(buf, " *%zu", same);
        buf_addc(buf, '\n');
        i += same;
    }
}

char *vitro_schedule(vitro_sched *sched)
{
    struct buf text = {0};

    buf_adds(&text, "vitro schedule 1\n");
    schedule_add(sched, &text);
    return buf_take(&text);
}

/* ---- reading */

struct entry {
    char *name; /* of a task; owned */
    uint32_t value, n, times;
    uint8_t kind;
};

struct schedule {
    struct decider decider;
    struct entry *entries; /* owned */
    size_t count, pos;
    uint32_t used; /* times the entry at pos was followed */
    bool tolerant;
    uint64_t decided;
    struct buf trouble;
};

char *schedule_decode(const char *word, size_t length)
{
    struct buf text = {0};

    for (size_t i = 0; i < length; i++) {
        char hex[3] = {0};
        if (word[i] == '%' && i + 2 < length) {
            memcpy(hex, word + i + 1, 2);
            buf_addc(&text, (char)strtoul(hex, NULL, 16));
            i += 2;
        } else {
            buf_addc(&text, word[i]);
        }
    }
    buf_adds(&text, "");
    return buf_take(&text);
}

static void entry_add(struct schedule *s, struct entry entry)
{
    s->entries = mem_grow(s->entries, (s->count + 1) * sizeof *s->entries);
    s->entries[s->count++] = entry;
}

/* One line without its end; 0, 1 when it is no decision, -EBADMSG. */
static int parse_line(struct schedule *s, const char *line, size_t length, size_t number,
                      struct err *err)
{
    const char *end = line + length;
    size_t word = strcspn(line, " \t\n;");

    for (unsigned kind = 0; kind < CORE_CHOICES; kind++) {
        if (word != strlen(choice_names[kind]) || memcmp(line, choice_names[kind], word) != 0)
            continue;
        struct entry entry = {.kind = (uint8_t)kind, .times = 1};
        const char *value = line + word + strspn(line + word, " \t");
        size_t value_length = strcspn(value, " \t\n;");
        if (value >= end || !value_length)
            return err_set(err, -EBADMSG, "schedule line %zu: '%s' needs a value", number,
                           choice_names[kind]);
        const char *times = value + value_length + strspn(value + value_length, " \t");
        if (times < end && *times == '*') {
            unsigned long n = strtoul(times + 1, NULL, 10);
            if (n == 0 || n > 1000000000)
                return err_set(err, -EBADMSG, "schedule line %zu: how often is '%.*s'?", number,
                               (int)strcspn(times, "\n;"), times);
            entry.times = (uint32_t)n;
        }
        if (kind == CORE_TASK) {
            entry.name = schedule_decode(value, value_length);
        } else if (sscanf(value, "%u/%u", &entry.value, &entry.n) != 2 || entry.value >= entry.n) {
            return err_set(err, -EBADMSG, "schedule line %zu: '%.*s' is not WHICH/OF-HOW-MANY",
                           number, (int)value_length, value);
        }
        entry_add(s, entry);
        return 0;
    }
    return 1;
}

static int parse(struct schedule *s, const char *text, struct err *err)
{
    size_t number = 1;

    if (!text_starts(text, "vitro schedule "))
        return err_set(err, -EBADMSG, "not a schedule: it does not begin with 'vitro schedule'");
    unsigned long version = strtoul(text + strlen("vitro schedule "), NULL, 10);
    if (version != 1)
        return err_set(err, -EPROTO, "a schedule of format %lu; this vitro reads format 1",
                       version);
    while (*text) {
        text += strspn(text, " \t");
        size_t length = strcspn(text, "\n;");
        int r = *text == '#' || !length ? 1 : parse_line(s, text, length, number, err);
        if (r < 0)
            return r;
        if (r == 1 && s->count && length && *text != '#' && !text_starts(text, "step ") &&
            !text_starts(text, "end"))
            return err_set(err, -EBADMSG, "schedule line %zu: '%.*s' is no decision", number,
                           (int)(length > 60 ? 60 : length), text);
        text += length;
        number += *text == '\n';
        text += *text != 0;
    }
    return 0;
}

/* ---- following */

static void schedule_begin(struct decider *decider, struct core *core)
{
    struct schedule *s = (struct schedule *)decider;

    (void)core;
    s->pos = s->used = 0;
    s->decided = 0;
    buf_clear(&s->trouble);
}

static const struct entry *follow(struct schedule *s)
{
    s->decided++;
    if (s->pos < s->count && s->used == s->entries[s->pos].times) {
        s->pos++;
        s->used = 0;
    }
    if (s->pos >= s->count)
        return NULL;
    s->used++;
    return &s->entries[s->pos];
}

static void add_candidates(const struct core *core, const struct core_task *current,
                           struct buf *buf)
{
    if (current)
        core_add_name(core, current->id, buf);
    for (const struct core_task *t = core->fifo.next; t != &core->fifo; t = t->next) {
        buf_adds(buf, buf->length ? ", " : "");
        core_add_name(core, t->id, buf);
    }
}

static struct core_task *named(const struct core *core, struct core_task *current, const char *name)
{
    CLEANUP(buf_done) struct buf text = {0};

    for (uint32_t i = 0; i <= core->ready_count; i++) {
        struct core_task *t = i < core->ready_count ? core->ready[i] : current;
        if (!t)
            continue;
        buf_clear(&text);
        core_add_name(core, t->id, &text);
        if (strcmp(buf_text(&text), name) == 0)
            return t;
    }
    return NULL;
}

static void trouble(struct schedule *s, const char *format, ...) PRINTF_LIKE(2, 3);
static void trouble(struct schedule *s, const char *format, ...)
{
    va_list args;

    if (s->trouble.length)
        return; /* the first is the cause */
    va_start(args, format);
    buf_addf(&s->trouble, "at decision %llu ", (unsigned long long)s->decided);
    buf_addv(&s->trouble, format, args);
    va_end(args);
}

static struct core_task *schedule_pick(struct decider *decider, struct core *core,
                                       struct core_task *current)
{
    struct schedule *s = (struct schedule *)decider;
    const struct entry *entry = follow(s);
    CLEANUP(buf_done) struct buf names = {0};

    if (entry && entry->kind == CORE_TASK) {
        struct core_task *task = named(core, current, entry->name);
        if (task)
            return task;
    }
    add_candidates(core, current, &names);
    if (!entry)
        trouble(s, "the schedule is at its end (%zu entries); these can go on: %s", s->count,
                names.data);
    else if (entry->kind != CORE_TASK)
        trouble(s, "the schedule says '%s', but the program chooses a task: %s",
                choice_names[entry->kind], names.data);
    else
        trouble(s, "task '%s' cannot go on; these can: %s", entry->name, names.data);
    return s->tolerant ? core_dull(core, current) : NULL;
}

static uint32_t schedule_draw(struct decider *decider, struct core *core, enum core_choice kind,
                              uint32_t n)
{
    struct schedule *s = (struct schedule *)decider;
    const struct entry *entry = follow(s);

    if (entry && entry->kind == kind && entry->value < n && (entry->n == n || s->tolerant))
        return entry->value;
    if (!entry)
        trouble(s, "the schedule is at its end (%zu entries); the program asks for a %s of %u",
                s->count, choice_names[kind], n);
    else if (entry->kind != kind)
        trouble(s, "the schedule says '%s', but the program asks for a %s of %u",
                choice_names[entry->kind], choice_names[kind], n);
    else
        trouble(s, "the schedule says %s %u/%u, but there are %u", choice_names[kind], entry->value,
                entry->n, n);
    if (!s->tolerant)
        core->cut = true;
    return 0;
}

static void schedule_free(struct decider *decider)
{
    struct schedule *s = (struct schedule *)decider;

    for (size_t i = 0; i < s->count; i++)
        free(s->entries[i].name);
    free(s->entries);
    buf_done(&s->trouble);
}

const char *decider_schedule_trouble(const struct decider *decider)
{
    if (decider->pick != schedule_pick)
        return "";
    return buf_text(&((const struct schedule *)decider)->trouble);
}

size_t decider_schedule_unused(const struct decider *decider)
{
    const struct schedule *s = (const struct schedule *)decider;
    size_t unused = 0;

    for (size_t i = s->pos; i < s->count; i++)
        unused += s->entries[i].times - (i == s->pos ? s->used : 0);
    return unused;
}

struct decider *decider_schedule_new(const char *text, bool tolerant, struct err *err)
{
    CLEANUP(decider_free) struct decider *decider = mem_alloc(sizeof(struct schedule));
    struct schedule *s = (struct schedule *)decider;

    *s = (struct schedule){.decider = {.name = "schedule",
                                       .pick = schedule_pick,
                                       .draw = schedule_draw,
                                       .begin = schedule_begin,
                                       .free = schedule_free},
                           .tolerant = tolerant};
    if (parse(s, text, err) < 0)
        return NULL;
    return take_ptr(&decider);
}

/* ---- by hand */

struct manual {
    struct decider decider;
    vitro_sched *sched;
    vitro_manual ask;
    void *arg;
};

static struct core_task *manual_pick(struct decider *decider, struct core *core,
                                     struct core_task *current)
{
    struct manual *m = (struct manual *)decider;
    uint32_t n = core->ready_count + (current != NULL), at = 0;
    CLEANUP(mem_free) struct core_task **tasks = mem_alloc(n * sizeof *tasks);
    CLEANUP(mem_free) const char **names = mem_alloc(n * sizeof *names);
    struct core_task *dull = core_dull(core, current);

    tasks[at++] = dull;
    if (current && current != dull)
        tasks[at++] = current;
    for (struct core_task *t = core->fifo.next; t != &core->fifo; t = t->next)
        if (t != dull)
            tasks[at++] = t;
    for (uint32_t i = 0; i < n; i++) {
        struct buf text = {0};
        core_add_name(core, tasks[i]->id, &text);
        buf_addf(&text, " %s ", op_name(tasks[i]->op.kind));
        object_add_name(m->sched, tasks[i]->op.object, &text);
        names[i] = buf_take(&text);
    }
    uint32_t answer = m->ask(m->arg, "run", n, names);
    for (uint32_t i = 0; i < n; i++)
        free((char *)names[i]);
    return tasks[answer < n ? answer : 0];
}

static uint32_t manual_draw(struct decider *decider, struct core *core, enum core_choice kind,
                            uint32_t n)
{
    struct manual *m = (struct manual *)decider;

    (void)core;
    uint32_t answer = m->ask(m->arg, choice_names[kind], n, NULL);
    return answer < n ? answer : 0;
}

struct decider *decider_manual_new(vitro_sched *sched, vitro_manual ask, void *arg)
{
    struct manual *m = mem_alloc(sizeof *m);

    *m = (struct manual){.decider = {.name = "manual", .pick = manual_pick, .draw = manual_draw},
                         .sched = sched,
                         .ask = ask,
                         .arg = arg};
    return &m->decider;
}
