/* SPDX-License-Identifier: MIT */
#include "host/harness.h"
#include "lib/check.h"
#include <errno.h>
#include <unistd.h>

/* The seed's own example, with a line more. */
static const char seed[] =
    "{\n"
    "  \"mode\": \"mock\",\n"
    "  \"clock_at_unix_ms\": 1700000000000,\n"
    "  \"env\": {\"KEY\": \"value\"},\n"
    "  \"fs_reads\": {\"/x\": \"data\", \"/bin\": {\"base64\": \"AP8=\"}},\n"
    "  \"random_u64\": [42],\n"
    "  \"net_gets\": {\"https://example.test\": \"body\"},\n"
    "  \"stdin_lines\": [\"a line\"],\n"
    "  \"expect_calls\": [\n"
    "    {\"sub_handle\": \"env\", \"method\": \"get\", \"args\": [\"KEY\"]}\n"
    "  ]\n"
    "}\n";

TEST(a_sidecar_is_a_world_and_what_it_must_have_been_asked)
{
    struct vitro_host_error error = {0};
    struct vitro_host *host = vitro_host_from_sidecar(tmp_file("a.harness.json", seed), &error);
    struct vitro_net_response response;
    const char *value;
    char *text;
    size_t length;
    uint64_t number;

    CHECK_TRUE(host != NULL);
    CHECK_INT(vitro_host_check_sidecar(host, &error), -EPROTO);
    CHECK_HAS(error.text, "a.harness.json: call 1 is missing: expected env.get [\"KEY\"]");
    CHECK_INT(vitro_env_get(host->env, "KEY", &value, NULL), 1);
    CHECK_TEXT(value, "value");
    CHECK_OK(vitro_host_check_sidecar(host, &error), error);
    CHECK_INT(vitro_clock_now(host->clock), 1700000000000 * INT64_C(1000000));
    CHECK_INT(vitro_host_check_sidecar(host, &error), -EPROTO);
    CHECK_HAS(error.text, "call 2 was not expected: clock.now []");
    CHECK_INT(vitro_fs_read(host->fs, "/bin", &text, &length, NULL), 0);
    CHECK_INT(length, 2);
    CHECK_INT(memcmp(text, "\0\xff", 2), 0);
    free(text);
    CHECK_INT(vitro_random_u64(host->random, &number, NULL), 0);
    CHECK_INT(number, 42);
    CHECK_INT(vitro_net_get(host->net, "https://example.test", &response, NULL), 0);
    CHECK_TEXT(response.body, "body");
    vitro_net_response_done(&response);
    CHECK_INT(vitro_stdio_read_line(host->stdio, &text, NULL), 1);
    CHECK_TEXT(text, "a line");
    free(text);
    CHECK_OK(vitro_host_check_used(host, &error), error);
    vitro_host_free(host);
}

TEST(expectations_are_exact_and_ordered_and_empty_ones_are_not_checked)
{
    struct vitro_host_error error = {0};
    const char *value;
    struct vitro_host *host = vitro_host_from_sidecar(
        tmp_file("b.harness.json",
                 "{\"mode\":\"mock\",\"expect_calls\":[],\"expect_stdio\":\"one\\ntwo\\n\","
                 "\"expect_stderr\":\"\"}"),
        &error);

    CHECK_INT(vitro_env_get(host->env, "A", &value, NULL), 0);
    CHECK_INT(vitro_stdio_print_error(host->stdio, "anything"), 0);
    CHECK_INT(vitro_stdio_print(host->stdio, "one\n"), 0);
    CHECK_INT(vitro_host_check_sidecar(host, &error), -EPROTO);
    CHECK_HAS(error.text, "standard output, line 2 is \"\"\n  expected \"two\"");
    CHECK_INT(vitro_stdio_print(host->stdio, "two\n"), 0);
    CHECK_OK(vitro_host_check_sidecar(host, &error), error);
    vitro_host_free(host);
    host = vitro_host_from_sidecar(
        tmp_file("c.harness.json",
                 "{\"mode\":\"null\",\"expect_deny_events\":["
                 "{\"sub_handle\":\"fs\",\"method\":\"read\",\"args\":[\"/secrets\"]}]}"),
        &error);
    CHECK_TRUE(vitro_fs_read(host->fs, "/secret", &(char *){NULL}, NULL, NULL) == -EPERM);
    CHECK_INT(vitro_host_check_sidecar(host, &error), -EPROTO);
    CHECK_HAS(error.text, "denial 1 is fs.read [\"/secret\"]\n  expected fs.read [\"/secrets\"]");
    vitro_host_free(host);
    host = vitro_host_null();
    CHECK_INT(vitro_host_check_sidecar(host, &error), -EINVAL);
    vitro_host_free(host);
}

