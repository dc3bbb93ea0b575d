/* SPDX-License-Identifier: MIT */
/* A signal ends the program in the middle of a check: the schedule so far is written before, to the
 * file the check named or to standard error. This runs in a signal handler, maybe inside malloc:
 * nothing here allocates. */
#include "sched/explore.h"
#include "base/fd.h"
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static __thread const struct session *watched;

struct line {
    char text[512];
    size_t length;
};

static void add(struct line *line, const char *text)
{
    size_t length = strlen(text);

    if (line->length + length < sizeof line->text) {
        memcpy(line->text + line->length, text, length);
        line->length += length;
    }
}

static void add_number(struct line *line, uint64_t number)
{
    char digits[24];
    size_t at = sizeof digits - 1;

    digits[at] = 0;
    do
        digits[--at] = (char)('0' + number % 10);
    while (number /= 10);
    add(line, digits + at);
}

/* As core_add_name and schedule_add_word do it. */
static void add_name(struct line *line, const struct core *core, uint32_t task)
{
    const struct core_name *name = &core->names[task];
    uint32_t ordinal = 0, namesakes = 0;

    if (name->parent) {
        add_name(line, core, name->parent);
        add(line, "/");
    }
    for (uint32_t i = 1; i <= task; i++) {
        if (core->names[i].parent != name->parent)
            continue;
        ordinal++;
        namesakes += name->label && core->names[i].label && i != task &&
                     strcmp(core->names[i].label, name->label) == 0;
    }
    if (!name->label) {
        if (!name->parent)
            add(line, "main");
        else
            add_number(line, ordinal);
        return;
    }
    for (const char *c = name->label; *c; c++) {
        static const char hex[] = "0123456789abcdef";
        char text[4] = {*c, 0, 0, 0};
        if ((unsigned char)*c <= ' ' || strchr("%;*#\177", *c)) {
            text[0] = '%';
            text[1] = hex[(unsigned char)*c >> 4];
            text[2] = hex[*c & 15];
        }
        add(line, text);
    }
    if (namesakes) {
        add(line, "#");
        add_number(line, namesakes + 1);
    }
}

static void write_line(int fd, const struct line *line)
{
    (void)!write(fd, line->text, line->length);
}

static void write_schedule(int fd, const struct session *s, int signal)
{
    static const char *const kinds[CORE_CHOICES] = {"run",      "timer",   "waiter",
                                                    "spurious", "timeout", "random"};
    const struct core *core = &s->sched->core;
    struct line line = {0};

    add(&line, "vitro schedule 1\ntest ");
    add(&line, s->options.name);
    add(&line, "\nkind crash\nerror signal ");
    add_number(&line, (uint64_t)signal);
    add(&line, "\n");
    write_line(fd, &line);
    for (size_t i = 0; i < core->decision_count; i++) {
        const struct core_decision *d = &core->decisions[i];
        line.length = 0;
        add(&line, kinds[d->kind]);
        add(&line, " ");
        if (d->kind == CORE_TASK) {
            add_name(&line, core, d->value);
        } else {
            add_number(&line, d->value);
            add(&line, "/");
            add_number(&line, d->n);
        }
        add(&line, "\n");
        write_line(fd, &line);
    }
}

static void on_crash(int signal)
{
    const struct session *s = watched;

    watched = NULL; /* once */
    if (!s || !s->sched->run)
        return;
    int fd = s->options.save ? open(s->options.save, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)
                             : STDERR_FILENO;
    struct line line = {0};
    add(&line, "vitro: ");
    add(&line, s->options.name);
    add(&line, ": signal ");
    add_number(&line, (uint64_t)signal);
    add(&line, s->options.save ? ", the schedule is in " : ", this is the schedule:");
    add(&line, s->options.save ? s->options.save : "");
    add(&line, "\n");
    write_line(STDERR_FILENO, &line);
    if (fd >= 0)
        write_schedule(fd, s, signal);
}

void crash_watch(const struct session *session)
{
    watched = session;
    fault_on_crash(session ? on_crash : NULL);
}
