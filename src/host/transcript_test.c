/* SPDX-License-Identifier: MIT */
#include "vitro/host.h"
#include "lib/check.h"
#include <errno.h>
#include <unistd.h>

static struct vitro_host *deploy(const char *file)
{
    struct vitro_host *host = vitro_host_mock(
        &(struct vitro_host_mock_options){
            .env = (const char *const[]){"KEY=value", NULL},
            .random_u64 = (const uint64_t[]){1, 2},
            .random_count = 2,
            .files = (const struct vitro_host_file[]){{"/x", "data", 0}, {0}}},
        NULL);
    char uuid[37], *text = NULL;
    const char *value;

    CHECK_INT(vitro_env_get(host->env, "KEY", &value, NULL), 1);
    CHECK_INT(vitro_random_uuid(host->random, uuid, NULL), 0);
    (void)vitro_fs_read(host->fs, file, &text, NULL, NULL);
    free(text);
    CHECK_INT(vitro_stdio_print(host->stdio, "took %d ms\n", 17), 0);
    return host;
}

static const char lines[] =
    "{\"args\":[\"KEY\"],\"method\":\"get\",\"result\":\"value\",\"sub_handle\":\"env\"}\n"
    "{\"args\":[],\"method\":\"uuid\",\"result\":\"01000000-0000-4000-8200-000000000000\","
    "\"sub_handle\":\"random\"}\n"
    "{\"args\":[\"/x\"],\"method\":\"read\",\"result\":\"data\",\"sub_handle\":\"fs\"}\n"
    "{\"args\":[\"took 17 ms\\n\"],\"method\":\"print\",\"sub_handle\":\"stdio\"}\n";

static const char with_sentinels[] =
    "{\"args\":[\"KEY\"],\"method\":\"get\",\"result\":\"<any>\",\"sub_handle\":\"env\"}\n"
    "{\"args\":[],\"method\":\"uuid\",\"result\":\"<uuid>\",\"sub_handle\":\"random\"}\n"
    "{\"args\":[\"/x\"],\"method\":\"read\",\"result\":\"d<any>a\",\"sub_handle\":\"fs\"}\n"
    "{\"args\":[\"took <ms> ms\\n\"],\"method\":\"print\",\"sub_handle\":\"stdio\"}\n";

static void check_file(const char *path, const char *wanted)
{
    CLEANUP(buf_done) struct buf bytes = {0};

    CHECK_INT(file_read(path, 1 << 20, &bytes, NULL), 0);
    CHECK_TEXT(buf_text(&bytes), wanted);
}

TEST(a_transcript_is_the_calls_with_what_they_gave)
{
    struct vitro_host *host = deploy("/x");
    char *text = vitro_host_transcript(host);

    CHECK_TEXT(text, lines);
    free(text);
    vitro_host_free(host);
    host = deploy("/missing");
    text = vitro_host_transcript(host);
    CHECK_HAS(text, "{\"args\":[\"/missing\"],\"error\":\"ENODATA\",\"method\":\"read\"");
    free(text);
    vitro_host_free(host);
}

TEST(a_golden_is_written_when_asked_for_and_never_in_ci)
{
    const char *path = tmp_path("deploy.golden");
    CLEANUP(mem_free) char *beside = mem_format("%s.actual", path);
    struct vitro_host_error error = {0};
    struct vitro_host *host = deploy("/x");

    CHECK_INT(vitro_host_golden(host, path, NULL, &error), -ENOENT);
    CHECK_HAS(error.text, "is not there");
    check_file(beside, lines);
    CHECK_INT(setenv("CI", "true", 1), 0);
    CHECK_INT(vitro_host_golden(host, path, &(struct vitro_golden){.update = 1}, &error), -EPERM);
    CHECK_HAS(error.text, "goldens are not written in CI");
    CHECK_INT(unsetenv("CI"), 0);
    CHECK_INT(setenv("VITRO_UPDATE", "1", 1), 0);
    CHECK_OK(vitro_host_golden(host, path, NULL, &error), error);
    CHECK_INT(unsetenv("VITRO_UPDATE"), 0);
    check_file(path, lines);
    CHECK_TRUE(!file_exists(beside));
    CHECK_OK(vitro_host_golden(host, path, NULL, &error), error);
    vitro_host_free(host);
}

