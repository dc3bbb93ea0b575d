/* SPDX-License-Identifier: MIT */
#include "proc/cassette.h"
#include "base/when.h"
#include "lib/check.h"
#include "tape/tape.h"
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

static void add(struct cassette *cassette, const char *argument, const char *more)
{
    CLEANUP(buf_done) struct buf data = {0};
    struct err err = {0};

    buf_addf(&data,
             "{\"args\":[\"git\",\"%s\"],\"cwd\":\".\",\"env\":[],\"events\":[[0,\"exit\"]],"
             "\"exit_code\":0,\"program\":\"/usr/bin/git\"%s}",
             argument, more);
    CHECK_OK(cassette_add(cassette, data.data, NULL, NULL, "test", &err), err);
}

static struct call call_of(const char *program, const char *argument, const char **argv)
{
    argv[0] = "git";
    argv[1] = argument;
    argv[2] = NULL;
    return (struct call){.program = program, .argv = argv, .cwd = "."};
}

TEST(recordings_of_one_call_answer_in_their_order_each_once)
{
    CLEANUP(cassette_free) struct cassette *cassette = cassette_new(&(struct cassette_options){0});
    const char *argv[3];
    struct call call = call_of("git", "log", argv);
    size_t ids[4];

    add(cassette, "log", "");
    add(cassette, "status", "");
    add(cassette, "log", "");
    CHECK_INT(cassette_find(cassette, &call, ids, 4), 2);
    CHECK_INT(ids[0], 0);
    cassette_use(cassette, 0);
    CHECK_INT(cassette_find(cassette, &call, ids, 4), 1);
    CHECK_INT(ids[0], 2);
    cassette_use(cassette, 2);
    CHECK_INT(cassette_find(cassette, &call, ids, 4), 0);
    CHECK_TRUE(cassette_knows(cassette, "/opt/git") && !cassette_knows(cassette, "hg"));
}

TEST(a_strict_order_takes_the_next_or_none)
{
    CLEANUP(cassette_free)
    struct cassette *cassette = cassette_new(&(struct cassette_options){.strict_order = true});
    CLEANUP(buf_done) struct buf why = {0};
    const char *argv[3];
    struct call call = call_of("git", "status", argv);
    size_t id;

    add(cassette, "log", "");
    add(cassette, "status", "");
    CHECK_INT(cassette_find(cassette, &call, &id, 1), 0);
    cassette_explain(cassette, &call, &why);
    CHECK_HAS(buf_text(&why), "call #0 of the recording is: git log");
    cassette_use(cassette, 0);
    CHECK_INT(cassette_find(cassette, &call, &id, 1), 1);
    CHECK_INT(id, 1);
}

TEST(a_miss_names_the_closest_the_difference_and_a_rule)
{
    CLEANUP(cassette_free) struct cassette *cassette = cassette_new(&(struct cassette_options){0});
    CLEANUP(buf_done) struct buf why = {0};
    const char *argv[3];
    struct call call = call_of("/usr/bin/git", "lag", argv);

    add(cassette, "status", "");
    add(cassette, "log", "");
    cassette_explain(cassette, &call, &why);
    CHECK_HAS(buf_text(&why), "key      program git");
    CHECK_HAS(buf_text(&why), "closest  git ");
    CHECK_HAS(buf_text(&why), "argv[1]");
    CHECK_HAS(buf_text(&why), "rule     --match");
}

TEST(a_call_that_comes_once_too_often_is_told_so)
{
    CLEANUP(cassette_free) struct cassette *cassette = cassette_new(&(struct cassette_options){0});
    CLEANUP(buf_done) struct buf why = {0};
    const char *argv[3];
    struct call call = call_of("git", "log", argv);

    add(cassette, "log", "");
    cassette_use(cassette, 0);
    cassette_explain(cassette, &call, &why);
    CHECK_HAS(buf_text(&why), "came once too often");
}

TEST(secrets_and_the_worktree_are_taken_out_of_a_call)
{
    CLEANUP(cassette_free)
    struct cassette *cassette = cassette_new(&(struct cassette_options){.worktree = "/home/me/w"});
    static const char *const argv[] = {"/home/me/w/tool", "-I/home/me/w/include", "/home/me/wide",
                                       "ghp_0123456789abcdefghijklmnopqrstuvwxyz", NULL};
    struct call_forms forms = {0};

    cassette_form(cassette,
                  &(struct call){.program = argv[0], .argv = argv, .cwd = "/home/me/w/sub"},
                  &forms);
    CHECK_TEXT(forms.program, "<worktree>/tool");
    CHECK_TEXT(forms.argv[1], "-I<worktree>/include");
    CHECK_TEXT(forms.argv[2], "/home/me/wide");
    CHECK_TRUE(strstr(forms.argv[3], "<secret:") == forms.argv[3]);
    CHECK_TEXT(forms.cwd, "sub");
    call_forms_done(&forms);
}

TEST(old_recordings_are_refused_by_name)
{
    CLEANUP(cassette_free)
    struct cassette *cassette = cassette_new(&(struct cassette_options){
        .max_age_ns = 1000, .now_ns = INT64_C(1767225600) * (int64_t)NS_PER_SEC});
    struct err err = {0};

    CHECK_INT(cassette_add(cassette, "{\"events\":[[0,\"exit\"]],\"program\":\"git\"}",
                           "{\"recorded_at_ns\":1700000000000000000}", NULL, "old.tape:2", &err),
              -ESTALE);
    CHECK_HAS(err.text, "old.tape:2: the recording of 'git' is from 2023-11-14T22:13:20Z");
    CHECK_HAS(err.text, "hint: record it again");
}

TEST(a_content_too_long_for_memory_comes_back_piece_by_piece)
{
    CLEANUP(store_free) struct store *store = NULL;
    CLEANUP(store_stream_free) struct store_stream *stream = NULL;
    CLEANUP(mem_free) char *bytes = mem_alloc(3 << 20);
    CLEANUP(hash_free) struct hash_state *state = hash_begin();
    struct err err = {0};
    struct hash hash;

    for (size_t i = 0; i < 3 << 20; i++)
        bytes[i] = (char)(i * i >> 7);
    const char *path = tmp_file("big", "");
    CHECK_OK(file_write(path, bytes, 3 << 20, &err), err);
    CHECK_OK(store_open(&(struct store_options){.path = tmp_path("s.cas")}, &store, &err), err);
    CLEANUP(fd_close) int fd = open(path, 0);
    CHECK_OK(store_put_file(store, fd, &hash, &err), err);
    CHECK_OK(store_stream_open(store, &hash, &stream, &err), err);
    char piece[1000];
    for (ssize_t count; (count = store_stream_read(stream, piece, sizeof piece)) > 0;)
        hash_add(state, piece, (size_t)count);
    struct hash found = hash_end(take_ptr(&state));
    CHECK_TRUE(memcmp(&found, &hash, sizeof hash) == 0);
    /* The store's own reader takes it, too. */
    CLEANUP(buf_done) struct buf whole = {0};
    CHECK_OK(store_get(store, &hash, 0, &whole, &err), err);
    CHECK_INT(whole.length, 3 << 20);
    struct hash none = hash_of("x", 1);
    CHECK_INT(store_stream_open(store, &none, &stream, &err), -ENOENT);
}
