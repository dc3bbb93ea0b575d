/* SPDX-License-Identifier: MIT */
#include "vitro/host.h"
#include "lib/check.h"
#include <errno.h>
#include <pthread.h>
#include <stdio.h>

#define SECOND INT64_C(1000000000)

/* What a call was, as one text. */
static const char *call_text(const struct vitro_host *host, size_t index)
{
    static char text[512];
    struct vitro_host_call call;
    size_t used;

    if (vitro_host_call_at(host, index, &call) < 0)
        return "none";
    used = (size_t)snprintf(text, sizeof text, "%s.%s", call.sub_handle, call.method);
    for (size_t i = 0; i < call.arg_count; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, " [%s]", call.args[i]);
    return text;
}

static void check_captured(struct vitro_host *host, const char *wanted)
{
    char *text = vitro_host_captured_stdio(host, NULL);

    CHECK_TEXT(text, wanted);
    free(text);
}

/* Touches every method once; all results are to be `wanted`. */
static void touch_all(struct vitro_host *host, int wanted)
{
    static const char *const argv[] = {"git", "push", NULL};
    const struct vitro_process_call call = {.argv = argv};
    struct vitro_process_result result;
    struct vitro_net_response response;
    struct vitro_fs_stat stat;
    vitro_child *child = NULL;
    const char *value;
    char **list = NULL, *text = NULL, bytes[4], uuid[37];
    uint64_t number;
    unsigned columns, rows;

    CHECK_INT(vitro_stdio_print(host->stdio, "x%d", 1), wanted);
    CHECK_INT(vitro_stdio_print_error(host->stdio, "y"), wanted);
    CHECK_INT(vitro_stdio_read_line(host->stdio, &text, NULL), wanted);
    CHECK_INT(vitro_clock_now(host->clock), 0);
    CHECK_INT(vitro_clock_monotonic(host->clock), 0);
    CHECK_INT(vitro_clock_sleep(host->clock, 7), wanted);
    CHECK_INT(vitro_clock_sleep_until(host->clock, 8), wanted);
    CHECK_INT(vitro_env_get(host->env, "HOME", &value, NULL), wanted);
    CHECK_INT(vitro_env_set(host->env, "HOME", "/", NULL), wanted);
    CHECK_INT(vitro_env_list(host->env, &list, NULL), wanted);
    CHECK_INT(vitro_fs_read(host->fs, "/secrets", &text, NULL, NULL), wanted);
    CHECK_INT(vitro_fs_write(host->fs, "/a", "b", 1, NULL), wanted);
    CHECK_INT(vitro_fs_append(host->fs, "/a", "b", 1, NULL), wanted);
    CHECK_INT(vitro_fs_stat(host->fs, "/a", &stat, NULL), wanted);
    CHECK_INT(vitro_fs_remove(host->fs, "/a", NULL), wanted);
    CHECK_INT(vitro_fs_rename(host->fs, "/a", "/b", NULL), wanted);
    CHECK_INT(vitro_fs_make_dir(host->fs, "/a", NULL), wanted);
    CHECK_INT(vitro_fs_list(host->fs, "/a", &list, NULL), wanted);
    CHECK_INT(vitro_random_u64(host->random, &number, NULL), wanted);
    CHECK_INT(vitro_random_bytes(host->random, bytes, 4, NULL), wanted);
    CHECK_INT(vitro_random_uuid(host->random, uuid, NULL), wanted);
    CHECK_INT(vitro_net_get(host->net, "http://x.test/", &response, NULL), wanted);
    CHECK_INT(vitro_net_request(
                  host->net, &(struct vitro_net_request){.method = "PUT", .url = "http://x.test/"},
                  &response, NULL),
              wanted);
    CHECK_INT(vitro_process_finish(host->process, &call, &result, NULL), wanted);
    CHECK_INT(vitro_process_spawn(host->process, &call, &child, NULL), wanted);
    CHECK_INT(vitro_terminal_size(host->terminal, &columns, &rows, NULL), wanted);
    CHECK_INT(vitro_terminal_is_tty(host->terminal, 1, NULL), wanted);
}

