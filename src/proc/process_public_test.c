/* SPDX-License-Identifier: MIT */
#include "vitro/process.h"
#include "vitro/clock.h"
#include "lib/check.h"
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

static vitro_cassette *open_tape(const char *path, const char *mode)
{
    struct vitro_process_error error = {0};
    vitro_cassette *tape =
        vitro_cassette_open(&(struct vitro_cassette_options){.path = path, .mode = mode}, &error);

    if (!tape)
        check_fail(__FILE__, __LINE__, "open: %s", error.text);
    return tape;
}

static int shell(vitro_cassette *tape, const char *script, const char *input,
                 struct vitro_process_result *result, struct vitro_process_error *error)
{
    const char *argv[] = {"sh", "-c", script, NULL};

    return vitro_process_run(
        tape,
        &(struct vitro_process_call){
            .argv = argv, .input = input, .input_length = input ? strlen(input) : 0},
        result, error);
}

#define SCRIPT "cat; echo aside >&2; exit 4"

TEST(a_program_is_recorded_once_and_played_after)
{
    struct vitro_process_result result;
    struct vitro_process_error error = {0};
    const char *path = tmp_path("once.tape");

    (void)unsetenv("CI");
    for (int i = 0; i < 3; i++) {
        vitro_cassette *tape = open_tape(path, NULL);
        CHECK_OK(shell(tape, SCRIPT, "given\n", &result, &error), error);
        CHECK_INT(result.played, i > 0);
        CHECK_INT(result.exit_code, 4);
        CHECK_TEXT(result.output, "given\n");
        CHECK_TEXT(result.error_output, "aside\n");
        vitro_process_result_done(&result);
        CHECK_OK(vitro_cassette_close(tape, &error), error);
    }
    /* Another input is another call, and what was recorded is then not asked for. */
    vitro_cassette *tape = open_tape(path, "none");
    CHECK_INT(shell(tape, SCRIPT, "other\n", &result, &error), -ENODATA);
    CHECK_HAS(error.text, "stdin");
    CHECK_INT(vitro_cassette_close(tape, &error), -ENODATA);
    tape = open_tape(path, "none");
    CHECK_INT(vitro_cassette_close(tape, &error), -ENOTEMPTY);
    CHECK_HAS(error.text, "1 recording that nobody asked for");
}

TEST(new_calls_are_added_and_changes_are_seen)
{
    struct vitro_process_result result;
    struct vitro_process_error error = {0};
    const char *path = tmp_path("new.tape");
    const char *data = tmp_file("data", "one");
    CLEANUP(mem_free) char *script = mem_format("cat '%s'", data);

    (void)unsetenv("CI");
    vitro_cassette *tape = open_tape(path, "new");
    CHECK_OK(shell(tape, script, NULL, &result, &error), error);
    vitro_process_result_done(&result);
    CHECK_OK(vitro_cassette_close(tape, &error), error);
    tape = open_tape(path, "new");
    CHECK_OK(shell(tape, script, NULL, &result, &error), error);
    CHECK_INT(result.played, 1);
    vitro_process_result_done(&result);
    CHECK_OK(shell(tape, "kill -TERM $$", NULL, &result, &error), error);
    CHECK_INT(result.played, 0);
    CHECK_INT(result.signal, 15);
    CHECK_INT(result.exit_code, -1);
    vitro_process_result_done(&result);
    CHECK_OK(vitro_cassette_close(tape, &error), error);
    (void)tmp_file("data", "two");
    tape = open_tape(path, "verify");
    CHECK_OK(shell(tape, "kill -TERM $$", NULL, &result, &error), error);
    CHECK_INT(result.signal, 15);
    vitro_process_result_done(&result);
    CHECK_OK(shell(tape, script, NULL, &result, &error), error);
    CHECK_TEXT(result.output, "two");
    vitro_process_result_done(&result);
    CHECK_INT(vitro_cassette_close(tape, &error), -EBADMSG);
    CHECK_HAS(error.text, "stdout differs from its recording");
}

