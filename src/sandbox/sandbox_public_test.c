/* SPDX-License-Identifier: MIT */
#include "vitro/sandbox.h"
#include "lib/check.h"
#include <errno.h>
#include <string.h>
#include <unistd.h>

static vitro_sandbox *open_here(const char *name)
{
    struct vitro_box_error error = {0};
    vitro_sandbox *s = vitro_sandbox_open(
        &(struct vitro_sandbox_options){.name = name, .base = tmp_path("base")}, &error);

    if (!s)
        check_fail(__FILE__, __LINE__, "%s", error.text);
    return s;
}

static const char *const *shell(const char *script)
{
    static const char *argv[] = {"sh", "-c", NULL, NULL};

    argv[2] = script;
    return argv;
}

TEST(the_go_harness_in_c)
{
    vitro_sandbox *s = open_here("harness");
    struct vitro_box_error error = {0};
    struct vitro_shim_call call;

    CHECK_OK(vitro_shim_success(s, "gh", "https://example.test/1\n", &error), error);
    vitro_term *t = vitro_sandbox_spawn(s, NULL,
                                        shell("echo posted PUBLICLY; printf 'y/N '; read a; [ "
                                              "\"$a\" = y ] && gh issue create -t 'a b'"),
                                        &error);
    if (!t) {
        (void)vitro_sandbox_close(s, NULL);
        SKIP(error.text);
    }
    CHECK_INT(vitro_term_expect_output_before(t, "posted PUBLICLY", "y/N", 0), 0);
    CHECK_OK(vitro_shim_never_called(s, "gh", NULL, &error), error);
    CHECK_INT(vitro_term_send_text(t, "y\n"), 0);
    CHECK_INT(vitro_term_expect_exit(t, 0, 0), 0);
    CHECK_HAS(vitro_term_output(t, NULL), "https://example.test/1");
    vitro_term_close(t);
    CHECK_OK(vitro_shim_called(s, "gh", (const char *const[]){"issue create", "a b", NULL}, &call,
                               &error),
             error);
    CHECK_TEXT(call.argv[4], "a b");
    CHECK_TEXT(call.cwd, vitro_sandbox_work(s));
    CHECK_TRUE(call.input == NULL);
    CHECK_INT(call.time_ns, INT64_C(1767225600000000000));
    CHECK_INT(vitro_shim_never_called(s, "gh", (const char *const[]){"issue", NULL}, &error),
              -EEXIST);
    CHECK_HAS(error.text, "'gh' was called with \"issue\"\n  call 1  gh issue create -t 'a b'");
    CHECK_INT(vitro_shim_called(s, "gh", (const char *const[]){"pr", NULL}, NULL, &error), -ENOENT);
    CHECK_HAS(error.text, "'gh' was not called with \"pr\"\n  call 1");
    CHECK_INT(vitro_shim_call(s, "gh", 1, &call, &error), -ENOENT);
    CHECK_INT(vitro_shim_call_count(s, "gh", &error), 1);
    CHECK_OK(vitro_sandbox_close(s, &error), error);
}

TEST(more_environment_replaces_the_sandboxs)
{
    vitro_sandbox *s = open_here("env");
    struct vitro_box_error error = {0};

    vitro_term *t = vitro_sandbox_spawn(s, (const char *const[]){"TERM=vt100", "X=1", NULL},
                                        shell("echo $TERM $X $HOME"), &error);
    if (!t) {
        (void)vitro_sandbox_close(s, NULL);
        SKIP(error.text);
    }
    CHECK_INT(vitro_term_expect_exit(t, 0, 0), 0);
    CHECK_HAS(vitro_term_output(t, NULL), "vt100 1 ");
    CHECK_HAS(vitro_term_output(t, NULL), vitro_sandbox_home(s));
    vitro_term_close(t);
    CHECK_OK(vitro_sandbox_close(s, &error), error);
}