TEST(a_null_host_denies_every_method_and_tells_them_in_order)
{
    struct vitro_host *host = vitro_host_null();
    struct vitro_host_error error = {0};
    struct vitro_host_call call;
    char *text = NULL;
    size_t methods = 0;

    for (const char *line = vitro_host_methods(); *line; line = strchr(line, '\n') + 1)
        methods++;
    touch_all(host, -EPERM);
    CHECK_INT(vitro_host_deny_count(host), methods); /* none of the table was forgotten */
    CHECK_INT(vitro_host_call_count(host), methods);
    CHECK_INT(vitro_host_deny_at(host, 10, &call), 0);
    CHECK_TEXT(call.sub_handle, "fs");
    CHECK_TEXT(call.method, "read");
    CHECK_INT(call.arg_count, 1);
    CHECK_TEXT(call.args[0], "/secrets");
    CHECK_INT(call.denied, 1);
    CHECK_INT(call.result, -EPERM);
    CHECK_TEXT(call_text(host, 0), "stdio.print [x1]");
    CHECK_TEXT(call_text(host, 5), "clock.sleep [7]");
    CHECK_TEXT(call_text(host, 22), "net.request [PUT] [http://x.test/] []");
    CHECK_TEXT(call_text(host, 24), "process.spawn [git] [push]");
    CHECK_INT(vitro_fs_read(host->fs, "/secrets", &text, NULL, &error), -EPERM);
    CHECK_TEXT(error.text, "fs.read(\"/secrets\"): denied, this is a null host");
    CHECK_INT(vitro_host_ask(host, "mail", "send", "{\"to\":\"a\"}", &text, &error), -EPERM);
    CHECK_TEXT(call_text(host, methods + 1), "mail.send [{\"to\":\"a\"}]");
    check_captured(host, "");
    CHECK_INT(vitro_host_deny_at(host, 99, &call), -ENOENT);
    vitro_host_free(host);
}

TEST(a_mock_answers_from_its_options_and_notes_the_calls)
{
    struct vitro_host_error error = {0};
    struct vitro_host *host = vitro_host_mock(
        &(struct vitro_host_mock_options){
            .clock_at_unix_ms = 1700000000000,
            .env = (const char *const[]){"KEY=value", NULL},
            .files = (const struct vitro_host_file[]){{"/x", "data", 0}, {"/b", "\0\xff", 2}, {0}},
            .random_u64 = (const uint64_t[]){42},
            .random_count = 1,
            .answers =
                (const struct vitro_host_answer[]){{.url = "https://example.test", .body = "body"},
                                                   {0}},
            .stdin_lines = (const char *const[]){"one", "two", NULL},
        },
        &error);
    struct vitro_net_response response;
    const char *value;
    char *text;
    size_t length;
    uint64_t number;

    CHECK_TRUE(host != NULL);
    CHECK_INT(vitro_env_get(host->env, "KEY", &value, &error), 1);
    CHECK_TEXT(value, "value");
    CHECK_INT(vitro_env_get(host->env, "OTHER", &value, &error), 0);
    CHECK_TRUE(value == NULL);
    CHECK_INT(vitro_clock_now(host->clock), 1700000000000 * INT64_C(1000000));
    CHECK_INT(vitro_clock_sleep(host->clock, 50 * SECOND), 0); /* passes at once */
    CHECK_INT(vitro_clock_now(host->clock), 1700000050000 * INT64_C(1000000));
    CHECK_OK(vitro_fs_read(host->fs, "/x", &text, &length, &error), error);
    CHECK_TEXT(text, "data");
    free(text);
    CHECK_OK(vitro_fs_read(host->fs, "/b", &text, &length, &error), error);
    CHECK_INT(length, 2);
    CHECK_INT(memcmp(text, "\0\xff", 2), 0);
    free(text);
    CHECK_OK(vitro_random_u64(host->random, &number, &error), error);
    CHECK_INT(number, 42);
    CHECK_OK(vitro_net_get(host->net, "https://example.test", &response, &error), error);
    CHECK_TEXT(response.body, "body");
    CHECK_INT(response.status, 200);
    CHECK_INT(response.ok, 1);
    CHECK_TEXT(response.final_url, "https://example.test");
    vitro_net_response_done(&response);
    CHECK_INT(vitro_stdio_read_line(host->stdio, &text, &error), 1);
    CHECK_TEXT(text, "one");
    free(text);
    CHECK_INT(vitro_host_check_used(host, &error), -ENOTEMPTY);
    CHECK_HAS(error.text, "lines of standard input: 1");
    CHECK_INT(vitro_stdio_read_line(host->stdio, &text, &error), 1);
    free(text);
    CHECK_INT(vitro_stdio_read_line(host->stdio, &text, &error), 0);
    CHECK_INT(vitro_stdio_print(host->stdio, "ok\n"), 0);
    CHECK_INT(vitro_stdio_print_error(host->stdio, "warned\n"), 0);
    check_captured(host, "ok\n");
    text = vitro_host_captured_stderr(host, NULL);
    CHECK_TEXT(text, "warned\n");
    free(text);
    CHECK_TEXT(call_text(host, 0), "env.get [KEY]");
    CHECK_TEXT(call_text(host, 3), "clock.sleep [50000000000]");
    CHECK_OK(vitro_host_check_used(host, &error), error);
    vitro_host_free(host);
}

