/* SPDX-License-Identifier: MIT */
/* vitro term cast, play, svg: recordings. An operand that names a file is a cast; any other is a
 * session. */
#include "cli/cmd_term.h"
#include "term/remote.h"
#include "term/term_internal.h"
#include "base/fd.h"
#include "base/text.h"
#include "base/when.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { CAST_BYTES_MAX = 1 << 30 };

static int term_cast(const struct cli_args *args);
static int term_play(const struct cli_args *args);
static int term_svg(const struct cli_args *args);

static const struct cli_option cast_options[] = {
    {"v2", NULL, "asciicast version 2 (default 3)", 0, false},
    {"output", "FILE", "write to this file", 'o', false},
    {0},
};
const struct command command_term_cast = {
    .name = "term cast",
    .summary = "the recording of a session, or another version of a cast",
    .operands = "NAME|FILE",
    .operands_min = 1,
    .operands_max = 1,
    .options = cast_options,
    .run = term_cast,
};

static int write_out(const struct cli_args *args, const char *text, size_t length)
{
    const char *path = cli_value(args, "output");
    struct err err = {0};

    if (!path)
        return fwrite(text, 1, length, stdout) == length ? EXIT_CLEAN : EXIT_TROUBLE;
    return file_write(path, text, length, &err) < 0 ? cli_fail(EXIT_TROUBLE, &err) : EXIT_CLEAN;
}

static int load(const char *path, struct log *log, struct cast_meta *meta, struct err *err)
{
    CLEANUP(buf_done) struct buf text = {0};
    int r = file_read(path, CAST_BYTES_MAX, &text, err);

    if (r == 0)
        r = cast_read(buf_text(&text), text.length, log, meta, err);
    return r == -EBADMSG ? err_wrap(err, "%s", path) : r;
}

static int term_cast(const struct cli_args *args)
{
    const char *name = cmd_term_name(args);
    int version = cli_flag(args, "v2") ? 2 : 3;
    struct err err = {0};

    if (!file_exists(name)) {
        CLEANUP(json_free) json_t *reply = NULL;
        int code =
            cmd_term_ask(args, json_pack("{s:s,s:i}", "op", "cast", "version", version), &reply);
        const json_t *cast = json_object_get(reply, "cast");
        return code || (cli_json(args) && !cli_value(args, "output"))
                   ? code
                   : write_out(args, json_string_value(cast), json_string_length(cast));
    }
    struct log log = {0};
    struct cast_meta meta;
    CLEANUP(buf_done) struct buf text = {0};
    int r = load(name, &log, &meta, &err);
    if (r == 0)
        r = cast_add(&text, &log, &meta, version, &err);
    log_done(&log);
    return r < 0 ? cli_fail(EXIT_USAGE, &err) : write_out(args, buf_text(&text), text.length);
}

/* ---- svg ------------------------------------------------------------------------------------- */

static const struct cli_option svg_options[] = {
    {"at", "DURATION", "the screen of a cast at this time (default: at its end)", 0, false},
    {"format", "FORMAT", "svg (default), text, styled, ansi or json", 'f', false},
    {"png", NULL, "as PNG instead, drawn by rsvg-convert; needs --output", 0, false},
    {"output", "FILE", "write to this file", 'o', false},
    {0},
};
const struct command command_term_svg = {
    .name = "term svg",
    .summary = "the screen of a session or a cast as a picture",
    .operands = "NAME|FILE",
    .operands_min = 1,
    .operands_max = 1,
    .options = svg_options,
    .run = term_svg,
};

static int read_format(const struct cli_args *args, enum vitro_term_format *ret)
{
    static const char *const names[] = {"text", "styled", "ansi", "json", "svg"};
    const char *name = cli_value(args, "format");

    *ret = VITRO_TERM_SVG;
    for (size_t i = 0; i < ARRAY_LENGTH(names); i++)
        if (name && strcmp(name, names[i]) == 0) {
            *ret = (enum vitro_term_format)i;
            name = NULL;
        }
    return name ? -EINVAL : 0;
}

static int write_png(const struct cli_args *args, const char *svg, size_t length)
{
    CLEANUP(buf_done) struct buf png = {0};
    struct err err = {0};

    return png_of_svg(svg, length, &png, &err) < 0 ? cli_fail(EXIT_TROUBLE, &err)
                                                   : write_out(args, buf_text(&png), png.length);
}

static int write_picture(const struct cli_args *args, const char *text, size_t length)
{
    return cli_flag(args, "png") ? write_png(args, text, length) : write_out(args, text, length);
}

