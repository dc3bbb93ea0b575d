/* SPDX-License-Identifier: MIT */
/* The screen of a verdict: what was wrong, who ran when, the pair of operations whose order
 * decides, and how to run it again. */
#include "sched/explore.h"
#include "sched/schedule_text.h"
#include "base/fd.h"
#include "base/text.h"
#include <stdio.h>
#include <string.h>

/* ---- lanes: one line for each stretch of one task */

static void add_op(const vitro_sched *sched, const struct op *op, bool where, struct buf *buf)
{
    buf_adds(buf, op_name(op->kind));
    if (op->object != CORE_MEMORY && !(op->object & CORE_TASK_OBJECT && op->kind == OP_START)) {
        buf_addc(buf, ' ');
        object_add_name(sched, op->object, buf);
    }
    if (where && op->where)
        buf_addf(buf, " (%s)", op->where);
}

enum { LANE_LINES = 40 };

void report_lanes(const vitro_sched *sched, struct buf *buf)
{
    const struct core *core = &sched->core;
    size_t lines = 0;

    for (size_t i = 0; i < core->log_count;) {
        uint32_t task = core->log[i].task;
        size_t end = i;
        while (end < core->log_count && core->log[end].task == task)
            end++;
        if (++lines > LANE_LINES) {
            buf_addf(buf, "  ... %zu more steps\n", core->log_count - i);
            return;
        }
        buf_addf(buf, "  %5zu  %*s", i + 1, (int)(task < 12 ? (task - 1) * 2 : 22), "");
        CLEANUP(buf_done) struct buf name = {0};
        core_add_name(core, task, &name);
        buf_addf(buf, "%s: ", buf_text(&name));
        for (size_t k = i; k < end; k++) { /* a block of equal operations once, with its count */
            size_t same = k + 1;
            while (same < end && core->log[same].op.kind == core->log[k].op.kind &&
                   core->log[same].op.object == core->log[k].op.object)
                same++;
            buf_adds(buf, k > i ? ", " : "");
            add_op(sched, &core->log[k].op, same == end, buf);
            if (same - k > 1)
                buf_addf(buf, " x%zu", same - k);
            k = same - 1;
        }
        buf_addc(buf, '\n');
        i = end;
    }
}

/* ---- the pair */

/* The last place where a task that could go on had to wait, and what ran instead and touched the
 * same. */
static bool add_pair(const vitro_sched *sched, struct buf *buf)
{
    const struct core *core = &sched->core;

    for (size_t i = core->log_count; i-- > 1;) {
        const struct core_step *now = &core->log[i];
        for (size_t k = i; k-- > 0;) {
            const struct core_step *then = &core->log[k];
            if (then->task == now->task)
                break;
            if (now->op.kind == OP_START || now->op.kind == OP_JOIN || then->op.kind == OP_START ||
                then->op.kind == OP_JOIN || !op_conflict(&now->op, &then->op))
                continue;
            /* now's task was there before: it was preempted, or came too late */
            bool known = false;
            for (size_t h = 0; h < k && !known; h++)
                known = core->log[h].task == now->task;
            if (!known)
                continue;
            core_add_name(core, then->task, buf);
            buf_addc(buf, ' ');
            add_op(sched, &then->op, true, buf);
            buf_adds(buf, "  before  ");
            core_add_name(core, now->task, buf);
            buf_addc(buf, ' ');
            add_op(sched, &now->op, true, buf);
            return true;
        }
    }
    return false;
}

/* ---- schedules as files */

static void add_note(struct buf *buf, const char *word, const char *value)
{
    buf_addf(buf, "%s ", word);
    for (; *value; value++)
        buf_addc(buf, *value == '\n' || *value == ';' ? ' ' : *value);
    buf_addc(buf, '\n');
}

char *report_schedule(const struct session *s, const char *strategy, const struct run *run)
{
    struct buf text = {0};

    buf_adds(&text, "vitro schedule 1\n");
    add_note(&text, "test", s->options.name);
    add_note(&text, "strategy", strategy);
    buf_addf(&text, "seed %llu\n", (unsigned long long)s->options.seed);
    add_note(&text, "kind", vitro_kind_name(run->kind));
    if (run->error) {
        CLEANUP(mem_free) char *line = mem_dupn(run->error, strcspn(run->error, "\n"));
        add_note(&text, "error", line);
    }
    schedule_add(s->sched, &text);
    return buf_take(&text);
}

static void add_steps(const vitro_sched *sched, struct buf *buf)
{
    const struct core *core = &sched->core;
    CLEANUP(buf_done) struct buf word = {0};

    buf_adds(buf, "end\n");
    for (size_t i = 0; i < core->log_count; i++) {
        const struct core_step *step = &core->log[i];
        buf_adds(buf, "step ");
        buf_clear(&word);
        core_add_name(core, step->task, &word);
        schedule_add_word(buf, buf_text(&word));
        buf_addf(buf, " %s ", op_name(step->op.kind));
        buf_clear(&word);
        object_add_name(sched, step->op.object, &word);
        schedule_add_word(buf, word.length ? word.data : "-");
        buf_addc(buf, ' ');
        schedule_add_word(buf, step->op.where ? step->op.where : "-");
        buf_addc(buf, '\n');
    }
}