TEST(a_missing_answer_names_sub_handle_method_and_key_and_the_call_is_noted)
{
    static const char *const argv[] = {"curl", "x", NULL};
    struct vitro_host *host = vitro_host_mock(NULL, NULL);
    struct vitro_host_error error = {0};
    struct vitro_net_response response;
    struct vitro_process_result result;
    struct vitro_fs_stat stat;
    struct vitro_host_call call;
    char *text, **list, bytes[9], uuid[37];
    uint64_t number;

    CHECK_INT(vitro_fs_read(host->fs, "/etc/x", &text, NULL, &error), -ENODATA);
    CHECK_TEXT(error.text, "fs.read \"/etc/x\": this mock host has no answer for it");
    CHECK_INT(vitro_fs_list(host->fs, "/etc", &list, &error), -ENODATA);
    CHECK_INT(vitro_fs_stat(host->fs, "/etc", &stat, &error), -ENOENT);
    CHECK_INT(vitro_random_u64(host->random, &number, &error), -ENODATA);
    CHECK_TEXT(error.text, "random.u64: this mock host has no answer for it");
    CHECK_INT(vitro_random_bytes(host->random, bytes, 9, &error), -ENODATA);
    CHECK_INT(vitro_random_uuid(host->random, uuid, &error), -ENODATA);
    CHECK_INT(vitro_net_get(host->net, "http://a.test", &response, &error), -ENODATA);
    CHECK_HAS(error.text, "net.get \"http://a.test\": ");
    CHECK_INT(vitro_process_finish(host->process, &(struct vitro_process_call){.argv = argv},
                                   &result, &error),
              -ENODATA);
    CHECK_HAS(error.text, "process.run \"curl\": ");
    CHECK_INT(vitro_host_ask(host, "mail", "send", NULL, &text, &error), -ENODATA);
    CHECK_HAS(error.text, "mail.send");
    CHECK_INT(vitro_host_call_count(host), 9);
    CHECK_INT(vitro_host_call_at(host, 0, &call), 0);
    CHECK_INT(call.result, -ENODATA);
    CHECK_INT(call.denied, 0);
    CHECK_INT(vitro_host_check_used(host, &error), -ENODATA);
    CHECK_HAS(error.text, "calls without an answer:\n  fs.read /etc/x\n");
    vitro_host_free(host);
}

TEST(files_and_variables_that_were_written_are_there)
{
    struct vitro_host *host = vitro_host_mock(NULL, NULL);
    struct vitro_host_error error = {0};
    struct vitro_fs_stat stat;
    const char *value, *older;
    char *text, **list;

    CHECK_OK(vitro_fs_write(host->fs, "out/b", "1", 1, &error), error);
    CHECK_OK(vitro_fs_append(host->fs, "out/b", "23", 2, &error), error);
    CHECK_OK(vitro_fs_write(host->fs, "out/a/deep", "", 0, &error), error);
    CHECK_OK(vitro_fs_make_dir(host->fs, "out/empty", &error), error);
    CHECK_OK(vitro_fs_read(host->fs, "out/b", &text, NULL, &error), error);
    CHECK_TEXT(text, "123");
    free(text);
    CHECK_OK(vitro_fs_list(host->fs, "out/", &list, &error), error);
    CHECK_TEXT(list[0], "a");
    CHECK_TEXT(list[1], "b");
    CHECK_TEXT(list[2], "empty");
    CHECK_TRUE(list[3] == NULL);
    vitro_strings_free(list);
    CHECK_OK(vitro_fs_stat(host->fs, "out", &stat, &error), error);
    CHECK_INT(stat.type, VITRO_DIR);
    CHECK_OK(vitro_fs_stat(host->fs, "out/b", &stat, &error), error);
    CHECK_INT(stat.size_bytes, 3);
    CHECK_INT(vitro_fs_remove(host->fs, "out", &error), -ENOTEMPTY);
    CHECK_INT(vitro_fs_write(host->fs, "out", "x", 1, &error), -EISDIR);
    CHECK_INT(vitro_fs_make_dir(host->fs, "out/b", &error), -ENOTDIR);
    CHECK_OK(vitro_fs_rename(host->fs, "out/b", "out/c", &error), error);
    CHECK_INT(vitro_fs_remove(host->fs, "out/b", &error), -ENOENT);
    CHECK_OK(vitro_fs_remove(host->fs, "out/c", &error), error);
    CHECK_OK(vitro_env_set(host->env, "A", "1", &error), error);
    CHECK_INT(vitro_env_get(host->env, "A", &older, &error), 1);
    CHECK_OK(vitro_env_set(host->env, "A", "2", &error), error);
    CHECK_INT(vitro_env_get(host->env, "A", &value, &error), 1);
    CHECK_TEXT(value, "2");
    CHECK_TEXT(older, "1"); /* lives on */
    CHECK_OK(vitro_env_list(host->env, &list, &error), error);
    CHECK_TEXT(list[0], "A=2");
    vitro_strings_free(list);
    CHECK_OK(vitro_env_set(host->env, "A", NULL, &error), error);
    CHECK_INT(vitro_env_get(host->env, "A", &value, &error), 0);
    CHECK_INT(vitro_env_get(host->env, "A=B", &value, &error), -EINVAL);
    CHECK_HAS(error.text, "'A=B' is no name of a variable");
    vitro_host_free(host);
}

