/* SPDX-License-Identifier: MIT */
/* Results as text for people, TAP 14, JUnit and JSON. Equal suites give equal bytes: times are
 * virtual. */
#include "script/script.h"
#include "base/json.h"
#include "base/text.h"
#include <ctype.h>
#include <string.h>

struct script_out {
    enum script_format format;
    bool colour;
    size_t count, planned;
    struct buf held; /* JUnit: cases, until the totals are known */
    json_t *cases;   /* JSON */
};

struct script_out *script_out_new(enum script_format format, bool colour, size_t case_count)
{
    struct script_out *out = mem_alloc(sizeof *out);

    *out = (struct script_out){.format = format, .colour = colour, .planned = case_count};
    if (format == SCRIPT_JSON)
        out->cases = json_array();
    return out;
}

struct script_out *script_out_free(struct script_out *out)
{
    if (out) {
        buf_done(&out->held);
        json_decref(out->cases);
    }
    free(out);
    return NULL;
}

static const char *const status_words[] = {
    [SCRIPT_PASSED] = "passed", [SCRIPT_FAILED] = "failed", [SCRIPT_SKIPPED] = "skipped"};

static void add_prefixed(struct buf *ret, const char *prefix, const char *text)
{
    for (const char *p = text; p && *p;) {
        size_t length = strcspn(p, "\n");
        buf_addf(ret, "%s%.*s\n", prefix, (int)length, p);
        p += length + (p[length] == '\n');
    }
}

static void add_people(struct script_out *out, const struct script_case *which,
                       const struct script_result *result, struct buf *ret)
{
    static const char *const colours[] = {"\033[32m", "\033[31m", "\033[33m"};
    static const char *const marks[] = {"ok  ", "FAIL", "skip"};

    buf_addf(ret, "%s%s%s %s", out->colour ? colours[result->status] : "", marks[result->status],
             out->colour ? "\033[m" : "", which->name);
    if (result->reason)
        buf_addf(ret, "  (%s)", result->reason);
    if (result->flaky)
        buf_addf(ret, "  FLAKY: passed at try %u", result->tries);
    buf_addc(ret, '\n');
    if (result->status != SCRIPT_FAILED && !result->flaky)
        return;
    if (result->section)
        buf_addf(ret, "  in section \"%s\"\n", result->section);
    add_prefixed(ret, "  ", result->text);
    if (result->status == SCRIPT_FAILED)
        buf_addf(ret, "  again  vitro test %s:%u\n", which->path, which->line);
}

static void add_tap(struct script_out *out, const struct script_case *which,
                    const struct script_result *result, struct buf *ret)
{
    CLEANUP(buf_done) struct buf name = {0};

    if (out->count == 1)
        buf_addf(ret, "TAP version 14\n1..%zu\n", out->planned);
    for (const char *p = which->name; *p; p++)
        buf_addf(&name, "%s%c", *p == '#' || *p == '\\' ? "\\" : "", *p == '\n' ? ' ' : *p);
    buf_addf(ret, "%sok %zu - %s", result->status == SCRIPT_FAILED ? "not " : "", out->count,
             buf_text(&name));
    if (result->status == SCRIPT_SKIPPED)
        buf_addf(ret, " # SKIP %s", result->reason ? result->reason : "");
    buf_addc(ret, '\n');
    if (result->flaky)
        buf_addf(ret, "# flaky: passed at try %u\n", result->tries);
    if (result->status != SCRIPT_FAILED)
        return;
    buf_addf(ret, "  ---\n  at: \"%s:%u\"\n  message: |\n", which->path, result->line);
    add_prefixed(ret, "    ", result->text);
    buf_adds(ret, "  ...\n");
}

/* XML 1.0 has no control characters but tab and newline. */
static void add_xml(struct buf *ret, const char *text)
{
    for (; text && *text; text++)
        switch (*text) {
        case '&':
            buf_adds(ret, "&amp;");
            break;
        case '<':
            buf_adds(ret, "&lt;");
            break;
        case '>':
            buf_adds(ret, "&gt;");
            break;
        case '"':
            buf_adds(ret, "&quot;");
            break;
        default:
            if ((unsigned char)*text < 32 && *text != '\n' && *text != '\t')
                buf_addf(ret, "\\x%02x", (unsigned char)*text);
            else
                buf_addc(ret, *text);
        }
}