/* A box without a terminal, for the tests below; its output is in `ret`. */
static int run_boxed(vitro_sandbox *s, const char *script, struct buf *ret)
{
    struct vitro_box_options options = {.argv = shell(script), .capture_output = 1};
    struct vitro_box_findings findings;
    struct vitro_box_error error = {0};

    CHECK_OK(vitro_sandbox_box(s, &options, &error), error);
    vitro_box *box = vitro_box_spawn(&options, &error);
    if (!box)
        SKIP(error.text);
    CHECK_OK(vitro_box_wait(box, &findings, &error), error);
    buf_clear(ret);
    buf_adds(ret, findings.output);
    buf_adds(ret, findings.error_output);
    int code = findings.exit_code;
    vitro_box_free(box);
    return code;
}

TEST(rules_in_c_answer_as_they_say)
{
    vitro_sandbox *s = open_here("rules");
    struct vitro_box_error error = {0};
    CLEANUP(buf_done) struct buf out = {0};

    CHECK_OK(
        vitro_shim_reply(s, "tool",
                         &(struct vitro_shim_rule){
                             .args = (const char *const[]){"add", "regex:^[0-9]+$", "...", NULL},
                             .output = "added\n",
                             .errors = "careful\n",
                             .exit_code = 3,
                             .delay_ns = 60000000000},
                         &error),
        error);
    CHECK_OK(vitro_shim_reply(s, "tool",
                              &(struct vitro_shim_rule){.args = (const char *const[]){"cat", NULL},
                                                        .input = "contains:needle",
                                                        .run = "cat"},
                              &error),
             error);
    CHECK_OK(vitro_shim_reply(s, "sort", &(struct vitro_shim_rule){.pass = 1}, &error), error);
    CHECK_INT(run_boxed(s,
                        "date +%T; tool add 5 x; echo $?; date +%T; echo a needle | tool cat;"
                        "printf 'b\\na\\n' | sort",
                        &out),
              0);
    CHECK_TEXT(buf_text(&out), "00:00:00\nadded\n3\n00:01:00\na needle\na\nb\ncareful\n");
    CHECK_INT(
        vitro_shim_reply(s, "tool",
                         &(struct vitro_shim_rule){.args = (const char *const[]){"regex:(", NULL}},
                         &error),
        -EINVAL);
    CHECK_OK(vitro_sandbox_close(s, &error), error);
}

static bool has_text(const char *const *list, const char *text)
{
    for (; *list; list++)
        if (strcmp(*list, text) == 0)
            return true;
    return false;
}

TEST(rules_in_c_look_at_environment_directory_and_places_and_write_files)
{
    vitro_sandbox *s = open_here("more");
    struct vitro_box_error error = {0};
    struct vitro_shim_call call;
    CLEANUP(buf_done) struct buf out = {0};
    const struct vitro_shim_rule rules[] = {
        {.env = (const char *const[]){"X=glob:o*", "Y", NULL}, .output = "env\n"},
        {.cwd = "glob:*/deep", .output = "cwd\n"},
        {.args = (const char *const[]){"--two", "glob:a*", NULL}, .subset = 1, .output = "set\n"},
        {.args = (const char *const[]){"make", NULL}, .write_path = "made", .write = "by a shim"},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(rules); i++)
        CHECK_OK(vitro_shim_reply(s, "tool", &rules[i], &error), error);
    CHECK_INT(run_boxed(s,
                        "X=one tool; X=one Y=1 tool abc --two; mkdir deep; (cd deep; tool);"
                        "tool make; cat made",
                        &out),
              0);
    CHECK_TEXT(buf_text(&out), "env\nset\ncwd\nby a shim");
    CHECK_OK(vitro_shim_call(s, "tool", 1, &call, &error), error);
    CHECK_TRUE(has_text(call.env, "X=one") && has_text(call.env, "Y=1"));
    CHECK_TRUE(call.pid > 0);
    CHECK_OK(vitro_sandbox_close(s, &error), error);
}