TEST(bytes_and_uuids_are_made_of_the_numbers_in_the_queue)
{
    struct vitro_host *host = vitro_host_mock(
        &(struct vitro_host_mock_options){
            .random_u64 = (const uint64_t[]){UINT64_C(0x0807060504030201), 9, UINT64_MAX, 0, 5},
            .random_count = 5},
        NULL);
    unsigned char bytes[9];
    char uuid[37];
    uint64_t number;

    CHECK_INT(vitro_random_bytes(host->random, bytes, 9, NULL), 0);
    CHECK_INT(memcmp(bytes, "\1\2\3\4\5\6\7\10\11", 9), 0);
    CHECK_INT(vitro_random_uuid(host->random, uuid, NULL), 0);
    CHECK_TEXT(uuid, "ffffffff-ffff-4fff-8000-000000000000");
    CHECK_INT(vitro_random_uuid(host->random, uuid, NULL), -ENODATA); /* one is not enough */
    CHECK_INT(vitro_random_u64(host->random, &number, NULL), 0);      /* and was not taken */
    CHECK_INT(number, 5);
    vitro_host_free(host);
}

TEST(a_mock_terminal_has_the_size_its_variables_say_and_is_never_a_tty)
{
    struct vitro_host *host = vitro_host_mock(NULL, NULL);
    unsigned columns, rows;

    CHECK_INT(vitro_terminal_size(host->terminal, &columns, &rows, NULL), 0);
    CHECK_INT(columns, 80);
    CHECK_INT(rows, 24);
    CHECK_INT(vitro_env_set(host->env, "COLUMNS", "132", NULL), 0);
    CHECK_INT(vitro_env_set(host->env, "LINES", "nonsense", NULL), 0);
    CHECK_INT(vitro_terminal_size(host->terminal, &columns, &rows, NULL), 0);
    CHECK_INT(columns, 132);
    CHECK_INT(rows, 24);
    CHECK_INT(vitro_terminal_is_tty(host->terminal, 1, NULL), 0);
    vitro_host_free(host);
}

/* ---- responses */

static int respond(struct vitro_host *host, const char *when, const char *result, unsigned repeat)
{
    return vitro_host_respond(
        host,
        &(struct vitro_host_response){
            .capability = "fs", .method = "read", .when = when, .result = result, .repeat = repeat},
        NULL);
}

static void check_read(struct vitro_host *host, const char *path, const char *wanted)
{
    char *text = NULL;

    CHECK_INT(vitro_fs_read(host->fs, path, &text, NULL, NULL), 0);
    CHECK_TEXT(text, wanted);
    free(text);
}

TEST(a_response_with_a_when_that_fits_comes_first_and_repeats_run_out)
{
    struct vitro_host *host = vitro_host_mock(
        &(struct vitro_host_mock_options){
            .files = (const struct vitro_host_file[]){{"/a", "file", 0}, {0}}},
        NULL);
    struct vitro_host_error error = {0};

    CHECK_INT(respond(host, NULL, "\"any\"", 2), 0);
    CHECK_INT(respond(host, "{\"path\":\"/a\"}", "\"a\"", 1), 0);
    check_read(host, "/a", "a");
    check_read(host, "/a", "any");
    CHECK_INT(vitro_host_check_used(host, &error), -ENOTEMPTY);
    CHECK_HAS(error.text, "response for fs.read: 1 of 2 times");
    check_read(host, "/b", "any");
    check_read(host, "/a", "file"); /* then what it was given */
    vitro_host_free(host);
}

TEST(a_scope_ends_with_its_block_and_comes_before_what_is_below)
{
    struct vitro_host *host = vitro_host_mock(NULL, NULL);

    CHECK_INT(respond(host, "{\"path\":\"/a\"}", "\"outer\"", 0), 0);
    {
        VITRO_HOST_SCOPE(host);
        CHECK_INT(respond(host, NULL, "\"inner\"", 0), 0);
        check_read(host, "/a", "inner");
    }
    check_read(host, "/a", "outer");
    vitro_host_free(host);
}