static void add_junit(struct script_out *out, const struct script_case *which,
                      const struct script_result *result)
{
    struct buf *ret = &out->held;

    buf_adds(ret, "    <testcase classname=\"");
    add_xml(ret, which->path);
    buf_adds(ret, "\" name=\"");
    add_xml(ret, which->name);
    buf_addf(ret, "\" time=\"%.3f\">\n", (double)result->virtual_ns / 1e9);
    if (result->status == SCRIPT_FAILED || result->flaky) {
        const char *element = result->flaky ? "flakyFailure" : "failure";
        CLEANUP(mem_free) char *first = mem_dupn(result->text ? result->text : "",
                                                 result->text ? strcspn(result->text, "\n") : 0);
        buf_addf(ret, "      <%s type=\"%s\" message=\"", element,
                 result->flaky ? "flaky" : "failure");
        add_xml(ret, first);
        buf_adds(ret, "\">");
        add_xml(ret, result->text);
        buf_addf(ret, "</%s>\n", element);
    }
    if (result->status == SCRIPT_SKIPPED) {
        buf_adds(ret, "      <skipped message=\"");
        add_xml(ret, result->reason);
        buf_adds(ret, "\"/>\n");
    }
    buf_adds(ret, "    </testcase>\n");
}

static void add_json(struct script_out *out, const struct script_case *which,
                     const struct script_result *result)
{
    json_t *entry =
        json_pack("{s:s, s:s, s:i, s:s, s:I, s:b}", "name", which->name, "path", which->path,
                  "line", (int)which->line, "status", status_words[result->status], "virtual_ns",
                  (json_int_t)result->virtual_ns, "flaky", result->flaky);
    json_t *tags = json_array();

    for (size_t i = 0; which->tags[i]; i++)
        json_array_append_new(tags, json_string(which->tags[i]));
    json_object_set_new(entry, "tags", tags);
    if (result->reason)
        json_object_set_new(entry, "reason", json_string(result->reason));
    if (result->section)
        json_object_set_new(entry, "section", json_string(result->section));
    if (result->text) {
        json_object_set_new(entry, "text", json_string(result->text));
        json_object_set_new(entry, "failed_line", json_integer(result->line));
    }
    json_array_append_new(out->cases, entry);
}

void script_out_case(struct script_out *out, const struct script_case *which,
                     const struct script_result *result, struct buf *ret)
{
    out->count++;
    switch (out->format) {
    case SCRIPT_PEOPLE:
        add_people(out, which, result, ret);
        break;
    case SCRIPT_TAP:
        add_tap(out, which, result, ret);
        break;
    case SCRIPT_JUNIT:
        add_junit(out, which, result);
        break;
    case SCRIPT_JSON:
        add_json(out, which, result);
        break;
    }
}

void script_out_end(struct script_out *out, const struct script_totals *totals, struct buf *ret)
{
    switch (out->format) {
    case SCRIPT_PEOPLE:
        if (totals->seed)
            buf_addf(ret, "shuffled with seed %llu\n", (unsigned long long)totals->seed);
        if (totals->flaky)
            buf_addf(ret, "%zu flaky\n", totals->flaky);
        buf_addf(ret, "%zu passed, %zu failed, %zu skipped\n", totals->passed, totals->failed,
                 totals->skipped);
        break;
    case SCRIPT_TAP:
        if (!out->count)
            buf_adds(ret, "TAP version 14\n1..0\n");
        buf_addf(ret, "# %zu passed, %zu failed, %zu skipped\n", totals->passed, totals->failed,
                 totals->skipped);
        break;
    case SCRIPT_JUNIT:
        buf_adds(ret, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n");
        buf_addf(ret,
                 "  <testsuite name=\"vitro test\" tests=\"%zu\" failures=\"%zu\" errors=\"0\" "
                 "skipped=\"%zu\" time=\"%.3f\">\n",
                 totals->passed + totals->failed + totals->skipped, totals->failed, totals->skipped,
                 (double)totals->virtual_ns / 1e9);
        buf_add(ret, buf_text(&out->held), out->held.length);
        buf_adds(ret, "  </testsuite>\n</testsuites>\n");
        break;
    case SCRIPT_JSON: {
        CLEANUP(json_free) json_t *all =
            json_pack("{s:I, s:I, s:I, s:I, s:O}", "passed", (json_int_t)totals->passed, "failed",
                      (json_int_t)totals->failed, "skipped", (json_int_t)totals->skipped, "flaky",
                      (json_int_t)totals->flaky, "cases", out->cases);
        json_add_canonical(ret, all);
        buf_addc(ret, '\n');
    }
    }
}
