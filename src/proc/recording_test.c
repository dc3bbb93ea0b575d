/* SPDX-License-Identifier: MIT */
#include "proc/recording.h"
#include "base/json.h"
#include "lib/check.h"
#include <errno.h>

#define PLAIN                                                                                      \
    "{\"args\":[\"git\",\"log\"],\"cwd\":\".\",\"duration_ns\":5,\"env\":[\"A=b\"],\"events\":"    \
    "[[0,\"in\",2],[0,\"eof\"],[0,\"out\",2],[5,\"exit\"]],\"exit_code\":3,\"files\":[{\"at_ns\":" \
    "0,"                                                                                           \
    "\"mode\":\"755\",\"path\":\"dir\",\"type\":\"dir\"},{\"at_ns\":0,\"path\":\"link\","          \
    "\"target\":"                                                                                  \
    "\"dir\",\"type\":\"link\"},{\"at_ns\":5,\"path\":\"gone\",\"type\":\"none\"}],\"program\":"   \
    "\"/usr/bin/git\",\"stdin_payload\":{\"content_hash\":"                                        \
    "\"8f434346648f6b96df89dda901c5176b10a6d83961dd3c1ac88b59b2dc327aa4\",\"text\":\"hi\"},"       \
    "\"stdout_payload\":{\"content_hash\":"                                                        \
    "\"8f434346648f6b96df89dda901c5176b10a6d83961dd3c1ac88b59b2dc327aa4\",\"text\":\"hi\"},"       \
    "\"terminal\":[0,2]}"

static int read(const char *text, struct recording *ret, struct err *err)
{
    CLEANUP(json_free) json_t *tree = NULL;
    struct err bad = {0};

    CHECK_OK(json_parse(text, strlen(text), "test", &tree, &bad), bad);
    return recording_from_json(tree, NULL, "test", ret, err);
}

TEST(a_recording_is_written_as_it_was_read)
{
    CLEANUP(recording_done) struct recording recording = {0};
    CLEANUP(buf_done) struct buf text = {0};
    struct err err = {0};

    CHECK_OK(read(PLAIN, &recording, &err), err);
    recording_add_data(&recording, &text);
    CHECK_TEXT(buf_text(&text), PLAIN);
    CHECK_INT(recording_input_bytes(&recording), 2);
    CHECK_TRUE(recording_reads_end(&recording) && !recording_converses(&recording));
    CHECK_INT(recording.exit_code, 3);
}

TEST(arguments_that_are_not_text_survive)
{
    CLEANUP(recording_done) struct recording recording = {0};
    CLEANUP(recording_done) struct recording again = {0};
    CLEANUP(buf_done) struct buf text = {0};
    struct err err = {0};

    CHECK_OK(
        read("{\"args\":[\"a\",{\"base64\":\"/w==\"}],\"events\":[[0,\"exit\"]],\"program\":\"a\"}",
             &recording, &err),
        err);
    CHECK_TEXT(recording.argv[1], "\xff");
    recording_add_data(&recording, &text);
    CHECK_OK(read(buf_text(&text), &again, &err), err);
    CHECK_TEXT(again.argv[1], "\xff");
}