TEST(scopes_popped_in_the_wrong_order_are_refused_and_both_sites_named)
{
    struct vitro_host *host = vitro_host_mock(NULL, NULL);
    struct vitro_host_scope first = {0}, second = {0};
    struct vitro_host_error error = {0};

    CHECK_INT(vitro_host_scope_pop(&first, &error), -EINVAL);
    CHECK_HAS(error.text, "it is not pushed");
    CHECK_INT(vitro_host_scope_push_at(&first, host, "a.c:1", &error), 0);
    CHECK_INT(vitro_host_scope_push_at(&first, host, "a.c:2", &error), -EBUSY);
    CHECK_HAS(error.text, "push a scope at a.c:2: it was pushed at a.c:1 and is in use");
    CHECK_INT(vitro_host_scope_push_at(&second, host, "b.c:2", &error), 0);
    CHECK_INT(vitro_host_scope_pop_at(&first, "c.c:3", &error), -EPERM);
    CHECK_HAS(error.text, "pop a scope at c.c:3: what was pushed at a.c:1 is not on top, what was "
                          "pushed at b.c:2 is");
    CHECK_INT(vitro_host_scope_pop(&second, &error), 0);
    CHECK_INT(vitro_host_scope_pop(&first, &error), 0);
    struct vitro_host *null = vitro_host_null();
    CHECK_INT(vitro_host_scope_push(&first, null, &error), -EINVAL);
    CHECK_HAS(error.text, "not a mock host");
    vitro_host_free(null);
    vitro_host_free(host);
}

TEST(responses_that_make_no_sense_are_refused_in_words)
{
    struct vitro_host *host = vitro_host_mock(
        &(struct vitro_host_mock_options){.capabilities = (const char *const[]){"mail.send", NULL}},
        NULL);
    struct vitro_host_error error = {0};
    const struct {
        struct vitro_host_response response;
        const char *words;
    } bad[] = {
        {{0}, "needs a capability and a method"},
        {{.capability = "fs", .method = "raed"}, "did you mean 'fs.read'?"},
        {{.capability = "mail", .method = "sned"}, "did you mean 'mail.send'?"},
        {{.capability = "fs", .method = "read", .when = "[1]"}, "`when` is no JSON object"},
        {{.capability = "fs", .method = "read", .when = "{"}, "when:1:"},
        {{.capability = "fs", .method = "read", .result = "nul"}, "result:1:"},
        {{.capability = "fs", .method = "read", .result = "1", .error = "x"},
         "has a result and an error"},
        {{.capability = "fs", .method = "read", .error = "x", .error_code = 5}, "-errno"},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(bad); i++) {
        CHECK_TRUE(vitro_host_respond(host, &bad[i].response, &error) < 0);
        CHECK_HAS(error.text, bad[i].words);
    }
    CHECK_INT(vitro_host_respond(host, NULL, &error), -EINVAL);
    CHECK_TRUE(!vitro_host_mock(
        &(struct vitro_host_mock_options){.capabilities = (const char *const[]){"mail", NULL}},
        &error));
    CHECK_HAS(error.text, "'mail' is not NAME.METHOD");
    vitro_host_free(host);
}

