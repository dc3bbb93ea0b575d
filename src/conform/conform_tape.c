/* SPDX-License-Identifier: MIT */
/* The golden tape of a fixture, and the notes on it. The tape is compared by phase: what the
 * program did byte by byte, what the runtime did afterwards by its meaning. */
#include "conform/conform_internal.h"
#include "base/fd.h"
#include "match/golden.h"
#include "tape/annotations.h"
#include "tape/bundle.h"
#include "tape/fidelity.h"
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

enum { TAPE_MAX = 256 << 20, SHOWN_MAX = 5 };

/* The records alone: contents are in them by their hashes. */
static void update_tape(struct conform_run *run, const char *golden, const char *fresh)
{
    CLEANUP(buf_done) struct buf bytes = {0};
    struct err err = {0};

    if (golden_in_ci())
        conform_fail(run,
                     "golden '%s' would be written, and CI is set: goldens are not written "
                     "in CI",
                     golden);
    else if (file_read(fresh, TAPE_MAX, &bytes, &err) < 0 ||
             file_write(golden, buf_text(&bytes), bytes.length, &err) < 0)
        conform_fail(run, "%s", err.text);
    else
        buf_addf(&run->result.updated, "%s.testbench-tape\n", run->fixture->stem);
}

static void check_golden(struct conform_run *run, const char *golden, const char *fresh)
{
    CLEANUP(fidelity_report_done) struct fidelity_report report = {0};
    CLEANUP(buf_done) struct buf words = {0};
    struct err err = {0};
    struct stat st;
    bool empty = stat(golden, &st) == 0 && st.st_size == 0;
    int r = empty ? -ENODATA
                  : fidelity_compare(&(struct fidelity_options){.recorded = golden,
                                                                .replay = fresh,
                                                                .mode = FIDELITY_PHASE},
                                     &report, &err);

    if (r == 0 && !report.total)
        return;
    if (run->options->update) {
        update_tape(run, golden, fresh);
        return;
    }
    if (empty) {
        conform_fail(run, "'%s.testbench-tape' is empty\nhint: --update writes it",
                     run->fixture->stem);
    } else if (r < 0) {
        conform_fail(run, "%s", err.text);
    } else {
        fidelity_report_add(&words, &report, SHOWN_MAX);
        conform_fail(run, "%llu divergences from '%s.testbench-tape'\n%s",
                     (unsigned long long)report.total, run->fixture->stem, buf_text(&words));
    }
}

static void check_annotations(struct conform_run *run, const char *tape)
{
    CLEANUP(mem_free) char *path = conform_path(run->fixture, CONFORM_ANNOTATIONS);
    CLEANUP(annotations_done) struct annotations annotations = {0};
    struct tape_extent extent;
    struct err err = {0};

    if (annotations_read(path, &annotations, &err) < 0 ||
        tape_extent_read(tape, &extent, &err) < 0) {
        conform_fail(run, "%s", err.text);
        return;
    }
    CLEANUP(json_free) json_t *all = annotations_validate(&annotations, &extent);
    const json_t *problems = json_object_get(all, "problems");
    for (size_t i = 0; i < json_array_size(problems); i++) {
        const json_t *problem = json_array_get(problems, i);
        conform_fail(run, "%s.annotations.jsonl:%lld: %s: %s", run->fixture->stem,
                     (long long)json_integer_value(json_object_get(problem, "line")),
                     json_string_value(json_object_get(problem, "code")),
                     json_string_value(json_object_get(problem, "message")));
    }
}

void conform_check_tape(struct conform_run *run)
{
    bool has_golden = conform_has(run->fixture, CONFORM_TAPE);
    CLEANUP(mem_free) char *golden = conform_path(run->fixture, CONFORM_TAPE);
    CLEANUP(mem_free) char *fresh = tape_path_resolve(run->bundle);

    if (has_golden)
        check_golden(run, golden, fresh);
    if (conform_has(run->fixture, CONFORM_ANNOTATIONS))
        check_annotations(run, has_golden ? golden : fresh);
}