TEST(a_command_is_recorded_and_replayed_from_c)
{
    struct vitro_box_error error = {0};
    CLEANUP(buf_done) struct buf first = {0}, again = {0};

    unsetenv("CI");
    vitro_sandbox *s = open_here("record");
    CHECK_OK(vitro_shim_record(s, "sort", tmp_path("sort.tape"), &error), error);
    CHECK_INT(run_boxed(s, "printf 'b\\na\\n' | sort", &first), 0);
    CHECK_OK(vitro_sandbox_close(s, &error), error);
    CHECK_TEXT(buf_text(&first), "a\nb\n");
    s = open_here("replay");
    CHECK_OK(vitro_shim_replay(s, "sort", tmp_path("sort.tape"), &error), error);
    CHECK_INT(vitro_shim_replay(s, "uniq", tmp_path("sort.tape"), &error), -ENOENT);
    CHECK_INT(run_boxed(s, "printf 'b\\na\\n' | sort", &again), 0);
    CHECK_TEXT(buf_text(&again), "a\nb\n");
    CHECK_OK(vitro_sandbox_close(s, &error), error);
    s = open_here("unused");
    CHECK_OK(vitro_shim_replay(s, "sort", tmp_path("sort.tape"), &error), error);
    CHECK_INT(vitro_sandbox_close(s, &error), -EPROTO);
    s = open_here("ci");
    setenv("CI", "1", 1);
    CHECK_INT(vitro_shim_record(s, "sort", tmp_path("ci.tape"), &error), -EPERM);
    unsetenv("CI");
    CHECK_OK(vitro_sandbox_close(s, &error), error);
}

TEST(closing_tells_calls_without_an_answer_and_plans_that_were_not_met)
{
    vitro_sandbox *s = open_here("plans");
    struct vitro_box_error error = {0};
    CLEANUP(buf_done) struct buf out = {0};

    CHECK_OK(vitro_shim_reply(s, "git",
                              &(struct vitro_shim_rule){.args = (const char *const[]){"push", NULL},
                                                        .planned = 1},
                              &error),
             error);
    CHECK_INT(run_boxed(s, "git pull", &out), 122);
    CHECK_INT(vitro_sandbox_close(s, &error), -EPROTO);
    CHECK_HAS(error.text, "shim: git pull: no rule answers this call");
    CHECK_HAS(error.text, "shim: git push: expected 1 call, got 0");
}

TEST(tmux_from_c)
{
    vitro_sandbox *s = open_here("tmux");
    struct vitro_box_error error = {0};
    CLEANUP(mem_free) char *out = NULL;

    if (vitro_tmux_try(s, (const char *const[]){"-V", NULL}, NULL, &error) == -ENOENT) {
        (void)vitro_sandbox_close(s, NULL);
        SKIP("tmux is not installed");
    }
    CHECK_OK(
        vitro_tmux(s, (const char *const[]){"new-session", "-d", "-s", "one", NULL}, NULL, &error),
        error);
    CHECK_OK(
        vitro_tmux(s, (const char *const[]){"ls", "-F", "#{session_name}", NULL}, &out, &error),
        error);
    CHECK_TEXT(out, "one");
    CHECK_INT(
        vitro_tmux(s, (const char *const[]){"kill-session", "-t", "none", NULL}, NULL, &error),
        -EPROTO);
    CHECK_HAS(error.text, "tmux kill-session exited with 1: can't find session: none");
    CHECK_HAS(vitro_tmux_socket(s), "/tmux/tmux.sock");
    CHECK_OK(vitro_sandbox_close(s, &error), error);
}