TEST(responses_and_steps_of_a_sidecar_answer)
{
    static const char *const push[] = {"git", "push", NULL};
    struct vitro_host_error error = {0};
    struct vitro_process_result result;
    char *text = NULL;
    struct vitro_host *host = vitro_host_from_sidecar(
        tmp_file(
            "d.harness.json",
            "{\"mode\":\"mock\",\"clock_at\":\"2024-02-29\",\"capabilities\":[\"mail.send\"],"
            "\"responses\":[{\"capability\":\"mail\",\"method\":\"send\",\"when\":{\"to\":1},"
            "\"result\":{\"id\":7},\"repeat\":1},"
            "{\"capability\":\"fs\",\"method\":\"read\",\"result\":{\"base64\":\"\"}},"
            "{\"capability\":\"fs\",\"method\":\"write\",\"error\":\"full\","
            "\"error_code\":\"ENOSPC\"}],"
            "\"argv_steps\":[{\"argv\":[\"git\",\"...\"],\"stdout\":\"done\",\"exit_code\":2}]}"),
        &error);

    CHECK_OK(host ? 0 : -1, error);
    CHECK_INT(vitro_clock_now(host->clock), 1709164800 * INT64_C(1000000000));
    CHECK_INT(vitro_host_ask(host, "mail", "send", "{\"to\":1}", &text, &error), 0);
    CHECK_TEXT(text, "{\"id\":7}");
    free(text);
    CHECK_INT(vitro_fs_read(host->fs, "/a", &text, NULL, &error), 0);
    CHECK_TEXT(text, "");
    free(text);
    CHECK_INT(vitro_fs_write(host->fs, "/a", "", 0, &error), -ENOSPC);
    CHECK_TEXT(error.text, "fs.write: full");
    CHECK_INT(vitro_process_finish(host->process, &(struct vitro_process_call){.argv = push},
                                   &result, &error),
              0);
    CHECK_INT(result.exit_code, 2);
    CHECK_TEXT(result.output, "done");
    vitro_process_result_done(&result);
    vitro_host_free(host);
}

TEST(sidecars_of_every_wrong_shape_are_refused_with_their_line)
{
    static const struct {
        const char *text, *words;
    } bad[] = {
        {"", "s:1:"},
        {"[]", "s:1: a sidecar is one JSON object"},
        {"\"mock\"", "s:1: a sidecar is one JSON object"},
        {"{\"mode\":\"mock\"", "s:1:"},
        {"{\"mode\":\"mock\",\n\"mode\":\"null\"}", "s:2:"},
        {"{}", "s:1: 'mode' is missing"},
        {"{\"mode\":\"nul\"}", "s:1: 'mode' is not \"null\" or \"mock\""},
        {"{\"mode\":null}", "'mode' is not"},
        {"{\"mode\":\"mock\",\n\n\"clok_at_unix_ms\":1}",
         "s:3: unknown field 'clok_at_unix_ms'\nhint: did you mean 'clock_at_unix_ms'?"},
        {"{\"mode\":\"mock\",\n\"zebra\":1}", "s:2: unknown field 'zebra'\nhint: fields: mode,"},
        {"{\"mode\":\"mock\",\n\"clock_at_unix_ms\":\"x\"}",
         "s:2: 'clock_at_unix_ms' is not a whole number"},
        {"{\"mode\":\"mock\",\"clock_at_unix_ms\":1.5}", "is not a whole number"},
        {"{\"mode\":\"mock\",\"clock_at_unix_ms\":-1}", "is not from 1970 to 2262"},
        {"{\"mode\":\"mock\",\"clock_at_unix_ms\":9223372036854775807}", "is not from 1970"},
        {"{\"mode\":\"mock\",\"clock_at\":\"soon\"}", "soon"},
        {"{\"mode\":\"mock\",\"clock_at\":\"2024-01-01\",\"clock_at_unix_ms\":1}",
         "both 'clock_at'"},
        {"{\"mode\":\"mock\",\"env\":[]}", "'env' is not an object"},
        {"{\"mode\":\"mock\",\"env\":{\n\"A\":1}}", "s:2: 'A' is not a string"},
        {"{\"mode\":\"mock\",\"env\":{\"\":\"x\"}}", "is not NAME=VALUE"},
        {"{\"mode\":\"mock\",\"fs_reads\":{\"/a\":\n{\"base46\":\"\"}}}",
         "neither a string nor {\"base64\": ...}"},
        {"{\"mode\":\"mock\",\"fs_reads\":{\"/a\":{\"base64\":\"!\"}}}", "'/a' is neither"},
        {"{\"mode\":\"mock\",\"random_u64\":[1,\n-2]}",
         "s:2: 'random_u64' is not a whole number of 0 or more"},
        {"{\"mode\":\"mock\",\"random_u64\":[18446744073709551615]}", "s:1:"},
        {"{\"mode\":\"mock\",\"random_u64\":7}", "'random_u64' is not a list"},
        {"{\"mode\":\"mock\",\"net_gets\":{\"u\":{\"status\":\n20}}}",
         "s:1: 'status' is not a status"},
        {"{\"mode\":\"mock\",\"net_gets\":{\"u\":{\"boby\":\"\"}}}", "did you mean 'body'?"},
        {"{\"mode\":\"mock\",\"stdin_lines\":[\"a\",\n\n2]}", "s:3: 'stdin_lines' is not a string"},
        {"{\"mode\":\"mock\",\"stdin_lines\":[\"a\\u0000b\"]}", "has a NUL in it"},
        {"{\"mode\":\"mock\",\"responses\":[3]}", "an entry of 'responses' is not an object"},
        {"{\"mode\":\"mock\",\"responses\":[{\"capability\":\"fs\"}]}", "'method' is missing"},
        {"{\"mode\":\"mock\",\"responses\":[{\"capability\":\"fs\",\"method\":\"raed\"}]}",
         "did you mean 'fs.read'?"},
        {"{\"mode\":\"mock\",\"responses\":[{\"capability\":\"fs\",\"method\":\"read\","
         "\"error_code\":\"EWHAT\"}]}",
         "'EWHAT' is not the name of an error"},
        {"{\"mode\":\"mock\",\"argv_steps\":[{\"argv\":[]}]}", "step 1 has no program"},
        {"{\"mode\":\"mock\",\"argv_steps\":[{\"argv\":[\"a\"],\"exit_code\":256}]}",
         "'exit_code' is not a number from 0 to 255"},
        {"{\"mode\":\"mock\",\"expect_calls\":[\n{\"sub_handle\":\"env\",\n\"methd\":\"get\"}]}",
         "s:3: unknown field 'methd'\nhint: did you mean 'method'?"},
        {"{\"mode\":\"mock\",\"expect_calls\":[{\"sub_handle\":\"env\",\"method\":\"get\"}]}",
         "'args' is missing"},
        {"{\"mode\":\"mock\",\"expect_calls\":[{\"sub_handle\":\"env\",\"method\":\"get\","
         "\"args\":\"KEY\"}]}",
         "'args' is not a list"},
        {"{\"mode\":\"mock\",\"expect_stdio\":[\"a\"]}", "'expect_stdio' is not a string"},
        {"{\"mode\":\"null\",\n\"env\":{}}",
         "s:2: 'env' is of mode \"mock\", and the mode is \"null\""},
        {"{\"mode\":\"mock\",\"expect_deny_events\":[{\"sub_handle\":\"a\",\"method\":\"b\","
         "\"args\":[]}]}",
         "'expect_deny_events' is of mode \"null\""},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(bad); i++) {
        struct harness harness = {0};
        struct err err = {0};
        int r = harness_parse(bad[i].text, strlen(bad[i].text), "s", &harness, &err);
        if (r == 0) /* what only the host can know */
            CHECK_TRUE(harness_host(&harness, false, &err) == NULL);
        CHECK_HAS(err.text, bad[i].words);
    }
    struct vitro_host_error error = {0};
    CHECK_TRUE(vitro_host_from_sidecar("/nowhere/a.harness.json", &error) == NULL);
    CHECK_HAS(error.text, "/nowhere/a.harness.json");
    CHECK_TRUE(vitro_host_from_sidecar(NULL, &error) == NULL);
    CHECK_TRUE(vitro_host_from_sidecar("/", NULL) == NULL);
}