TEST(what_is_wrong_is_named)
{
    static const struct {
        const char *text, *why;
    } cases[] = {
        {"{}", "'program' is not a text"},
        {"{\"program\":\"a\"}", "'events' is not a list"},
        {"{\"program\":\"a\",\"events\":[]}", "does not hold one 'exit'"},
        {"{\"program\":\"a\",\"events\":[[0,\"exit\"],[1,\"exit\"]]}", "does not hold one 'exit'"},
        {"{\"program\":\"a\",\"events\":[[0,\"jump\"]]}", "no event"},
        {"{\"program\":\"a\",\"events\":[[-1,\"exit\"]]}", "no event"},
        {"{\"program\":\"a\",\"events\":[[0,\"signal\"],[0,\"exit\"]]}", "without a number"},
        {"{\"program\":\"a\",\"events\":[[0,\"signal\",65],[0,\"exit\"]]}", "without a number"},
        {"{\"program\":\"a\",\"events\":[[5,\"out\",1],[4,\"exit\"]]}", "goes back in time"},
        {"{\"program\":\"a\",\"events\":[[0,\"out\",9],[0,\"exit\"]]}", "another number of bytes"},
        {"{\"program\":\"a\",\"args\":[1],\"events\":[[0,\"exit\"]]}", "not a text"},
        {"{\"program\":\"a\",\"args\":{},\"events\":[[0,\"exit\"]]}", "'args' is not a list"},
        {"{\"program\":\"a\",\"events\":[[0,\"exit\"]],\"exit_code\":256}", "'exit_code'"},
        {"{\"program\":\"a\",\"events\":[[0,\"exit\"]],\"signal\":0}", "'signal'"},
        {"{\"program\":\"a\",\"events\":[[0,\"exit\"]],\"files\":[{\"path\":\"../x\",\"type\":"
         "\"none\"}]}",
         "leaves the worktree: '../x'"},
        {"{\"program\":\"a\",\"events\":[[0,\"exit\"]],\"files\":[{\"path\":\"a/../../x\",\"type\":"
         "\"none\"}]}",
         "leaves the worktree"},
        {"{\"program\":\"a\",\"events\":[[0,\"exit\"]],\"files\":[{\"path\":\"x\",\"type\":"
         "\"file\"}]}",
         "without a content_hash"},
        {"{\"program\":\"a\",\"events\":[[0,\"exit\"]],\"files\":[{\"path\":\"x\",\"type\":"
         "\"dir\",\"mode\":\"999\"}]}",
         "a mode that is none"},
        {"{\"program\":\"a\",\"events\":[[0,\"out\",1],[0,\"exit\"]],\"stdout_payload\":"
         "{\"content_hash\":\"8f434346648f6b96df89dda901c5176b10a6d83961dd3c1ac88b59b2dc327aa4\","
         "\"text\":\"x\"}}",
         "not what its hash says"},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        CLEANUP(recording_done) struct recording recording = {0};
        struct err err = {0};
        CHECK_INT(read(cases[i].text, &recording, &err), -EBADMSG);
        CHECK_HAS(err.text, cases[i].why);
        CHECK_TRUE(recording.program == NULL);
    }
}

TEST(neighbours_of_one_kind_and_moment_are_one_event)
{
    CLEANUP(recording_done) struct recording recording = {0};

    recording_add_event(&recording, 0, RECORDING_OUT, 3);
    recording_add_event(&recording, 0, RECORDING_OUT, 4);
    recording_add_event(&recording, 0, RECORDING_ERR, 1);
    recording_add_event(&recording, 5, RECORDING_WAKE, 0);
    recording_add_event(&recording, 5, RECORDING_OUT, 1);
    recording_add_event(&recording, 5, RECORDING_WAKE, 0);
    recording_add_event(&recording, 5, RECORDING_IN, 1);
    CHECK_INT(recording.event_count, 4);
    CHECK_INT(recording.events[0].length, 7);
    CHECK_TRUE(recording_converses(&recording));
}

TEST(hiding_secrets_moves_the_length_of_the_last_events)
{
    CLEANUP(recording_done) struct recording recording = {0};

    recording_add_event(&recording, 0, RECORDING_OUT, 10);
    recording_add_event(&recording, 0, RECORDING_ERR, 1);
    recording_add_event(&recording, 0, RECORDING_OUT, 10);
    recording_fit_events(&recording, RECORDING_OUT, 25);
    CHECK_INT(recording.events[2].length, 15);
    recording_fit_events(&recording, RECORDING_OUT, 6);
    CHECK_INT(recording.events[0].length, 6);
    CHECK_INT(recording.events[2].length, 0);
}

TEST(signals_are_events_of_their_own)
{
    CLEANUP(recording_done) struct recording recording = {0};

    CHECK_INT(recording_signals(&recording), 0);
    recording_add_event(&recording, 0, RECORDING_SIGNAL, 1);
    recording_add_event(&recording, 0, RECORDING_SIGNAL, 1);
    recording_add_event(&recording, 0, RECORDING_SIGNAL, 15);
    CHECK_INT(recording.event_count, 3);
    CHECK_INT(recording_signals(&recording), 1 << 0 | 1 << 14);
}