static int term_svg(const struct cli_args *args)
{
    const char *name = cmd_term_name(args), *at = cli_value(args, "at");
    const char *format_name = cli_value(args, "format");
    enum vitro_term_format format;
    uint64_t at_ns = UINT64_MAX;
    struct err err = {0};

    if (read_format(args, &format) < 0)
        return cli_usage(&command_term_svg, "--format '%s': svg, text, styled, ansi or json",
                         format_name);
    if (cli_flag(args, "png") && (!cli_value(args, "output") || format != VITRO_TERM_SVG))
        return cli_usage(&command_term_svg, "--png needs --output FILE, and no --format");
    if (at && when_parse_duration(at, &at_ns, &err) < 0)
        return cli_usage(&command_term_svg, "--at: %s", err.text);
    if (!file_exists(name)) {
        CLEANUP(json_free) json_t *reply = NULL;
        if (at)
            return cli_usage(&command_term_svg, "--at is for casts; '%s' is not a file", name);
        int code = cmd_term_ask(
            args,
            json_pack("{s:s,s:s}", "op", "screen", "format", format_name ? format_name : "svg"),
            &reply);
        const json_t *screen = json_object_get(reply, "screen");
        return code || (cli_json(args) && !cli_value(args, "output"))
                   ? code
                   : write_picture(args, json_string_value(screen), json_string_length(screen));
    }
    struct log log = {0};
    struct cast_meta meta;
    if (load(name, &log, &meta, &err) < 0) {
        log_done(&log);
        return cli_fail(EXIT_USAGE, &err);
    }
    size_t last = SIZE_MAX;
    for (size_t i = 0; i < log.count && log.events[i].virtual_ns <= at_ns; i++)
        last = i;
    if (at && last == SIZE_MAX) /* before the first event: an empty screen */
        log.stream.length = log.count = 0;
    CLEANUP(screen_free) struct screen *screen = screen_of_log(&log, at ? last : SIZE_MAX);
    CLEANUP(buf_done) struct buf text = {0};
    snapshot_add(&text, screen, format);
    log_done(&log);
    return write_picture(args, buf_text(&text), text.length);
}

/* ---- play ------------------------------------------------------------------------------------ */

static const struct cli_option play_options[] = {
    {"speed", "N", "so many times as fast (default 1)", 's', false},
    {"idle", "DURATION", "no pause longer than this (default 2s)", 'i', false},
    {"instant", NULL, "no pauses at all", 0, false},
    {0},
};
const struct command command_term_play = {
    .name = "term play",
    .summary = "play a cast in this terminal",
    .operands = "FILE",
    .operands_min = 1,
    .operands_max = 1,
    .options = play_options,
    .run = term_play,
};

static void pause_for(uint64_t ns)
{
    const struct timespec time = {(time_t)(ns / NS_PER_SEC), (long)(ns % NS_PER_SEC)};

    (void)fflush(stdout);
    if (ns)
        (void)nanosleep(&time, NULL);
}

static int term_play(const struct cli_args *args)
{
    const char *speed_text = cli_value(args, "speed"), *idle = cli_value(args, "idle");
    double speed = speed_text ? strtod(speed_text, NULL) : 1;
    uint64_t idle_ns = 2 * NS_PER_SEC, last_ns = 0;
    struct log log = {0};
    struct cast_meta meta;
    struct err err = {0};
    size_t shown = 0;

    if (!(speed > 0) || speed > 1e6)
        return cli_usage(&command_term_play, "--speed '%s' is not a number above 0", speed_text);
    if (idle && when_parse_duration(idle, &idle_ns, &err) < 0)
        return cli_usage(&command_term_play, "--idle: %s", err.text);
    if (load(cmd_term_name(args), &log, &meta, &err) < 0) {
        log_done(&log);
        return cli_fail(EXIT_USAGE, &err);
    }
    for (size_t i = 0; i < log.count; i++) {
        const struct log_event *event = &log.events[i];
        uint64_t pause_ns = event->virtual_ns - last_ns;
        if (event->kind != LOG_FRAME)
            continue;
        pause_ns = pause_ns > idle_ns ? idle_ns : pause_ns;
        pause_for(cli_flag(args, "instant") ? 0 : (uint64_t)((double)pause_ns / speed));
        (void)fwrite(log.stream.data + shown, 1, event->offset - shown, stdout);
        shown = event->offset;
        last_ns = event->virtual_ns;
    }
    (void)fflush(stdout);
    log_done(&log);
    return EXIT_CLEAN;
}