/* ---- the screen */

static void add_head(const struct session *s, const struct vitro_verdict *v, struct buf *buf)
{
    buf_addf(buf, "%s: FAILED, %s: %s\n", s->options.name, vitro_kind_name(v->kind),
             v->error ? v->error : "");
    if (v->schedules)
        buf_addf(buf, "  schedule %llu (%s, seed %llu), ", (unsigned long long)v->index + 1,
                 v->strategy, (unsigned long long)s->options.seed);
    else
        buf_adds(buf, "  ");
    buf_addf(buf, "%llu preemption%s", (unsigned long long)v->preemptions,
             v->preemptions == 1 ? "" : "s");
    if (v->preemptions_before != v->preemptions)
        buf_addf(buf, ", shrunk from %llu", (unsigned long long)v->preemptions_before);
    if (v->minimal)
        buf_adds(buf, ", the fewest there are");
    buf_adds(buf, "\n\n");
}

static void add_replay(const struct session *s, const struct vitro_verdict *v, struct buf *buf)
{
    if (s->options.save) {
        buf_addf(buf, "  again    %s --vitro-replay %s\n", args_program(), s->options.save);
        return;
    }
    CLEANUP(buf_done) struct buf line = {0};
    for (const char *c = v->shrunk; *c; c++) {
        if (*c == '\n' && text_starts(c + 1, "end\n"))
            break;
        buf_addc(&line, *c == '\n' ? ';' : *c);
    }
    if (line.length <= 2000) {
        buf_adds(buf, "  again    VITRO_SCHEDULE=");
        text_add_quoted(buf, buf_text(&line));
        buf_addf(buf, " %s\n", args_program());
    } else {
        buf_addf(buf, "  again    the schedule is long: .save = \"FILE\" keeps it; seed %llu\n",
                 (unsigned long long)s->options.seed);
    }
}

void report_failure(struct session *s, const struct decisions *decisions, struct vitro_verdict *v)
{
    struct core *core = &s->sched->core;
    struct buf report = {0}, lanes = {0}, shrunk = {0};
    CLEANUP(buf_done) struct buf pair = {0};

    if (!s->options.isolate) {
        core->logging = true;
        session_play(s, decisions->list, decisions->count);
        core->logging = false;
        v->preemptions = s->last.preemptions;
        if (v->kind == s->last.kind && s->last.error) {
            free(v->error);
            v->error = mem_dup(s->last.error);
        }
        CLEANUP(mem_free) char *schedule = report_schedule(s, v->strategy, &s->last);
        buf_adds(&shrunk, schedule);
        add_steps(s->sched, &shrunk);
        report_lanes(s->sched, &lanes);
        (void)add_pair(s->sched, &pair);
    } else {
        buf_adds(&shrunk, v->schedule);
    }
    v->shrunk = buf_take(&shrunk);
    add_head(s, v, &report);
    if (lanes.length)
        buf_addf(&report, "%s\n", lanes.data);
    if (pair.length)
        buf_addf(&report, "  decides  %s\n", pair.data);
    if (s->options.save && file_write(s->options.save, v->shrunk, strlen(v->shrunk), NULL) < 0)
        buf_addf(&report, "  (the schedule could not be written to '%s')\n", s->options.save);
    add_replay(s, v, &report);
    buf_adds(&lanes, "");
    v->lanes = buf_take(&lanes);
    v->report = buf_take(&report);
}

void report_ok(const struct session *s, struct vitro_verdict *v)
{
    struct buf report = {0};

    if (v->kind != VITRO_OK) {
        buf_addf(&report, "%s: FAILED, %s: %s\n", s->options.name, vitro_kind_name(v->kind),
                 v->error ? v->error : "");
    } else {
        buf_addf(&report, "%s: ok, %s%llu schedule%s", s->options.name,
                 v->complete ? "fully explored, " : "", (unsigned long long)v->schedules,
                 v->schedules == 1 ? "" : "s");
        if (v->cut)
            buf_addf(&report, " (and %llu cut short)", (unsigned long long)v->cut);
        buf_addf(&report, ", %llu distinct, seed %llu", (unsigned long long)v->distinct,
                 (unsigned long long)v->seed);
        if (s->options.strategy == VITRO_PCT)
            buf_addf(&report, ", a bug of depth %u was missed with a chance of at most %.3g",
                     s->options.depth, v->miss);
        buf_addc(&report, '\n');
    }
    v->report = buf_take(&report);
}
