/* SPDX-License-Identifier: MIT */
/* vitro tape export and import: a recording as one file, and back. */
#include "base/text.h"
#include "cli/cmd_tape.h"
#include "tape/archive.h"
#include <stdio.h>

static int export_run(const struct cli_args *args);
static int import_run(const struct cli_args *args);

static const struct cli_option import_options[] = {
    {"size-limit", "BYTES", "refuse archives that unpack to more (default 16 GiB)", 0, false},
    {0},
};
static const char *const export_examples[] = {"vitro tape export out/ run.tar.zst",
                                              "one portable file; tar and zstd can read it", NULL};
static const char *const import_examples[] = {"vitro tape import run.tar.zst copy/",
                                              "a bundle again", NULL};

const struct command command_tape_export = {
    .name = "tape export",
    .summary = "write a tape or bundle as one .tar.zst file",
    .operands = "TAPE ARCHIVE",
    .operands_min = 2,
    .operands_max = 2,
    .examples = export_examples,
    .run = export_run,
};
const struct command command_tape_import = {
    .name = "tape import",
    .summary = "unpack what export wrote into a new bundle",
    .operands = "ARCHIVE DIRECTORY",
    .operands_min = 2,
    .operands_max = 2,
    .options = import_options,
    .examples = import_examples,
    .run = import_run,
};

static int finish(const struct cli_args *args, int r, const struct archive_result *result,
                  const struct err *err, const char *done)
{
    if (r < 0)
        return cli_fail(EXIT_USAGE, err);
    if (cli_json(args))
        cmd_print_json(json_pack("{s:I,s:I}", "bytes", (json_int_t)result->bytes, "files",
                                 (json_int_t)result->files));
    else
        printf("%llu files, %llu bytes %s\n", (unsigned long long)result->files,
               (unsigned long long)result->bytes, done);
    return EXIT_CLEAN;
}

static int export_run(const struct cli_args *args)
{
    const char *const *operands;
    struct archive_result result = {0};
    struct err err = {0};

    (void)cli_operands(args, &operands);
    int r = archive_export(operands[0], operands[1], &result, &err);
    return finish(args, r, &result, &err, "exported");
}

static int import_run(const struct cli_args *args)
{
    const char *const *operands, *limit = cli_value(args, "size-limit");
    struct archive_result result = {0};
    struct err err = {0};
    uint64_t size_max = 0;

    if (limit && !text_to_u64(limit, &size_max))
        return cli_usage(&command_tape_import, "--size-limit '%s' is not a number of bytes", limit);
    (void)cli_operands(args, &operands);
    int r = archive_import(operands[0], operands[1], size_max, &result, &err);
    return finish(args, r, &result, &err, "imported");
}
