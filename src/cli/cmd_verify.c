/* SPDX-License-Identifier: MIT */
/* vitro verify: the same program several times, and whether it was the same run each time. */
#include "cli/box_cli.h"
#include "cli/noise_cli.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/scratch.h"
#include "base/text.h"
#include "tape/fidelity.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct cli_option options[] = {
    {"runs", "N", "how many times (default 2)", 'n', false},
    NOISE_CLI_OPTIONS,
    BOX_CLI_OPTIONS,
    {0},
};

static const char *const examples[] = {
    "vitro verify -n 5 -- python3 job.py",
    "five runs; the first difference of tape, output or exit status is named",
    NULL,
};

static int verify(const struct cli_args *args);

const struct command command_verify = {
    .name = "verify",
    .summary = "run a program several times and compare tapes, output and exit status",
    .operands = "[options] -- PROGRAM [ARG...]",
    .operands_min = 1,
    .operands_max = -1,
    .options = options,
    .examples = examples,
    .stops_at_operand = true,
    .run = verify,
};

/* What one run left in its directory: bundle/, out, err; and its exit code. */
struct one_run {
    char *directory; /* owned */
    int code;
    bool lacked_cpu;
};

static int open_in(const char *directory, const char *name, struct err *err)
{
    CLEANUP(mem_free) char *path = mem_format("%s/%s", directory, name);
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    return fd < 0 ? err_set(err, -errno, "create '%s': %m", path) : fd;
}

/* Every run writes to the same place, where the program can see it (/proc/self/fd), and is moved
 * away afterwards. */
static int run_once(const struct box_options *asked, const char *root, unsigned index,
                    struct one_run *ret, struct err *err)
{
    static struct box_findings findings;
    struct box_options box = *asked;
    CLEANUP(mem_free) char *place = mem_format("%s/run", root);
    CLEANUP(mem_free) char *bundle = mem_format("%s/bundle", place);

    ret->directory = mem_format("%s/%u", root, index);
    int r = dir_make_all(place, err);
    if (r < 0)
        return r;
    CLEANUP(fd_close) int in = open("/dev/null", O_RDONLY | O_CLOEXEC);
    CLEANUP(fd_close) int out = open_in(place, "out", err);
    CLEANUP(fd_close) int error = open_in(place, "err", err);
    if (out < 0 || error < 0)
        return err->code;
    box.record = bundle;
    box.wait_for_cpu = !findings.lacked_cpu; /* in the run before */
    box.stdio[0] = in;
    box.stdio[1] = out;
    box.stdio[2] = error;
    r = box_run(&box, &findings, err);
    if (r < 0)
        return r;
    if (findings.outcome == BOX_TROUBLE || findings.outcome == BOX_NOT_FOUND ||
        findings.outcome == BOX_NOT_EXECUTABLE || findings.outcome == BOX_REFUSED)
        return err_set(err, -EIO, "%s", findings.text);
    ret->code = box_exit_code(&box, &findings);
    ret->lacked_cpu |= findings.lacked_cpu;
    if (rename(place, ret->directory) < 0)
        return err_set(err, -errno, "move '%s' to '%s': %m", place, ret->directory);
    return 0;
}

static int compare_output(const struct one_run *a, const struct one_run *b, const char *name,
                          struct buf *text, struct err *err)
{
    CLEANUP(buf_done) struct buf x = {0};
    CLEANUP(buf_done) struct buf y = {0};
    CLEANUP(mem_free) char *x_path = mem_format("%s/%s", a->directory, name);
    CLEANUP(mem_free) char *y_path = mem_format("%s/%s", b->directory, name);
    size_t line = 1, at = 0, start = 0;

    int r = file_read(x_path, 1u << 30, &x, err);
    if (r < 0 || (r = file_read(y_path, 1u << 30, &y, err)) < 0)
        return r;
    if (x.length == y.length && (!x.length || memcmp(x.data, y.data, x.length) == 0))
        return 0;
    for (; at < x.length && at < y.length && x.data[at] == y.data[at]; at++)
        if (x.data[at] == '\n') {
            line++;
            start = at + 1;
        }
    buf_addf(text, "  standard %s differs at line %zu\n    once   ",
             strcmp(name, "out") == 0 ? "output" : "error", line);
    text_add_escaped(text, buf_text(&x) + start, strcspn(buf_text(&x) + start, "\n"));
    buf_adds(text, "\n    again  ");
    text_add_escaped(text, buf_text(&y) + start, strcspn(buf_text(&y) + start, "\n"));
    buf_addc(text, '\n');
    return 1;
}