/* ---- programs whose world is chosen from outside */

static int greet(struct vitro_host *host, int argc, char **argv)
{
    const char *name;

    (void)argc;
    (void)argv;
    if (vitro_env_get(host->env, "NAME", &name, NULL) != 1)
        return 3;
    return vitro_stdio_print(host->stdio, "# %s\n", name) < 0;
}

TEST(a_program_takes_the_world_that_a_variable_names_and_tells_its_calls)
{
    const char *report = tmp_path("report");
    CLEANUP(buf_done) struct buf told = {0};
    char *argv[] = {(char *)"greet", NULL};

    CHECK_INT(setenv("VITRO_HARNESS",
                     tmp_file("e.harness.json",
                              "{\"mode\":\"mock\",\"env\":{\"NAME\":\"ada\"},\"expect_calls\":"
                              "[{\"sub_handle\":\"fs\",\"method\":\"read\",\"args\":[\"/x\"]}]}"),
                     1),
              0);
    CHECK_INT(setenv("VITRO_HARNESS_REPORT", report, 1), 0);
    CHECK_INT(vitro_host_main(greet, 1, argv), 0); /* who reads the report decides */
    CHECK_INT(file_read(report, 10000, &told, NULL), 0);
    CHECK_TEXT(buf_text(&told),
               "{\"mode\":\"mock\",\"version\":1}\n"
               "{\"args\":[\"NAME\"],\"denied\":false,\"method\":\"get\",\"sub_handle\":\"env\"}\n"
               "{\"args\":[\"# ada\\n\"],\"denied\":false,\"method\":\"print\","
               "\"sub_handle\":\"stdio\"}\n");
    CHECK_INT(unsetenv("VITRO_HARNESS_REPORT"), 0);
    CHECK_INT(vitro_host_main(greet, 1, argv), 1); /* nobody does: it checks itself */
    CHECK_INT(setenv("VITRO_HARNESS", "/nowhere", 1), 0);
    CHECK_INT(vitro_host_main(greet, 1, argv), 125);
    CHECK_INT(unsetenv("VITRO_HARNESS"), 0);
    CHECK_INT(setenv("NAME", "bob", 1), 0);
    CHECK_INT(vitro_host_main(greet, 1, argv), 0); /* the machine */
}