TEST(responses_answer_every_kind_of_method_and_fail_as_told)
{
    static const char *const argv[] = {"git", "status", NULL};
    struct vitro_host_error error = {0};
    struct vitro_host *host = vitro_host_mock(
        &(struct vitro_host_mock_options){
            .capabilities = (const char *const[]){"mail.send", NULL},
            .responses =
                (const struct vitro_host_response[]){
                    {.capability = "mail",
                     .method = "send",
                     .when = "{\"to\":\"ada\"}",
                     .result = "{\"id\":7}"},
                    {.capability = "fs",
                     .method = "write",
                     .error = "disk full",
                     .error_code = -ENOSPC},
                    {.capability = "net",
                     .method = "request",
                     .when = "{\"method\":\"POST\"}",
                     .result = "{\"status\":201,\"headers\":{\"X-A\":\"b\"},\"body\":\"made\"}"},
                    {.capability = "process",
                     .method = "run",
                     .when = "{\"argv\":[\"git\",\"status\"]}",
                     .result = "{\"stdout\":\"clean\\n\",\"exit_code\":0}"},
                    {.capability = "env", .method = "get", .result = "5"},
                    {.capability = "clock", .method = "now", .result = "5"},
                    {.capability = "terminal", .method = "is_tty", .result = "true"},
                    {.capability = "terminal",
                     .method = "size",
                     .result = "{\"columns\":100,\"rows\":30}"},
                    {0}}},
        &error);
    struct vitro_net_response response;
    struct vitro_process_result result;
    const char *value;
    unsigned columns, rows;
    char *text;

    CHECK_TRUE(host != NULL);
    CHECK_OK(vitro_host_ask(host, "mail", "send", "{\"to\":\"ada\",\"cc\":1}", &text, &error),
             error);
    CHECK_TEXT(text, "{\"id\":7}");
    free(text);
    CHECK_INT(vitro_host_ask(host, "mail", "send", "{\"to\":\"bob\"}", &text, &error), -ENODATA);
    CHECK_INT(vitro_host_ask(host, "mail", "send", "[]", &text, &error), -EINVAL);
    CHECK_INT(vitro_host_ask(host, NULL, "send", "{}", &text, &error), -EINVAL);
    CHECK_INT(vitro_fs_write(host->fs, "/a", "b", 1, &error), -ENOSPC);
    CHECK_TEXT(error.text, "fs.write: disk full");
    CHECK_OK(vitro_net_request(
                 host->net,
                 &(struct vitro_net_request){
                     .method = "POST", .url = "http://a.test", .body = "b", .body_length = 1},
                 &response, &error),
             error);
    CHECK_INT(response.status, 201);
    CHECK_TEXT(response.headers[0], "X-A: b");
    vitro_net_response_done(&response);
    CHECK_OK(vitro_process_finish(host->process, &(struct vitro_process_call){.argv = argv},
                                  &result, &error),
             error);
    CHECK_TEXT(result.output, "clean\n");
    vitro_process_result_done(&result);
    CHECK_INT(vitro_env_get(host->env, "A", &value, &error), -EPROTO);
    CHECK_HAS(error.text, "env.get: the response is 5; wanted: string, or null");
    CHECK_INT(vitro_clock_now(host->clock), 5);
    CHECK_INT(vitro_terminal_is_tty(host->terminal, 1, NULL), 1);
    CHECK_INT(vitro_terminal_size(host->terminal, &columns, &rows, NULL), 0);
    CHECK_INT(columns, 100);
    vitro_host_free(host);
}

/* ---- programs */

TEST(steps_are_taken_in_order_and_another_program_takes_none)
{
    static const char *const fetch[] = {"git", "fetch", "...", NULL};
    static const char *const push[] = {"git", "push", NULL};
    static const char *const fetch_call[] = {"git", "fetch", "origin", NULL};
    struct vitro_host_error error = {0};
    struct vitro_process_result result;
    struct vitro_host *host = vitro_host_mock(
        &(struct vitro_host_mock_options){
            .steps = (const struct vitro_host_step[]){{.argv = fetch, .output = "got\n"},
                                                      {.argv = push, .exit_code = 1},
                                                      {0}}},
        &error);
    const struct vitro_process_call pushes = {.argv = push}, fetches = {.argv = fetch_call};

    CHECK_INT(vitro_process_finish(host->process, &pushes, &result, &error), -ENODATA);
    CHECK_HAS(error.text, "program 'git': step 1 of 2 is another one: argument 1: wants fetch");
    CHECK_INT(vitro_host_steps_left(host), 2);
    CHECK_OK(vitro_process_finish(host->process, &fetches, &result, &error), error);
    CHECK_TEXT(result.output, "got\n");
    vitro_process_result_done(&result);
    CHECK_INT(vitro_host_check_used(host, &error), -ENODATA);
    CHECK_OK(vitro_process_finish(host->process, &pushes, &result, &error), error);
    CHECK_INT(result.exit_code, 1);
    vitro_process_result_done(&result);
    CHECK_INT(vitro_host_steps_left(host), 0);
    CHECK_INT(vitro_process_finish(host->process, &pushes, &result, &error), -ENODATA);
    CHECK_HAS(error.text, "all 2 steps are taken");
    vitro_host_free(host);
}