static int compare_tapes(const struct one_run *a, const struct one_run *b,
                         const struct noise *noise, struct buf *text, struct err *err)
{
    CLEANUP(fidelity_report_done) struct fidelity_report report = {0};
    CLEANUP(mem_free) char *x = mem_format("%s/bundle/tape", a->directory);
    CLEANUP(mem_free) char *y = mem_format("%s/bundle/tape", b->directory);

    int r = fidelity_compare(&(struct fidelity_options){.recorded = x, .replay = y, .noise = noise},
                             &report, err);
    if (r < 0 || !report.total)
        return r;
    fidelity_report_add(text, &report, 3);
    return 1;
}

/* 0 equal, 1 different with words in `text`, or an error. */
static int compare(const struct one_run *a, const struct one_run *b, const struct noise *noise,
                   struct buf *text, struct err *err)
{
    if (a->code != b->code) {
        buf_addf(text, "  exit status %d once, %d again\n", a->code, b->code);
        return 1;
    }
    int r = compare_output(a, b, "out", text, err);
    if (r == 0)
        r = compare_output(a, b, "err", text, err);
    return r ? r : compare_tapes(a, b, noise, text, err);
}

static int verify_in(const struct cli_args *args, const struct box_options *box,
                     const struct noise *noise, unsigned runs, const char *root)
{
    struct one_run first = {0}, other = {0};
    struct err err = {0};
    CLEANUP(buf_done) struct buf text = {0};
    bool terminal = isatty(STDERR_FILENO) && !cli_json(args);
    unsigned done = 1;

    int r = run_once(box, root, 0, &first, &err);
    for (; r == 0 && done < runs; done++) {
        if (terminal)
            (void)fprintf(stderr, "\rvitro: run %u of %u", done + 1, runs);
        r = run_once(box, root, done, &other, &err);
        if (r == 0)
            r = compare(&first, &other, noise, &text, &err);
        (void)dir_remove_all(other.directory, NULL);
        free(take_ptr(&other.directory));
    }
    if (terminal)
        (void)fputs("\r\033[K", stderr);
    free(first.directory);
    if (r < 0)
        return cli_fail(EXIT_TROUBLE, &err);
    if (cli_json(args))
        (void)printf("{\"equal\":%s,\"exit_code\":%d,\"runs\":%u}\n", r ? "false" : "true",
                     first.code, done);
    else if (r)
        (void)fprintf(stderr, "vitro: DIVERGED in run %u\n%s%s", done, buf_text(&text),
                      first.lacked_cpu || other.lacked_cpu
                          ? "  note: other boxes had the CPUs; threads that race may have raced "
                            "differently\n"
                          : "");
    else
        (void)printf("vitro: ok  %u runs, equal in tape, output and exit status (%d)\n", runs,
                     first.code);
    return r ? EXIT_DIVERGED : EXIT_CLEAN;
}

static int verify(const struct cli_args *args)
{
    CLEANUP(box_cli_done) struct box_options box = {0};
    struct err err = {0};
    uint64_t runs = 2;
    const char *text = cli_value(args, "runs");

    if (text && (!text_to_u64(text, &runs) || runs < 2 || runs > 100000))
        return cli_usage(&command_verify, "--runs '%s' is not a number from 2 to 100000", text);
    CLEANUP(noise_free) struct noise *noise = noise_new();
    if (box_cli_read(args, &box, &err) < 0 || noise_cli_read(args, noise, &err) < 0)
        return cli_usage(&command_verify, "%s", err.text);
    struct scratch scratch = {0};
    if (scratch_make(NULL, "verify", &scratch, &err) < 0)
        return cli_fail(EXIT_TROUBLE, &err);
    int code = verify_in(args, &box, noise, (unsigned)runs, scratch.path);
    scratch_remove(&scratch);
    return code;
}