TEST(what_cannot_be_is_said)
{
    struct vitro_process_result result;
    struct vitro_process_error error = {0};
    static const char *const none[] = {"no-such-program-anywhere", NULL};

    CHECK_TRUE(!vitro_cassette_open(
        &(struct vitro_cassette_options){.path = tmp_path("absent"), .mode = "none"}, &error));
    CHECK_HAS(error.text, "there is none at");
    CHECK_TRUE(!vitro_cassette_open(
        &(struct vitro_cassette_options){.path = "x", .mode = "sometimes"}, &error));
    CHECK_HAS(error.text, "hint: write");
    CHECK_INT(error.code, -EINVAL);
    CHECK_TRUE(!vitro_cassette_open(&(struct vitro_cassette_options){.path = tmp_file("bad", "{")},
                                    &error));
    CHECK_INT(vitro_process_run(NULL, &(struct vitro_process_call){.argv = none}, &result, &error),
              -ENOENT);
    CHECK_HAS(error.text, "no-such-program-anywhere");
    CHECK_INT(setenv("CI", "1", 1), 0);
    CHECK_TRUE(
        !vitro_cassette_open(&(struct vitro_cassette_options){.path = tmp_path("c")}, &error));
    CHECK_HAS(error.text, "CI");
    CHECK_INT(unsetenv("CI"), 0);
}

TEST(without_a_cassette_a_program_just_runs)
{
    struct vitro_process_result result;
    struct vitro_process_error error = {0};

    CHECK_OK(shell(NULL, "head -c 3000000 /dev/zero | tr '\\0' x; cat >/dev/null", "in", &result,
                   &error),
             error);
    CHECK_INT(result.output_length, 3000000);
    CHECK_INT(result.exit_code, 0);
    vitro_process_result_done(&result);
    /* Who does not read what is given ends as it likes. */
    CLEANUP(mem_free) char *much = mem_alloc(1 << 20);
    memset(much, 'x', (1 << 20) - 1);
    CHECK_OK(shell(NULL, "exit 3", much, &result, &error), error);
    CHECK_INT(result.exit_code, 3);
    vitro_process_result_done(&result);
}

TEST(what_is_played_takes_as_long_as_it_did_on_a_mocked_clock)
{
    struct vitro_process_result result;
    struct vitro_process_error error = {0};
    const char *path = tmp_file("slow.json", "[{\"program\":\"sh\",\"args\":[\"-c\",\"x\"],"
                                             "\"stdout\":\"soon\",\"duration_ms\":60000}]");
    struct vitro_clock *clock = vitro_clock_paused(&(struct vitro_paused_options){.jumps = 1});

    for (int takes_time = 0; takes_time < 2; takes_time++) {
        VITRO_MOCK(clock);
        vitro_cassette *tape = vitro_cassette_open(
            &(struct vitro_cassette_options){.path = path, .takes_time = takes_time}, &error);
        CHECK_TRUE(tape != NULL);
        CHECK_OK(shell(tape, "x", NULL, &result, &error), error);
        CHECK_TEXT(result.output, "soon");
        CHECK_INT(vitro_clock_monotonic(clock), takes_time ? UINT64_C(60000000000) : 0);
        vitro_process_result_done(&result);
        CHECK_OK(vitro_cassette_close(tape, &error), error);
    }
    vitro_clock_free(clock);
}

TEST(no_options_and_no_call_are_told)
{
    struct vitro_process_error error = {0};
    struct vitro_process_result result = {0};

    CHECK_TRUE(!vitro_cassette_open(NULL, &error));
    CHECK_HAS(error.text, "a cassette needs a path");
    CHECK_INT(vitro_process_run(NULL, NULL, &result, &error), -EINVAL);
    CHECK_HAS(error.text, "a call needs a program");
    CHECK_INT(shell(NULL, "true", NULL, NULL, &error), -EINVAL);
    CHECK_HAS(error.text, "a call needs a result");
    vitro_process_result_done(NULL);
}