TEST(a_mock_host_starts_doubles_of_a_spawner)
{
    static const char *const argv[] = {"serve", NULL};
    struct vitro_clock *clock = vitro_clock_paused(NULL);
    vitro_spawner *spawner = vitro_spawner_new(&(struct vitro_spawner_options){.clock = clock});
    struct vitro_host *host = vitro_host_mock(
        &(struct vitro_host_mock_options){.clock = clock, .spawner = spawner}, NULL);
    struct vitro_host_error error = {0};
    struct vitro_child_end end;
    vitro_child *child;

    vitro_mock_process *process =
        vitro_spawner_enqueue(spawner, &(struct vitro_mock_config){.runs = 1}, NULL);
    CHECK_OK(vitro_process_spawn(host->process, &(struct vitro_process_call){.argv = argv}, &child,
                                 &error),
             error);
    CHECK_INT(vitro_mock_complete(process, 3), 1);
    CHECK_INT(vitro_child_wait(child, 0, &end, NULL), 0);
    CHECK_INT(end.exit_code, 3);
    vitro_child_free(child);
    CHECK_TEXT(call_text(host, 0), "process.spawn [serve]");
    CHECK_INT(vitro_process_spawn(host->process, &(struct vitro_process_call){.argv = argv}, &child,
                                  &error),
              -ENODATA);
    CHECK_HAS(error.text, "no double is queued");
    vitro_host_free(host);
    vitro_spawner_free(spawner);
    vitro_clock_free(clock);
}

/* ---- threads, wrong options, worlds put together */

static int sleeper(void *arg)
{
    struct vitro_host *host = arg;

    for (int i = 0; i < 3; i++)
        if (vitro_clock_sleep(host->clock, SECOND) < 0)
            return -1;
    return vitro_stdio_print(host->stdio, "done\n");
}

TEST(workers_share_a_mock_host_and_are_named_in_its_calls)
{
    struct vitro_clock *clock = vitro_clock_paused(NULL);
    struct vitro_host *host =
        vitro_host_mock(&(struct vitro_host_mock_options){.clock = clock}, NULL);
    struct vitro_host_call call;
    vitro_worker *workers[8];

    for (int i = 0; i < 8; i++)
        workers[i] = vitro_worker_start(host->clock, sleeper, host);
    CHECK_INT(vitro_clock_advance(clock, 3 * SECOND, NULL), 24);
    for (int i = 0; i < 8; i++)
        CHECK_INT(vitro_worker_join(workers[i]), 0);
    CHECK_INT(vitro_host_call_count(host), 32);
    CHECK_INT(vitro_host_call_at(host, 31, &call), 0);
    CHECK_TEXT(call.worker, "8"); /* the last to wake */
    check_captured(host, "done\ndone\ndone\ndone\ndone\ndone\ndone\ndone\n");
    vitro_host_free(host);
    vitro_clock_free(clock);
}

static void *alone(void *arg)
{
    CLEANUP(mem_free) char *variable = mem_format("WHO=%d", *(int *)arg);
    uint64_t number = (uint64_t) * (int *)arg, drawn = 0;
    const char *const env[] = {variable, NULL};
    struct vitro_host *host = vitro_host_mock(
        &(struct vitro_host_mock_options){
            .clock_at_unix_ms = *(int *)arg, .env = env, .random_u64 = &number, .random_count = 1},
        NULL);
    bool good = true;

    for (int i = 0; i < 1000; i++) {
        const char *who = NULL;
        good &= vitro_env_get(host->env, "WHO", &who, NULL) == 1 &&
                strcmp(who, variable + 4) == 0 && vitro_clock_sleep(host->clock, SECOND) == 0;
    }
    good &= vitro_random_u64(host->random, &drawn, NULL) == 0 && drawn == number;
    good &= vitro_clock_now(host->clock) == *(int *)arg * INT64_C(1000000) + 1000 * SECOND;
    good &= vitro_host_call_count(host) == 2002;
    vitro_host_free(host);
    return good ? arg : NULL;
}

TEST(hosts_of_eight_threads_do_not_see_each_other)
{
    pthread_t threads[8];
    int numbers[8];

    for (int i = 0; i < 8; i++) {
        numbers[i] = i + 1;
        CHECK_INT(pthread_create(&threads[i], NULL, alone, &numbers[i]), 0);
    }
    for (int i = 0; i < 8; i++) {
        void *result;
        CHECK_INT(pthread_join(threads[i], &result), 0);
        CHECK_TRUE(result == &numbers[i]);
    }
}

