/* SPDX-License-Identifier: MIT */
#include "check.h"
#include "base/scratch.h"
#include "base/trace.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { TESTS_MAX = 512 };
static struct CMUnitTest tests[TESTS_MAX];
static size_t test_count;
static struct scratch scratch;

void check_register(const char *name, void (*function)(void **))
{
    if (test_count == TESTS_MAX)
        abort();
    tests[test_count++] = (struct CMUnitTest){.name = name, .test_func = function};
}

void check_fail(const char *file, int line, const char *format, ...)
{
    CLEANUP(buf_done) struct buf text = {0};
    va_list args;

    va_start(args, format);
    buf_addv(&text, format, args);
    va_end(args);
    print_error("%s\n", buf_text(&text));
    buf_done(&text);
    _fail(file, line);
}

void check_ints(long long actual, long long wanted, const char *text, const char *file, int line)
{
    if (actual != wanted)
        check_fail(file, line, "%s is %lld, not %lld", text, actual, wanted);
}

void check_texts(const char *actual, const char *wanted, const char *text, const char *file,
                 int line)
{
    if (!actual || !wanted ? actual != wanted : strcmp(actual, wanted) != 0)
        check_fail(file, line, "%s is\n  «%s»\nnot\n  «%s»", text, actual ? actual : "(null)",
                   wanted ? wanted : "(null)");
}

void check_has(const char *actual, const char *part, const char *text, const char *file, int line)
{
    if (!actual || !strstr(actual, part))
        check_fail(file, line, "%s is\n  «%s»\nwhich lacks\n  «%s»", text,
                   actual ? actual : "(null)", part);
}

void check_skip(const char *reason)
{
    print_message("# skipped: %s\n", reason);
    _skip(reason, 0);
    abort(); /* _skip does not return; the prototype does not say so */
}

const char *tmp_path(const char *name)
{
    static char paths[16][1024];
    static unsigned next;
    char *path = paths[next++ % 16];

    (void)snprintf(path, sizeof paths[0], "%s/%s", scratch.path, name);
    return path;
}

const char *tmp_file(const char *name, const char *text)
{
    const char *path = tmp_path(name);
    struct err err = {0};

    CHECK_OK(file_write(path, text, strlen(text), &err), err);
    return path;
}

static int directory_make(void **state)
{
    struct err err;

    (void)state;
    return scratch_make(NULL, "test", &scratch, &err);
}

static int directory_remove(void **state)
{
    (void)state;
    int r = dir_remove_all(scratch.path, NULL);
    scratch_remove(&scratch);
    return r;
}

int main(int argc, char **argv)
{
    trace_init();
    for (size_t i = 0; i < test_count; i++) {
        tests[i].setup_func = directory_make;
        tests[i].teardown_func = directory_remove;
    }
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    cmocka_set_message_output(getenv("TAP") ? CM_OUTPUT_TAP : CM_OUTPUT_STDOUT);
    const char *name = strrchr(argv[0], '/');
    return _cmocka_run_group_tests(name ? name + 1 : argv[0], tests, test_count, NULL, NULL) != 0;
}