TEST(sentinels_stand_for_what_differs_and_survive_an_update)
{
    const char *path = tmp_file("sentinels.golden", with_sentinels);
    struct vitro_host_error error = {0};
    struct vitro_host *host = deploy("/x");

    CHECK_OK(vitro_host_golden(host, path, NULL, &error), error);
    CHECK_INT(vitro_stdio_print(host->stdio, "more\n"), 0);
    CHECK_INT(vitro_host_golden(host, path, NULL, &error), -EPROTO);
    CHECK_HAS(error.text, "the transcript differs from golden");
    CHECK_HAS(error.text, "\n+{\"args\":[\"more\\n\"]");
    CHECK_TRUE(!strstr(error.text, "\n-")); /* one call more is one difference */
    CHECK_OK(vitro_host_golden(host, path, &(struct vitro_golden){.update = 1}, &error), error);
    CLEANUP(mem_free) char *wanted =
        mem_format("%s%s", with_sentinels,
                   "{\"args\":[\"more\\n\"],\"method\":\"print\",\"sub_handle\":\"stdio\"}\n");
    check_file(path, wanted);
    vitro_host_free(host);
}

TEST(sentinels_do_not_stand_for_anything_else)
{
    static const struct {
        const char *from, *to, *where;
    } wrong[] = {
        {"\"<uuid>\"", "\"<ms>\"", "call 2: result: golden \"<ms>\", seen \"01000000"},
        {"d<any>a", "d<any>x", "call 3: result: golden \"d<any>x\", seen \"data\""},
        {"took <ms> ms", "took <uuid> ms", "call 4: args[0]: golden \"took <uuid> ms"},
        {"[\"KEY\"]", "[\"KEY\",\"<any>\"]", "call 1: args[1]: golden \"<any>\", seen none"},
        {"[\"KEY\"]", "[]", "call 1: args[0]: golden has none, seen \"KEY\""},
        {",\"result\":\"<any>\"", "", "call 1: result: golden has none, seen \"value\""},
    };
    struct vitro_host *host = deploy("/x");

    for (size_t i = 0; i < ARRAY_LENGTH(wrong); i++) {
        struct vitro_host_error error = {0};
        const char *at = strstr(with_sentinels, wrong[i].from);
        CLEANUP(mem_free) char *text =
            mem_format("%.*s%s%s", (int)(at - with_sentinels), with_sentinels, wrong[i].to,
                       at + strlen(wrong[i].from));
        CHECK_INT(vitro_host_golden(host, tmp_file("wrong.golden", text), NULL, &error), -EPROTO);
        CHECK_HAS(error.text, wrong[i].where);
    }
    vitro_host_free(host);
}

TEST(masks_take_volatile_parts_out_on_both_sides)
{
    const char *path = tmp_path("masked.golden");
    const struct vitro_golden how = {
        .update = 1, .mask = (const char *const[]){"uuid", "s/took \\d+/took N/", NULL}};
    struct vitro_host_error error = {0};
    struct vitro_host *host = deploy("/x");

    CHECK_OK(vitro_host_golden(host, path, &how, &error), error);
    CLEANUP(buf_done) struct buf bytes = {0};
    CHECK_INT(file_read(path, 1 << 20, &bytes, NULL), 0);
    CHECK_HAS(buf_text(&bytes), "took N ms");
    CHECK_INT(vitro_host_golden(host, path, NULL, &error), -EPROTO);
    CHECK_OK(vitro_host_golden(host, path, &(struct vitro_golden){.mask = how.mask}, &error),
             error);
    CHECK_INT(vitro_host_golden(host, path,
                                &(struct vitro_golden){.mask = (const char *const[]){"wat", NULL}},
                                &error),
              -EINVAL);
    vitro_host_free(host);
}

TEST(any_text_can_be_held_against_a_golden)
{
    const char *path = tmp_file("text.golden", "one\ntwo\n");
    struct vitro_host_error error = {0};

    CHECK_OK(vitro_golden_text(path, "one\ntwo\n", 8, NULL, &error), error);
    CHECK_INT(vitro_golden_text(path, "one\n2\n", 6, NULL, &error), -EPROTO);
    CHECK_HAS(error.text, "-two\n+2\n");
    CHECK_OK(vitro_golden_text(path, "one\n2\n", 6, &(struct vitro_golden){.update = 1}, &error),
             error);
    check_file(path, "one\n2\n");
    CHECK_INT(vitro_golden_text(NULL, "", 0, NULL, &error), -EINVAL);
}

TEST(goldens_that_are_none_are_refused_by_their_line)
{
    struct vitro_host_error error = {0};
    struct vitro_host *host = deploy("/x");
    struct vitro_host *real = vitro_host_real(NULL, NULL);

    CHECK_INT(vitro_host_golden(host, tmp_file("none.golden", "{}\n{\n"), NULL, &error), -EBADMSG);
    CHECK_HAS(error.text, "none.golden line 2");
    CHECK_INT(vitro_host_golden(real, "x", NULL, &error), -EINVAL);
    CHECK_INT(vitro_host_golden(host, NULL, NULL, &error), -EINVAL);
    vitro_host_free(real);
    vitro_host_free(host);
}
