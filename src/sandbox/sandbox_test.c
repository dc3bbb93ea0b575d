/* SPDX-License-Identifier: MIT */
#include "sandbox/sandbox_internal.h"
#include "sandbox/shim.h"
#include "lib/check.h"
#include "vitro/box.h"
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static struct sandbox *open_named(const char *name)
{
    struct sandbox *sandbox = NULL;
    struct err err = {0};

    CHECK_OK(sandbox_open(&(struct sandbox_options){.name = name, .base = tmp_path("base")},
                          &sandbox, &err),
             err);
    return sandbox;
}

/* A shell in the sandbox, without a box; its status, output and errors in `ret`. */
static int shell_input(struct sandbox *sandbox, const char *script, const char *input,
                       struct buf *ret)
{
    const char *const argv[] = {"sh", "-c", script, NULL};
    CLEANUP(fd_close) int out = memfd_create("out", MFD_CLOEXEC);
    CLEANUP(fd_close) int in = memfd_create("in", MFD_CLOEXEC);
    posix_spawn_file_actions_t actions;
    struct err err = {0};
    int status = 0;
    pid_t pid;

    CHECK_OK(shim_flush(sandbox, &err), err);
    CHECK_INT(fd_write_full(in, input, strlen(input)), 0);
    (void)lseek(in, 0, SEEK_SET);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in, 0);
    posix_spawn_file_actions_adddup2(&actions, out, 1);
    posix_spawn_file_actions_adddup2(&actions, out, 2);
    posix_spawn_file_actions_addchdir_np(&actions, sandbox->work);
    CHECK_INT(posix_spawn(&pid, "/bin/sh", &actions, NULL, (char *const *)argv, sandbox->env), 0);
    posix_spawn_file_actions_destroy(&actions);
    CHECK_INT(waitpid(pid, &status, 0), pid);
    (void)lseek(out, 0, SEEK_SET);
    buf_clear(ret);
    CHECK_INT(fd_read_all(out, ret, 1 << 20), 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int shell(struct sandbox *sandbox, const char *script, struct buf *ret)
{
    return shell_input(sandbox, script, "", ret);
}

static json_t *json_of(const char *text)
{
    struct err err = {0};
    json_t *value = NULL;

    CHECK_OK(json_parse(text, strlen(text), "test", &value, &err), err);
    return value;
}

static void add_rule(struct sandbox *sandbox, const char *name, const char *rule)
{
    struct err err = {0};

    CHECK_OK(shim_add_rule(sandbox, name, json_of(rule), &err), err);
}

/* Ended, whether or not its parent has noticed. */
static bool is_gone(pid_t pid)
{
    CLEANUP(mem_free) char *path = mem_format("/proc/%d/environ", (int)pid);
    CLEANUP(buf_done) struct buf environment = {0};

    return file_read(path, 1 << 20, &environment, NULL) < 0 || !environment.length;
}

TEST(the_environment_is_made_from_nothing)
{
    setenv("TMUX", "/tmp/mine,1,0", 1);
    setenv("GIT_DIR", "/repo/.git", 1);
    setenv("SECRET_TOKEN", "x", 1);
    CLEANUP(sandbox_free) struct sandbox *sandbox = open_named("env");
    CLEANUP(buf_done) struct buf out = {0};

    CHECK_INT(shell(sandbox, "env; ls -a ~", &out), 0);
    CHECK_TRUE(!strstr(out.data, "TMUX="));
    CHECK_TRUE(!strstr(out.data, "GIT_DIR"));
    CHECK_TRUE(!strstr(out.data, "SECRET"));
    CHECK_HAS(out.data, "/base/env/home");
    CHECK_HAS(out.data, "XDG_CONFIG_HOME=");
    CHECK_HAS(out.data, "TERM=dumb");
    CHECK_HAS(out.data, "NO_COLOR=1");
    CHECK_HAS(out.data, ".config");
    for (size_t i = 0; i < 5; i++)
        setenv((const char *const[]){"LANG", "LC_ALL", "SHELL", "GOCACHE", "GOMODCACHE"}[i], "C",
               1);
    CLEANUP(sandbox_free) struct sandbox *exact = open_named("exact");
    CLEANUP(buf_done) struct buf names = {0};
    for (size_t i = 0; exact->env[i]; i++)
        buf_addf(&names, "%.*s ", (int)strcspn(exact->env[i], "="), exact->env[i]);
    CHECK_TEXT(buf_text(&names),
               "HOME XDG_CONFIG_HOME XDG_STATE_HOME XDG_DATA_HOME XDG_CACHE_HOME XDG_RUNTIME_DIR "
               "PATH TMPDIR TERM NO_COLOR TMUX_TMPDIR VITRO_SANDBOX LANG LC_ALL SHELL GOCACHE "
               "GOMODCACHE ");
}

TEST(the_same_name_gives_the_same_paths_and_a_living_one_is_left_alone)
{
    struct sandbox *first = open_named("same");
    CLEANUP(mem_free) char *root = mem_dup(first->root);
    CLEANUP(sandbox_free) struct sandbox *second = open_named("same");

    CHECK_HAS(second->root, "same-2");
    CHECK_TRUE(file_exists(root));
    sandbox_free(first);
    CHECK_TRUE(!file_exists(root));
    CLEANUP(sandbox_free) struct sandbox *third = open_named("same");
    CHECK_TEXT(third->root, root);
}

TEST(paths_out_of_the_sandbox_are_refused)
{
    CLEANUP(sandbox_free) struct sandbox *sandbox = open_named("guard");
    CLEANUP(mem_free) char *link_path = mem_format("%s/out", sandbox->work);
    CLEANUP(mem_free) char *path = NULL;
    struct err err = {0};

    CHECK_INT(symlink("/etc", link_path), 0);
    CHECK_INT(sandbox_path(sandbox, "/etc/passwd", &path, &err), -EPERM);
    CHECK_HAS(err.text, "'/etc/passwd' is not in the sandbox");
    CHECK_INT(sandbox_path(sandbox, "../../../x", &path, &err), -EPERM);
    CHECK_INT(sandbox_path(sandbox, "out/passwd", &path, &err), -EPERM);
    CHECK_INT(sandbox_path(sandbox, "out/new/file", &path, &err), -EPERM);
    CHECK_INT(sandbox_path(sandbox, "no/../../../../etc", &path, &err), -EPERM);
    CHECK_INT(sandbox_write(sandbox, "out/x", "x", 1, &err), -EPERM);
    CHECK_INT(sandbox_remove(sandbox, "~", &err), -EPERM);
    CHECK_INT(sandbox_remove(sandbox, "..", &err), -EPERM);
    CHECK_OK(sandbox_write(sandbox, "a/b/c", "x", 1, &err), err);
    CLEANUP(mem_free) char *link = mem_format("%s/link", sandbox->work);
    CHECK_INT(symlink("a", link), 0);
    CHECK_OK(sandbox_remove(sandbox, "link", &err), err); /* the link, not where it leads */
    CHECK_TRUE(access(link, F_OK) < 0);
    CLEANUP(mem_free) char *kept = mem_format("%s/a/b/c", sandbox->work);
    CHECK_TRUE(file_exists(kept));
    CHECK_OK(sandbox_path(sandbox, "~/.config/app", &path, &err), err);
    CHECK_HAS(path, "/base/guard/home/.config/app");
}

TEST(a_root_that_would_hold_the_home_is_refused)
{
    CLEANUP(mem_free) char *home = mem_format("%s/me/home", tmp_path("base2"));
    struct sandbox *sandbox = NULL;
    struct err err = {0};
    CLEANUP(mem_free) char *old = mem_dup(getenv("HOME"));

    CHECK_OK(dir_make_all(home, &err), err);
    CHECK_INT(chmod(tmp_path("base2"), 0700), 0);
    setenv("HOME", home, 1);
    CHECK_INT(sandbox_open(&(struct sandbox_options){.name = "me", .base = tmp_path("base2")},
                           &sandbox, &err),
              -EPERM);
    CHECK_HAS(err.text, "would hold the home directory");
    CHECK_TRUE(file_exists(home));
    if (old)
        setenv("HOME", old, 1);
}

TEST(a_shared_base_is_refused)
{
    struct sandbox *sandbox = NULL;
    struct err err = {0};

    CHECK_OK(dir_make_all(tmp_path("open"), &err), err);
    CHECK_INT(chmod(tmp_path("open"), 0777), 0);
    CHECK_INT(sandbox_open(&(struct sandbox_options){.base = tmp_path("open")}, &sandbox, &err),
              -EPERM);
    CHECK_HAS(err.text, "only you can write to");
}

TEST(a_process_that_stays_is_a_leak_and_is_gone_afterwards)
{
    struct sandbox *sandbox = open_named("leak");
    struct sandbox_leaks leaks = {0};
    CLEANUP(buf_done) struct buf out = {0};
    struct err err = {0};

    CHECK_INT(shell(sandbox, "setsid sh -c 'exec sleep 1000' >/dev/null 2>&1 & echo $!", &out), 0);
    pid_t pid = (pid_t)atoi(out.data);
    /* The process is there before the sandbox closes, and calls itself sleep. */
    CLEANUP(mem_free) char *comm = mem_format("/proc/%d/comm", (int)pid);
    do {
        buf_clear(&out);
        CHECK_OK(file_read(comm, 100, &out, &err), err);
    } while (strcmp(buf_text(&out), "sleep\n") != 0);
    CHECK_OK(sandbox_close(sandbox, &leaks, &err), err);
    CHECK_INT(leaks.count, 1);
    CHECK_TEXT(buf_text(&leaks.text), "sleep 1000\n");
    CHECK_TRUE(is_gone(pid));
    sandbox_leaks_done(&leaks);
}

TEST(what_a_killed_owner_left_is_cleared_away)
{
    int ready[2];
    char byte;

    CHECK_INT(pipe2(ready, O_CLOEXEC), 0);
    pid_t owner = fork();
    if (owner == 0) {
        struct sandbox *sandbox = open_named("dead");
        CLEANUP(buf_done) struct buf out = {0};
        (void)shell(sandbox, "setsid sleep 1000 >/dev/null 2>&1 & echo $! >pid", &out);
        (void)!write(ready[1], "x", 1);
        (void)pause();
        _exit(0);
    }
    CHECK_INT(read(ready[0], &byte, 1), 1);
    CLEANUP(mem_free) char *root = mem_format("%s/dead", tmp_path("base"));
    CLEANUP(mem_free) char *pid_file = mem_format("%s/work/pid", root);
    CLEANUP(buf_done) struct buf text = {0};
    CLEANUP(buf_done) struct buf swept = {0};
    struct err err = {0};
    CHECK_OK(file_read(pid_file, 100, &text, &err), err);
    CHECK_INT(sandbox_sweep(tmp_path("base"), false, NULL, &err), 0); /* the owner lives */
    CHECK_TRUE(file_exists(root));
    CHECK_INT(kill(owner, SIGKILL), 0);
    CHECK_INT(waitpid(owner, NULL, 0), owner);
    CHECK_INT(sandbox_sweep(tmp_path("base"), true, &swept, &err), 1);
    CHECK_HAS(buf_text(&swept), "/base/dead");
    CHECK_TRUE(file_exists(root));
    CHECK_INT(sandbox_sweep(tmp_path("base"), false, NULL, &err), 1);
    CHECK_TRUE(!file_exists(root));
    CHECK_TRUE(is_gone((pid_t)atoi(text.data)));
    close(ready[0]);
    close(ready[1]);
}

TEST(a_quota_is_kept)
{
    struct sandbox *sandbox = NULL;
    struct err err = {0};
    uint64_t bytes;

    CHECK_OK(sandbox_open(&(struct sandbox_options){.name = "quota",
                                                    .base = tmp_path("base"),
                                                    .quota_bytes = 100},
                          &sandbox, &err),
             err);
    CHECK_OK(sandbox_check_quota(sandbox, &bytes, &err), err);
    CHECK_INT(bytes, 0);
    CHECK_OK(sandbox_write(sandbox, "big", tmp_path("x"), 1, &err), err);
    CLEANUP(mem_free) char *big = mem_format("%s/big", sandbox->work);
    CHECK_INT(truncate(big, 101), 0);
    CHECK_INT(sandbox_check_quota(sandbox, &bytes, &err), -EDQUOT);
    CHECK_HAS(err.text, "holds 101 bytes, more than its quota of 100");
    sandbox_free(sandbox);
}

TEST(a_build_runs_once_for_all_processes)
{
    const char *log = tmp_path("build-log");
    CLEANUP(mem_free) char *script = mem_format("echo built >>%s", log);
    const char *const argv[] = {"sh", "-c", script, NULL};
    struct sandbox_build build = {
        .base = tmp_path("base"), .key = "k", .stamp = "suite 1", .argv = argv};
    pid_t children[8];
    CLEANUP(buf_done) struct buf text = {0};
    struct err err = {0};
    bool ran;

    for (size_t i = 0; i < ARRAY_LENGTH(children); i++)
        if ((children[i] = fork()) == 0)
            _exit(sandbox_build_once(&build, &ran, NULL) == 0 ? 0 : 1);
    for (size_t i = 0; i < ARRAY_LENGTH(children); i++) {
        int status;
        CHECK_INT(waitpid(children[i], &status, 0), children[i]);
        CHECK_INT(status, 0);
    }
    CHECK_OK(file_read(log, 1000, &text, &err), err);
    CHECK_TEXT(buf_text(&text), "built\n");
    build.stamp = "suite 2";
    CHECK_OK(sandbox_build_once(&build, &ran, &err), err);
    CHECK_TRUE(ran);
    CHECK_OK(sandbox_build_once(&build, &ran, &err), err);
    CHECK_TRUE(!ran);
}

TEST(a_build_that_fails_tells_its_output_and_is_tried_again)
{
    const char *const argv[] = {"sh", "-c", "echo no such header; exit 3", NULL};
    struct sandbox_build build = {.base = tmp_path("base"), .key = "bad", .argv = argv};
    struct err err = {0};
    bool ran;

    for (int i = 0; i < 2; i++) {
        CHECK_INT(sandbox_build_once(&build, &ran, &err), -ENOEXEC);
        CHECK_TRUE(ran);
        CHECK_HAS(err.text, "(exit 3)\nno such header");
    }
}

TEST(a_shim_without_rules_succeeds_and_notes_the_call)
{
    CLEANUP(sandbox_free) struct sandbox *sandbox = open_named("plain");
    CLEANUP(shim_log_done) struct shim_log log = {0};
    CLEANUP(buf_done) struct buf out = {0};
    struct err err = {0};

    CHECK_OK(shim_install(sandbox, "gh", &err), err);
    CHECK_INT(shell_input(sandbox, "gh issue create --title 'two words' '*'", "body text", &out),
              0);
    CHECK_TEXT(buf_text(&out), "");
    CHECK_OK(shim_log_read(sandbox, &log, &err), err);
    const json_t *call = shim_call_at(&log, "gh", 0);
    CHECK_INT(json_array_size(json_object_get(call, "argv")), 6);
    CHECK_TEXT(json_string_value(json_array_get(json_object_get(call, "argv"), 4)), "two words");
    CHECK_TEXT(json_string_value(json_object_get(call, "stdin")), "body text");
    CHECK_TEXT(json_string_value(json_object_get(call, "cwd")), sandbox->work);
    CHECK_TEXT(json_string_value(json_object_get(json_object_get(call, "env"), "HOME")),
               sandbox->home);
    CHECK_INT(shim_call_count(&log, "gh"), 1);
    CHECK_TRUE(shim_call_with(&log, "gh", (const char *const[]){"issue", "two wo", NULL}) == call);
    CHECK_TRUE(!shim_call_with(&log, "gh", (const char *const[]){"issue", "list", NULL}));
}

TEST(rules_answer_in_order_and_the_last_answer_stays)
{
    CLEANUP(sandbox_free) struct sandbox *sandbox = open_named("order");
    CLEANUP(buf_done) struct buf out = {0};

    add_rule(sandbox, "gh",
             "{\"match\":{\"args\":[\"pr\",\"...\"]},\"label\":\"pr ...\",\"answers\":["
             "{\"steps\":[{\"stdout\":\"one\\n\"}]},"
             "{\"steps\":[{\"stderr\":\"two\\n\"},{\"stdout\":\"and\\n\"}],\"exit\":4},"
             "{\"signal\":15}]}");
    CHECK_INT(
        shell(sandbox, "gh pr; gh pr list; echo $?; gh pr 2>/dev/null; echo $?; gh pr x", &out),
        128 + 15);
    CHECK_HAS(buf_text(&out), "one\ntwo\nand\n4\n");
    CHECK_HAS(buf_text(&out), "143\n");
}

TEST(a_call_that_no_rule_answers_fails_and_names_the_closest)
{
    CLEANUP(sandbox_free) struct sandbox *sandbox = open_named("unmatched");
    CLEANUP(buf_done) struct buf out = {0};
    CLEANUP(buf_done) struct buf told = {0};
    struct err err = {0};
    size_t count;

    add_rule(sandbox, "gh",
             "{\"match\":{\"args\":[\"issue\",\"create\"]},\"label\":\"issue create\"}");
    add_rule(sandbox, "gh", "{\"match\":{\"args\":[\"pr\"]},\"label\":\"pr\"}");
    CHECK_INT(shell(sandbox, "gh issue creat", &out), 122);
    CHECK_HAS(buf_text(&out), "gh has no answer for this call (unmatched)");
    CHECK_HAS(buf_text(&out), "the closest rule is: issue create\nargument 2: wants create");
    CHECK_OK(shim_verify(sandbox, &told, &count, &err), err);
    CHECK_INT(count, 1);
    CHECK_HAS(buf_text(&told), "shim: gh issue creat: no rule answers this call");
}

TEST(plans_are_counted_and_ordered)
{
    CLEANUP(sandbox_free) struct sandbox *sandbox = open_named("plans");
    CLEANUP(buf_done) struct buf out = {0};
    CLEANUP(buf_done) struct buf told = {0};
    struct err err = {0};
    size_t count;

    add_rule(sandbox, "git",
             "{\"match\":{\"args\":[\"add\"]},\"label\":\"add\",\"kind\":\"plan\"}");
    add_rule(
        sandbox, "git",
        "{\"match\":{\"args\":[\"commit\"]},\"label\":\"commit\",\"kind\":\"plan\",\"times\":2}");
    CHECK_INT(shell(sandbox, "git commit", &out), 122);
    CHECK_HAS(buf_text(&out), "(out_of_order)\nthis call comes first: add");
    CHECK_INT(shell(sandbox, "git add && git commit", &out), 0);
    CHECK_INT(shell(sandbox, "git add", &out), 122);
    CHECK_HAS(buf_text(&out), "(too_many)");
    CHECK_OK(shim_verify(sandbox, &told, &count, &err), err);
    CHECK_INT(count, 3);
    CHECK_HAS(buf_text(&told), "shim: git commit: called out of order");
    CHECK_HAS(buf_text(&told), "shim: git add: called too often");
    CHECK_HAS(buf_text(&told), "shim: git commit: expected 2 calls, got 1\n  call 1  git commit");
}

TEST(answers_write_files_run_handlers_and_print_the_environment)
{
    CLEANUP(sandbox_free) struct sandbox *sandbox = open_named("effects");
    CLEANUP(buf_done) struct buf out = {0};

    add_rule(sandbox, "tool",
             "{\"match\":{\"args\":[\"write\"]},\"answers\":[{\"steps\":[{\"write\":"
             "{\"path\":\"deep/file\",\"bytes\":{\"hex\":\"00ff0a\"}}}]}]}");
    add_rule(sandbox, "tool",
             "{\"match\":{\"args\":[\"run\",\"...\"]},\"answers\":[{\"steps\":[{\"run\":"
             "[\"sh\",\"-c\",\"echo handler: $*; cat; exit 7\",\"x\"]}]}]}");
    add_rule(sandbox, "tool",
             "{\"match\":{\"args\":[\"env\"]},\"answers\":[{\"steps\":[{\"env\":true}]}]}");
    CHECK_INT(shell(sandbox, "tool write; od -An -tx1 deep/file", &out), 0);
    CHECK_TEXT(buf_text(&out), " 00 ff 0a\n");
    CHECK_INT(shell_input(sandbox, "tool run 'a b'", "input\n", &out), 7);
    CHECK_TEXT(buf_text(&out), "handler: run a b\ninput\n");
    CHECK_INT(shell(sandbox, "X=1 tool env | grep -c ^X=1", &out), 0);
}

TEST(a_spy_passes_the_call_on_with_its_input)
{
    CLEANUP(sandbox_free) struct sandbox *sandbox = open_named("spy");
    CLEANUP(shim_log_done) struct shim_log log = {0};
    CLEANUP(buf_done) struct buf out = {0};
    struct err err = {0};

    CHECK_OK(shim_add_rule(sandbox, "sort", shim_rule_any("", json_of("{\"pass\":true}")), &err),
             err);
    CHECK_INT(shell_input(sandbox, "sort -r", "a\nb\n", &out), 0);
    CHECK_TEXT(buf_text(&out), "b\na\n");
    CHECK_INT(shell(sandbox, "sort --no-such-option 2>/dev/null", &out), 2);
    CHECK_OK(shim_log_read(sandbox, &log, &err), err);
    CHECK_TEXT(json_string_value(json_object_get(shim_call_at(&log, "sort", 0), "stdin")),
               "a\nb\n");
    CHECK_INT(json_integer_value(json_object_get(shim_call_at(&log, "sort", 0), "exit")), 0);
    CHECK_INT(json_integer_value(json_object_get(shim_call_at(&log, "sort", 1), "exit")), 2);
}

TEST(calls_at_the_same_time_are_all_noted_once)
{
    CLEANUP(sandbox_free) struct sandbox *sandbox = open_named("many");
    CLEANUP(shim_log_done) struct shim_log log = {0};
    CLEANUP(buf_done) struct buf out = {0};
    struct err err = {0};

    add_rule(sandbox, "n", "{\"match\":{},\"times\":60,\"label\":\"any\"}");
    CHECK_INT(shell(sandbox, "for i in $(seq 60); do n $i & done; wait; n last", &out), 122);
    CHECK_OK(shim_log_read(sandbox, &log, &err), err);
    CHECK_INT(shim_call_count(&log, "n"), 61);
    for (size_t i = 0; i < 61; i++)
        CHECK_INT(json_integer_value(json_object_get(shim_call_at(&log, "n", i), "call")), i + 1);
}

TEST(a_wrong_rule_is_refused_when_it_is_added)
{
    CLEANUP(sandbox_free) struct sandbox *sandbox = open_named("wrong");
    struct err err = {0};

    CHECK_INT(shim_add_rule(sandbox, "x", json_of("{\"match\":{\"argz\":[]}}"), &err), -EINVAL);
    CHECK_HAS(err.text, "shim 'x': match.argz is not known");
    CHECK_INT(shim_add_rule(sandbox, "x",
                            json_of("{\"match\":{},\"answers\":[{\"steps\":[{\"print\":1}]}]}"),
                            &err),
              -EINVAL);
    CHECK_HAS(err.text, "step 1 of an answer is not known");
    CHECK_INT(shim_install(sandbox, "a/b", &err), -EINVAL);
    CHECK_INT(shim_install(sandbox, "..", &err), -EINVAL);
}

TEST(in_a_box_a_shim_keeps_virtual_time)
{
    CLEANUP(sandbox_free) struct sandbox *sandbox = open_named("boxed");
    CLEANUP(shim_log_done) struct shim_log log = {0};
    static const char *const argv[] = {"sh", "-c", "date +%T; slow; date +%T; slow", NULL};
    struct vitro_box_findings findings;
    struct vitro_box_error error = {0};
    struct err err = {0};

    add_rule(sandbox, "slow",
             "{\"match\":{},\"answers\":[{\"steps\":[{\"delay_ns\":3600000000000},"
             "{\"stdout\":\"done\\n\"}]}]}");
    CHECK_OK(shim_flush(sandbox, &err), err);
    vitro_box *box = vitro_box_spawn(
        &(struct vitro_box_options){.argv = argv,
                                    .envp = (const char *const *)sandbox->env,
                                    .directory = sandbox->work,
                                    .worktree = sandbox->work,
                                    .writable = (const char *const[]){sandbox->root, NULL},
                                    .capture_output = 1},
        &error);
    if (!box)
        SKIP(error.text);
    CHECK_OK(vitro_box_wait(box, &findings, &error), error);
    CHECK_TEXT(findings.error_output, "");
    CHECK_TEXT(findings.output, "00:00:00\ndone\n01:00:00\ndone\n");
    CHECK_INT(findings.exit_code, 0);
    CHECK_OK(shim_log_read(sandbox, &log, &err), err);
    CHECK_INT(json_integer_value(json_object_get(shim_call_at(&log, "slow", 1), "time_ns")),
              INT64_C(1767229200000000000));
    vitro_box_free(box);
}

TEST(tmux_runs_on_a_socket_of_its_own_and_is_gone_afterwards)
{
    struct sandbox *sandbox = open_named("tmux");
    CLEANUP(buf_done) struct buf out = {0};
    struct sandbox_leaks leaks = {0};
    struct err err = {0};

    int r = sandbox_tmux(sandbox, (const char *const[]){"-V", NULL}, &out, &err);
    if (r == -ENOENT) {
        sandbox_free(sandbox);
        SKIP("tmux is not installed");
    }
    CHECK_INT(sandbox_tmux(sandbox, (const char *const[]){"-L", "default", "ls", NULL}, &out, &err),
              -EPERM);
    CHECK_OK(sandbox_tmux_install(sandbox, &err), err);
    /* The program asks for another socket, and gets ours. */
    CHECK_INT(shell(sandbox, "tmux -L mine new-session -d -s deck -x 60 -y 20", &out), 0);
    buf_clear(&out);
    CHECK_INT(sandbox_tmux(sandbox,
                           (const char *const[]){"ls", "-F", "#{session_name} #{pid}", NULL}, &out,
                           &err),
              0);
    CHECK_HAS(buf_text(&out), "deck ");
    pid_t server = (pid_t)atoi(out.data + 5);
    CHECK_INT(kill(server, 0), 0);
    CHECK_OK(sandbox_close(sandbox, &leaks, &err), err);
    CHECK_TEXT(buf_text(&leaks.text), "");
    CHECK_TRUE(is_gone(server));
    sandbox_leaks_done(&leaks);
}

TEST(a_process_is_found_also_while_it_executes)
{
    const char *program = tmp_file("again", "#!/bin/sh\nexec \"$0\"\n");
    CLEANUP(mem_free) char *mark = mem_format(SANDBOX_MARK "%s", program);
    char *const argv[] = {(char *)program, NULL}, *const env[] = {mark, NULL};
    pid_t pid;
    int missed = 0;

    CHECK_INT(chmod(program, 0755), 0);
    CHECK_INT(posix_spawn(&pid, program, NULL, NULL, argv, env), 0);
    for (int i = 0; i < 300; i++) {
        struct sandbox_process *found = NULL;
        size_t count = sandbox_find(program, false, &found);
        missed += count == 0;
        sandbox_found_free(found, count);
    }
    CHECK_INT(kill(pid, SIGKILL), 0);
    CHECK_INT(waitpid(pid, NULL, 0), pid);
    CHECK_INT(missed, 0);
}

TEST(the_same_path_behind_other_mounts_is_another_sandbox)
{
    CLEANUP(mem_free) char *root = mem_dup(tmp_path("place"));
    CLEANUP(mem_free) char *mark = mem_format(SANDBOX_MARK "%s", root);
    char *const argv[] = {"cat", NULL}, *const env[] = {mark, NULL};
    int in[2], ready[2];
    char said = 0;
    struct sandbox_process *found = NULL;

    CHECK_INT(mkdir(root, 0700), 0);
    CHECK_INT(pipe2(in, O_CLOEXEC), 0);
    CHECK_INT(pipe2(ready, 0), 0);
    pid_t pid = fork();
    if (pid == 0) {
        if ((unshare(CLONE_NEWNS) < 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0) ||
            mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
            mount("none", root, "tmpfs", 0, NULL) < 0)
            _exit(77);
        (void)dup2(in[0], 0);
        (void)!write(ready[1], "x", 1);
        (void)fcntl(ready[1], F_SETFD, FD_CLOEXEC);
        execve("/bin/cat", argv, env);
        _exit(1);
    }
    close(in[0]);
    close(ready[1]);
    CHECK_TRUE(read(ready[0], &said, 1) >= 0);
    char rest;
    CHECK_INT(read(ready[0], &rest, 1), 0); /* it executes */
    size_t count = sandbox_find(root, false, &found);
    sandbox_found_free(found, count);
    close(in[1]);
    int status = 0;
    CHECK_INT(waitpid(pid, &status, 0), pid);
    close(ready[0]);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        SKIP("namespaces");
    CHECK_INT(count, 0);
}
