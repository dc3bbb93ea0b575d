/* SPDX-License-Identifier: MIT */
/* What a fixture did against what its sidecars say. Everything is checked, also when something has
 * failed already; a sidecar that does not hold fails a fixture that was expected to fail, too. */
#include "conform/conform_internal.h"
#include "base/fd.h"
#include "base/text.h"
#include "match/golden.h"
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

enum { GOLDEN_MAX = 256 << 20 };

/* ---- how it ended */

static void check_outcome(struct conform_run *run)
{
    const struct box_findings *findings = &run->findings;
    bool ends_badly = conform_has(run->fixture, CONFORM_ERROR);
    int status = findings->wait_status;
    CLEANUP(buf_done) struct buf tail = {0};

    if (findings->outcome != BOX_EXITED) {
        conform_fail(run, "%s", findings->text[0] ? findings->text : "the box ended early");
        return;
    }
    run->result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    bool failed = !WIFEXITED(status) || WEXITSTATUS(status);
    if (failed && !ends_badly) {
        text_add_tail(&tail, "standard error", &run->errors);
        if (WIFEXITED(status))
            conform_fail(run, "it exited with %d\n%s", WEXITSTATUS(status), buf_text(&tail));
        else
            conform_fail(run, "signal %d (%s) ended it\n%s", WTERMSIG(status),
                         strsignal(WTERMSIG(status)), buf_text(&tail));
    }
    if (!failed && ends_badly)
        conform_fail(run, "it exited with 0, and '%s.error' says that it fails",
                     run->fixture->stem);
    for (size_t i = 0; i < findings->leak_count && i < BOX_LEAKS_MAX; i++)
        conform_fail(run, "leak: %s, by %s", findings->leaks[i].capability,
                     findings->leaks[i].process);
    if (findings->orphans)
        conform_fail(run, "%llu processes outlived it", (unsigned long long)findings->orphans);
    if (findings->proc.text[0])
        conform_fail(run, "%s", findings->proc.text);
}

/* ---- outcome files */

static void written(struct conform_run *run, enum conform_sidecar which)
{
    buf_addf(&run->result.updated, "%s%s\n", run->fixture->stem, conform_sidecars[which].suffix);
}

/* The first line that is another one. */
static void tell_difference(struct conform_run *run, const char *what, const struct buf *golden,
                            const struct buf *actual)
{
    const char *want = buf_text(golden), *got = buf_text(actual);
    size_t length = golden->length < actual->length ? golden->length : actual->length;
    size_t line = 1, start = 0;
    CLEANUP(buf_done) struct buf words = {0};

    for (size_t i = 0; i < length && want[i] == got[i]; i++)
        if (got[i] == '\n') {
            line++;
            start = i + 1;
        }
    const struct buf *const both[] = {golden, actual};
    for (int i = 0; i < 2; i++) {
        const char *from = buf_text(both[i]) + start;
        const char *newline = memchr(from, '\n', both[i]->length - start);
        buf_adds(&words, i ? "  + " : "  - ");
        if (start == both[i]->length)
            buf_adds(&words, "(the end)");
        text_add_escaped(&words, from,
                         newline ? (size_t)(newline - from) : both[i]->length - start);
        if (!newline && start < both[i]->length)
            buf_adds(&words, " (no newline)");
        buf_addc(&words, '\n');
    }
    conform_fail(run, "%s differs in line %zu\n%s", what, line, buf_text(&words));
}

static void check_expected(struct conform_run *run)
{
    CLEANUP(mem_free) char *path = conform_path(run->fixture, CONFORM_EXPECTED);
    CLEANUP(mem_free) char *what =
        mem_format("standard output, against '%s.expected',", run->fixture->stem);
    CLEANUP(buf_done) struct buf golden = {0};
    struct err err = {0};

    if (file_read(path, GOLDEN_MAX, &golden, &err) < 0) {
        conform_fail(run, "%s", err.text);
        return;
    }
    if (golden.length == run->output.length &&
        memcmp(buf_text(&golden), buf_text(&run->output), golden.length) == 0) {
        golden_same(path);
        return;
    }
    int r = golden_differs(path, "standard output", buf_text(&run->output), run->output.length,
                           true, run->options->update, &err);
    if (r == 0)
        written(run, CONFORM_EXPECTED);
    else if (r == -EPROTO)
        tell_difference(run, what, &golden, &run->output);
    else
        conform_fail(run, "%s", err.text);
}

