/* SPDX-License-Identifier: MIT */
#include "sched/schedule_file.h"
#include "sched/sched.h"
#include "sched/schedule_text.h"
#include "base/fd.h"
#include "base/text.h"
#include <stdlib.h>
#include <string.h>

void schedule_file_done(struct schedule_file *f)
{
    free(f->test);
    free(f->strategy);
    free(f->seed);
    free(f->kind);
    free(f->error);
    for (size_t i = 0; i < f->decision_count; i++)
        free(f->decisions[i]);
    free(f->decisions);
    for (size_t i = 0; i < f->step_count; i++) {
        free(f->steps[i].task);
        free(f->steps[i].op);
        free(f->steps[i].object);
        free(f->steps[i].where);
    }
    free(f->steps);
    *f = (struct schedule_file){0};
}

static void read_step(struct schedule_file *f, const char *line, size_t length)
{
    char *words[4] = {0};

    for (int i = 0; i < 4; i++) {
        size_t skip = strspn(line, " ");
        line += skip;
        length = length > skip ? length - skip : 0;
        size_t word = strcspn(line, " \n;");
        word = word < length ? word : length;
        words[i] = schedule_decode(line, word);
        line += word;
        length -= word;
    }
    f->steps = mem_grow(f->steps, (f->step_count + 1) * sizeof *f->steps);
    f->steps[f->step_count++] = (struct schedule_step){words[0], words[1], words[2], words[3]};
}

static bool read_note(struct schedule_file *f, const char *line, size_t length)
{
    const struct {
        const char *word;
        char **value;
    } notes[] = {{"test ", &f->test},
                 {"strategy ", &f->strategy},
                 {"seed ", &f->seed},
                 {"kind ", &f->kind},
                 {"error ", &f->error}};

    for (size_t i = 0; i < ARRAY_LENGTH(notes); i++) {
        size_t word = strlen(notes[i].word);
        if (length < word || memcmp(line, notes[i].word, word) != 0)
            continue;
        free(*notes[i].value);
        *notes[i].value = mem_dupn(line + word, length - word);
        return true;
    }
    return false;
}

int schedule_file_read(const char *path, struct schedule_file *ret, struct err *err)
{
    CLEANUP(buf_done) struct buf text = {0};
    CLEANUP(schedule_file_done) struct schedule_file f = {0};
    int r = file_read(path, 64 << 20, &text, err);

    if (r < 0)
        return r;
    CLEANUP(decider_free) struct decider *check = decider_schedule_new(buf_text(&text), true, err);
    if (!check)
        return err_wrap(err, "'%s'", path);
    for (const char *line = text.data; *line;) {
        size_t length = strcspn(line, "\n;");
        if (text_starts(line, "step "))
            read_step(&f, line + 5, length - 5);
        else if (length && *line != '#' && !text_starts(line, "vitro schedule ") &&
                 !text_starts(line, "end") && !read_note(&f, line, length)) {
            f.decisions = mem_grow(f.decisions, (f.decision_count + 1) * sizeof *f.decisions);
            f.decisions[f.decision_count++] = mem_dupn(line, length);
        }
        line += length + (line[length] != 0);
    }
    *ret = f;
    f = (struct schedule_file){0};
    return 0;
}

/* ---- lanes */

enum { LANES_MAX = 12, LANE_WIDTH_MIN = 10 };

static size_t lane_of(const char **names, size_t *count, const char *task)
{
    for (size_t i = 0; i < *count; i++)
        if (strcmp(names[i], task) == 0)
            return i;
    if (*count == LANES_MAX)
        return LANES_MAX - 1;
    names[*count] = task;
    return (*count)++;
}

static void add_cell(struct buf *buf, const struct schedule_step *step)
{
    buf_adds(buf, step->op);
    if (step->object && strcmp(step->object, "-") != 0 && strcmp(step->op, "start") != 0)
        buf_addf(buf, " %s", step->object);
}

void schedule_file_add_lanes(const struct schedule_file *f, struct buf *buf)
{
    const char *names[LANES_MAX];
    size_t count = 0, width[LANES_MAX];

    for (size_t i = 0; i < f->step_count; i++)
        (void)lane_of(names, &count, f->steps[i].task);
    for (size_t i = 0; i < count; i++)
        width[i] = strlen(names[i]) > LANE_WIDTH_MIN ? strlen(names[i]) : LANE_WIDTH_MIN;
    buf_adds(buf, " step");
    for (size_t i = 0; i < count; i++)
        buf_addf(buf, "  %-*s", (int)width[i], names[i]);
    buf_addc(buf, '\n');
    for (size_t i = 0; i < f->step_count; i++) {
        const struct schedule_step *step = &f->steps[i];
        size_t lane = lane_of(names, &count, step->task);
        bool first = i == 0 || strcmp(f->steps[i - 1].task, step->task) != 0;
        buf_addf(buf, first ? "%5zu" : "     ", i + 1);
        for (size_t k = 0; k < lane; k++)
            buf_addf(buf, "  %-*s", (int)width[k], i > 0 && !first ? "" : "|");
        buf_adds(buf, "  ");
        add_cell(buf, step);
        if (step->where && strcmp(step->where, "-") != 0)
            buf_addf(buf, "  (%s)", step->where);
        buf_addc(buf, '\n');
    }
}