TEST(a_recorded_program_takes_its_time_on_the_clock_of_a_mock)
{
    static const char *const argv[] = {"make", "-j2", NULL};
    struct vitro_host_error error = {0};
    struct vitro_process_error problem = {0};
    struct vitro_process_result result;
    struct vitro_child_end end;
    vitro_child *child = NULL;
    const char *list = tmp_file("tools.json", "[{\"program\":\"make\",\"args\":[\"-j2\"],"
                                              "\"stdout\":\"built\\n\",\"duration_ms\":90000},"
                                              "{\"program\":\"make\",\"args\":[\"-j2\"],"
                                              "\"exit_code\":2,\"duration_ms\":5000}]");
    vitro_cassette *cassette = vitro_cassette_open(
        &(struct vitro_cassette_options){.path = list, .mode = "none"}, &problem);

    CHECK_OK(cassette ? 0 : -1, problem);
    struct vitro_host *host =
        vitro_host_mock(&(struct vitro_host_mock_options){.cassette = cassette}, &error);
    const struct vitro_process_call call = {.argv = argv};
    int64_t start_ns = vitro_clock_now(host->clock);
    CHECK_OK(vitro_process_finish(host->process, &call, &result, &error), error);
    CHECK_TEXT(result.output, "built\n");
    CHECK_INT(result.duration_ns, 90 * SECOND);
    CHECK_INT(vitro_clock_now(host->clock) - start_ns, 90 * SECOND);
    vitro_process_result_done(&result);
    CHECK_OK(vitro_process_spawn(host->process, &call, &child, &error), error);
    CHECK_INT(vitro_child_wait(child, SECOND, &end, NULL), 0);
    CHECK_INT(end.how, VITRO_CHILD_TIMED_OUT);
    CHECK_INT(vitro_child_wait(child, VITRO_CHILD_FOREVER, &end, NULL), 0);
    CHECK_INT(end.exit_code, 2);
    CHECK_INT(vitro_clock_now(host->clock) - start_ns, 95 * SECOND);
    vitro_child_free(child);
    CHECK_INT(vitro_process_finish(host->process, &call, &result, &error), -ENODATA);
    CHECK_HAS(error.text, "no recording answers");
    vitro_host_free(host);
    CHECK_INT(vitro_cassette_close(cassette, &problem), -ENODATA);
}

TEST(nothing_at_all_can_be_written_printed_and_drawn)
{
    struct vitro_host *host = vitro_host_mock(NULL, NULL);
    char *text = NULL;
    size_t length = 7;

    CHECK_INT(vitro_fs_write(host->fs, "/a", NULL, 0, NULL), 0);
    CHECK_INT(vitro_fs_append(host->fs, "/a", NULL, 0, NULL), 0);
    CHECK_INT(vitro_fs_read(host->fs, "/a", &text, &length, NULL), 0);
    CHECK_INT(length, 0);
    free(text);
    CHECK_INT(vitro_stdio_write(host->stdio, 1, NULL, 0, NULL), 0);
    CHECK_INT(vitro_random_bytes(host->random, NULL, 0, NULL), 0);
    vitro_host_free(host);
}

TEST(options_that_make_no_sense_are_refused_in_words)
{
    struct vitro_host_error error = {0};
    static const char *const nobody[] = {NULL};
    static const char *const bad[] = {"git", "regex:(", NULL};
    const struct {
        struct vitro_host_mock_options options;
        const char *words;
    } wrong[] = {
        {{.env = (const char *const[]){"KEY", NULL}}, "env 'KEY' is not NAME=VALUE"},
        {{.random_count = 2}, "random_count is 2, and there are no numbers"},
        {{.clock_at_unix_ms = INT64_MAX}, "past the year 2262"},
        {{.steps = (const struct vitro_host_step[]){{.argv = nobody}, {0}}},
         "step 1 has no program"},
        {{.steps = (const struct vitro_host_step[]){{.argv = bad}, {0}}}, "step 1: "},
        {{.answers = (const struct vitro_host_answer[]){{.url = "a", .status = 7}, {0}}},
         "7 is no status"},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(wrong); i++) {
        CHECK_TRUE(vitro_host_mock(&wrong[i].options, &error) == NULL);
        CHECK_HAS(error.text, wrong[i].words);
    }
    vitro_host_free(NULL);
}

TEST(a_host_of_ones_own_may_lack_sub_handles_and_borrow_others)
{
    struct vitro_host *null = vitro_host_null();
    struct vitro_host *mock = vitro_host_mock(NULL, NULL);
    struct vitro_host own = {.fs = null->fs, .stdio = mock->stdio};
    struct vitro_host_error error = {0};
    const char *value;
    char *text;

    CHECK_INT(vitro_fs_read(own.fs, "/a", &text, NULL, &error), -EPERM);
    CHECK_INT(vitro_stdio_print(own.stdio, "hi"), 0);
    CHECK_INT(vitro_env_get(own.env, "A", &value, &error), -EINVAL);
    CHECK_TEXT(error.text, "this host has no env sub-handle");
    CHECK_INT(vitro_host_ask(&own, "mail", "send", NULL, &text, &error), -ENOSYS);
    CHECK_INT(vitro_fs_read(own.fs, NULL, &text, NULL, &error), -EINVAL);
    CHECK_INT(vitro_host_call_count(&own), 0);
    vitro_host_free(&own);
    vitro_host_free(null);
    vitro_host_free(mock);
}