static void check_error(struct conform_run *run)
{
    CLEANUP(mem_free) char *path = conform_path(run->fixture, CONFORM_ERROR);
    CLEANUP(buf_done) struct buf golden = {0};
    CLEANUP(buf_done) struct buf tail = {0};
    struct err err = {0};

    if (file_read(path, GOLDEN_MAX, &golden, &err) < 0) {
        conform_fail(run, "%s", err.text);
        return;
    }
    while (golden.length && strchr(" \t\r\n", golden.data[golden.length - 1]))
        buf_cut(&golden, golden.length - 1);
    if (memmem(buf_text(&run->errors), run->errors.length, buf_text(&golden), golden.length))
        return;
    if (run->options->update) {
        if (file_write(path, buf_text(&run->errors), run->errors.length, &err) < 0)
            conform_fail(run, "%s", err.text);
        else
            written(run, CONFORM_ERROR);
        return;
    }
    text_add_tail(&tail, "standard error", &run->errors);
    conform_fail(run, "standard error does not hold what '%s.error' says:\n    %s\n%s",
                 run->fixture->stem, buf_text(&golden),
                 tail.length ? buf_text(&tail) : "  it is empty");
}

/* ---- the sidecar */

struct report {
    json_t *lines; /* owned; calls */
    bool denied_only;
};

static const json_t *told_at(void *context, size_t index)
{
    const struct report *report = context;
    size_t i;
    json_t *line;

    json_array_foreach(report->lines, i, line)
    {
        if ((!report->denied_only || json_is_true(json_object_get(line, "denied"))) && index-- == 0)
            return line;
    }
    return NULL;
}

/* The calls it told; NULL: it told nothing. */
static json_t *read_report(struct conform_run *run)
{
    CLEANUP(buf_done) struct buf text = {0};
    json_t *lines = json_array();

    if (file_read(run->report, GOLDEN_MAX, &text, NULL) < 0 || !text.length)
        return json_free(lines);
    for (const char *p = text.data; *p; p += strcspn(p, "\n") + (p[strcspn(p, "\n")] == '\n')) {
        json_t *line = NULL;
        if (json_parse(p, strcspn(p, "\n"), "report", &line, NULL) == 0 &&
            json_object_get(line, "sub_handle"))
            json_array_append(lines, line);
        json_decref(line);
    }
    return lines;
}

/* What only a program that takes its host can have; NULL: nothing. */
static const char *needs_host(const struct harness *harness)
{
    return harness->is_null                         ? "mode \"null\""
           : json_array_size(harness->expect_calls) ? "'expect_calls'"
           : json_object_size(harness->net_gets)    ? "'net_gets'"
           : json_array_size(harness->responses)    ? "'responses'"
           : json_array_size(harness->argv_steps)   ? "'argv_steps'"
           : json_array_size(harness->capabilities) ? "'capabilities'"
                                                    : NULL;
}

static void check_harness(struct conform_run *run)
{
    const struct harness *harness = &run->harness;
    struct report report = {.lines = read_report(run)};
    struct report denied = {.lines = report.lines, .denied_only = true};
    struct err err = {0};

    if (!report.lines && needs_host(harness)) {
        conform_fail(
            run,
            "%s: %s needs a program that takes its host from vitro_host_main, and this one "
            "did not ask for it",
            harness->path, needs_host(harness));
    } else if (report.lines) {
        if (harness_check_calls(harness, "call", harness->expect_calls, told_at, &report, &err) < 0)
            conform_fail(run, "%s", err.text);
        if (harness_check_calls(harness, "denial", harness->expect_deny_events, told_at, &denied,
                                &err) < 0)
            conform_fail(run, "%s", err.text);
    }
    if (harness_check_text(harness, "standard output", harness->expect_stdio,
                           buf_text(&run->output), run->output.length, &err) < 0)
        conform_fail(run, "%s", err.text);
    if (harness_check_text(harness, "standard error", harness->expect_stderr,
                           buf_text(&run->errors), run->errors.length, &err) < 0)
        conform_fail(run, "%s", err.text);
    json_decref(report.lines);
}

void conform_check(struct conform_run *run)
{
    check_outcome(run);
    if (run->findings.outcome != BOX_EXITED)
        return;
    if (conform_has(run->fixture, CONFORM_EXPECTED))
        check_expected(run);
    if (conform_has(run->fixture, CONFORM_ERROR))
        check_error(run);
    if (run->harness.path)
        check_harness(run);
    conform_check_tape(run);
}