TEST(a_pane_is_a_screen)
{
    vitro_sandbox *s = open_here("pane");
    struct vitro_box_error error = {0};
    CLEANUP(mem_free) char *out = NULL;

    if (vitro_tmux_try(s, (const char *const[]){"-V", NULL}, &out, &error) != 0) {
        (void)vitro_sandbox_close(s, NULL);
        SKIP("tmux");
    }
    CLEANUP(mem_free) char *made = NULL;
    CHECK_OK(vitro_tmux(s,
                        (const char *const[]){
                            "new-session", "-d", "-x", "40", "-y", "5", "-s", "a",
                            "printf '\\033]2;t\\007\\033[1;31mred\\n\\033[0m\\033(0lqk\\033(Bx'; "
                            "tmux -S \"${TMUX%%,*}\" wait-for -S done; cat",
                            NULL},
                        &made, &error),
             error);
    CLEANUP(mem_free) char *waited = NULL;
    CHECK_OK(vitro_tmux(s, (const char *const[]){"wait-for", "done", NULL}, &waited, &error),
             error);
    vitro_term *pane = vitro_tmux_pane(s, "a", &error);
    if (!pane)
        check_fail(__FILE__, __LINE__, "%s", error.text);
    struct vitro_term_state state;
    vitro_term_state(pane, &state);
    CHECK_INT(state.rows, 5);
    CHECK_INT(state.cols, 40);
    CHECK_TEXT(state.title, "t");
    CHECK_INT(vitro_see(pane, "red", .row = 1, .style = "bold fg=red"), 0);
    CHECK_INT(vitro_see(pane, "\u250c\u2500\u2510x", .row = 2, .style = "plain"), 0);
    CHECK_INT(vitro_see(pane, "green"), -ENOMSG);
    CHECK_HAS(vitro_term_failure(pane)->text, "the screen shows \"green\": it does not\n");
    CHECK_TRUE(vitro_type(pane, "x") < 0);
    vitro_term_close(pane);
    CHECK_TRUE(vitro_tmux_pane(s, "none", &error) == NULL);
    CHECK_HAS(error.text, "tmux has no pane 'none'");
    CHECK_OK(vitro_sandbox_close(s, &error), error);
    CHECK_TRUE(vitro_term_still(5000, 80, "", 0, &error) == NULL);
}

TEST(a_null_sandbox_closes)
{
    CHECK_INT(vitro_sandbox_close(NULL, NULL), 0);
}

TEST(no_sandbox_no_crash)
{
    struct vitro_box_error error = {0};

    CHECK_INT(vitro_sandbox_begin(NULL, &error), -EINVAL);
    CHECK_HAS(error.text, "there is no sandbox");
    CHECK_HAS(error.text, "vitro_sandbox_open");
    CHECK_TRUE(!vitro_sandbox_spawn(NULL, NULL, shell("true"), NULL));
    CHECK_INT(vitro_sandbox_write(NULL, "a", "b", 1, NULL), -EINVAL);
    CHECK_INT(vitro_shim_success(NULL, "gh", NULL, NULL), -EINVAL);
    CHECK_INT(vitro_shim_call_count(NULL, "gh", NULL), -EINVAL);
    CHECK_INT(vitro_tmux(NULL, NULL, NULL, NULL), -EINVAL);
    CHECK_TEXT(vitro_sandbox_root(NULL), "");
    vitro_sandbox *s = open_here("misused");
    CHECK_INT(vitro_sandbox_env_set(s, NULL, "x", &error), -EINVAL);
    CHECK_HAS(error.text, "no name was given");
    CHECK_INT(vitro_sandbox_write(s, NULL, "x", 1, &error), -EINVAL);
    CHECK_INT(vitro_shim_reply(s, "gh", NULL, &error), -EINVAL);
    CHECK_HAS(error.text, "shim 'gh': no rule was given");
    CHECK_INT(vitro_shim_never_called(s, NULL, NULL, &error), -EINVAL);
    CHECK_HAS(error.text, "no command was given");
    CHECK_INT(vitro_shim_replay(s, "gh", NULL, &error), -EINVAL);
    CHECK_INT(vitro_tmux_try(s, NULL, NULL, &error), -EINVAL);
    CHECK_OK(vitro_sandbox_close(s, &error), error);
}
