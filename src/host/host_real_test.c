/* SPDX-License-Identifier: MIT */
#include "vitro/host.h"
#include "lib/check.h"
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

/* A directory of the test's own, and this process in it. */
static void go_to(const char *name)
{
    const char *path = tmp_path(name);

    CHECK_INT(dir_make_all(path, NULL), 0);
    CHECK_INT(chdir(path), 0);
}

static const char *const *sh(const char *script)
{
    static const char *argv[] = {"sh", "-c", NULL, NULL};

    argv[2] = script;
    return argv;
}

TEST(a_real_host_reads_writes_and_lists_real_files)
{
    struct vitro_host_error error = {0};
    struct vitro_host *host = vitro_host_real(NULL, &error);
    struct vitro_fs_stat stat;
    char *text, **list;

    go_to("files");
    CHECK_OK(vitro_fs_make_dir(host->fs, "deep/er", &error), error);
    CHECK_OK(vitro_fs_write(host->fs, "deep/file", "one", 3, &error), error);
    CHECK_OK(vitro_fs_append(host->fs, "deep/file", "+two", 4, &error), error);
    CHECK_OK(vitro_fs_read(host->fs, "deep/file", &text, NULL, &error), error);
    CHECK_TEXT(text, "one+two");
    free(text);
    CHECK_OK(vitro_fs_list(host->fs, "deep", &list, &error), error);
    CHECK_TEXT(list[0], "er");
    CHECK_TEXT(list[1], "file");
    CHECK_TRUE(list[2] == NULL);
    vitro_strings_free(list);
    CHECK_OK(vitro_fs_stat(host->fs, "deep/file", &stat, &error), error);
    CHECK_INT(stat.size_bytes, 7);
    CHECK_OK(vitro_fs_rename(host->fs, "deep/file", "moved", &error), error);
    CHECK_INT(vitro_fs_read(host->fs, "deep/file", &text, NULL, &error), -ENOENT);
    CHECK_HAS(error.text, "deep/file");
    CHECK_OK(vitro_fs_remove(host->fs, "moved", &error), error);
    CHECK_INT(vitro_fs_stat(host->fs, "moved", &stat, &error), -ENOENT);
    vitro_host_free(host);
}

TEST(a_real_host_over_an_overlay_leaves_the_disk_alone)
{
    struct vitro_overlay *overlay = NULL;
    struct vitro_host_error error = {0};
    char *text, **list;

    go_to("overlay");
    CHECK_INT(file_write("below", "before", 6, NULL), 0);
    CHECK_INT(vitro_overlay_open(".", &overlay), 0);
    struct vitro_host *host =
        vitro_host_real(&(struct vitro_host_real_options){.overlay = overlay}, &error);
    CHECK_OK(vitro_fs_write(host->fs, "below", "after", 5, &error), error);
    CHECK_OK(vitro_fs_make_dir(host->fs, "a/b", &error), error);
    CHECK_OK(vitro_fs_append(host->fs, "a/b/c", "x", 1, &error), error);
    CHECK_OK(vitro_fs_list(host->fs, "a", &list, &error), error);
    CHECK_TEXT(list[0], "b");
    vitro_strings_free(list);
    CHECK_OK(vitro_fs_read(host->fs, "below", &text, NULL, &error), error);
    CHECK_TEXT(text, "after");
    free(text);
    CHECK_INT(vitro_fs_read(host->fs, "/etc/passwd", &text, NULL, &error), -EXDEV);
    vitro_host_free(host);
    vitro_overlay_free(overlay);
    CHECK_TRUE(!file_exists("a"));
    CLEANUP(buf_done) struct buf bytes = {0};
    CHECK_INT(file_read("below", 100, &bytes, NULL), 0);
    CHECK_TEXT(buf_text(&bytes), "before");
}

TEST(variables_of_a_real_host_are_its_own_and_reach_its_programs)
{
    struct vitro_host *host = vitro_host_real(NULL, NULL);
    struct vitro_host_error error = {0};
    struct vitro_process_result result;
    const char *value, *path;
    char **list;

    CHECK_INT(vitro_env_get(host->env, "PATH", &path, NULL), 1);
    CHECK_TEXT(path, getenv("PATH"));
    CHECK_OK(vitro_env_set(host->env, "VITRO_GREETING", "hello", &error), error);
    CHECK_TRUE(getenv("VITRO_GREETING") == NULL);
    CHECK_OK(vitro_process_finish(
                 host->process,
                 &(struct vitro_process_call){
                     .argv = sh("echo $VITRO_GREETING; cat"), .input = "in", .input_length = 2},
                 &result, &error),
             error);
    CHECK_TEXT(result.output, "hello\nin");
    vitro_process_result_done(&result);
    CHECK_OK(vitro_env_list(host->env, &list, &error), error);
    for (size_t i = 1; list[0] && list[i]; i++)
        CHECK_TRUE(strcmp(list[i - 1], list[i]) < 0);
    vitro_strings_free(list);
    CHECK_OK(vitro_env_set(host->env, "VITRO_GREETING", NULL, &error), error);
    CHECK_INT(vitro_env_get(host->env, "VITRO_GREETING", &value, NULL), 0);
    vitro_host_free(host);
}

TEST(a_real_host_prints_and_reads_lines)
{
    struct vitro_host *host = vitro_host_real(NULL, NULL);
    int kept[2] = {dup(0), dup(1)}, out[2], in[2];
    char *line, bytes[16] = "";

    CHECK_INT(pipe(out) | pipe(in), 0);
    CHECK_INT(write(in[1], "one\n\ntwo", 8), 8);
    (void)close(in[1]);
    (void)dup2(in[0], 0);
    (void)dup2(out[1], 1);
    int printed = vitro_stdio_print(host->stdio, "%d lines", 3);
    (void)dup2(kept[1], 1);
    CHECK_INT(printed, 0);
    CHECK_INT(read(out[0], bytes, sizeof bytes), 7);
    CHECK_TEXT(bytes, "3 lines");
    const char *const wanted[] = {"one", "", "two"};
    for (int i = 0; i < 3; i++) {
        CHECK_INT(vitro_stdio_read_line(host->stdio, &line, NULL), 1);
        CHECK_TEXT(line, wanted[i]);
        free(line);
    }
    CHECK_INT(vitro_stdio_read_line(host->stdio, &line, NULL), 0);
    CHECK_INT(vitro_stdio_read_line(host->stdio, &line, NULL), 0);
    (void)dup2(kept[0], 0);
    for (int i = 0; i < 2; i++) {
        (void)close(kept[i]);
        (void)close(out[i]);
    }
    (void)close(in[0]);
    CHECK_INT(vitro_stdio_write(host->stdio, 0, "x", 1, NULL), -EINVAL);
    vitro_host_free(host);
}

TEST(chance_of_a_real_host_differs_and_its_uuids_are_of_version_four)
{
    struct vitro_host *host = vitro_host_real(NULL, NULL);
    uint64_t a = 0, b = 0;
    char uuid[37];

    CHECK_INT(vitro_random_u64(host->random, &a, NULL), 0);
    CHECK_INT(vitro_random_u64(host->random, &b, NULL), 0);
    CHECK_TRUE(a != b);
    CHECK_INT(vitro_random_uuid(host->random, uuid, NULL), 0);
    CHECK_INT(strlen(uuid), 36);
    CHECK_INT(uuid[14], '4');
    CHECK_TRUE(strchr("89ab", uuid[19]) != NULL);
    vitro_host_free(host);
}

TEST(real_programs_are_talked_to_waited_for_and_killed)
{
    struct vitro_host *host = vitro_host_real(NULL, NULL);
    struct vitro_host_error error = {0};
    struct vitro_child_end end;
    vitro_child *child;
    char bytes[32] = "", *report;

    CHECK_OK(vitro_process_spawn(
                 host->process,
                 &(struct vitro_process_call){.argv = sh("read a; echo got $a; read b; exit 3")},
                 &child, &error),
             error);
    CHECK_TRUE(vitro_child_pid(child) > 0);
    CHECK_INT(vitro_child_group(child), vitro_child_pid(child));
    CHECK_INT(vitro_child_wait(child, 0, &end, NULL), 0);
    CHECK_INT(end.how, VITRO_CHILD_TIMED_OUT);
    CHECK_OK(vitro_child_write(child, "it\n", 3, &error), error);
    CHECK_INT(vitro_child_read(child, 1, bytes, sizeof bytes, VITRO_CHILD_FOREVER, &error), 7);
    CHECK_TEXT(bytes, "got it\n");
    CHECK_INT(vitro_child_read(child, 1, bytes, sizeof bytes, 0, &error), -ETIMEDOUT);
    vitro_child_interrupt(child);
    CHECK_INT(vitro_child_wait(child, VITRO_CHILD_FOREVER, &end, &error), 0);
    CHECK_INT(end.how, VITRO_CHILD_INTERRUPTED);
    CHECK_INT(vitro_child_close_input(child), 0);
    CHECK_INT(vitro_child_write(child, "x", 1, &error), -EPIPE);
    CHECK_INT(vitro_child_wait(child, VITRO_CHILD_FOREVER, &end, &error), 0);
    CHECK_INT(end.exit_code, 3);
    CHECK_INT(vitro_child_signal(child, SIGTERM, &error), -ESRCH);
    CHECK_INT(vitro_child_read(child, 1, bytes, sizeof bytes, VITRO_CHILD_FOREVER, &error), 0);
    CHECK_INT(vitro_child_cleanup(child, &report, &error), 0);
    CHECK_TEXT(report, "");
    free(report);
    vitro_child_free(child);
    CHECK_OK(vitro_process_spawn(host->process,
                                 &(struct vitro_process_call){.argv = sh("cat & cat; cat")}, &child,
                                 &error),
             error);
    CHECK_INT(vitro_child_cleanup(child, &report, &error), 0);
    CHECK_TEXT(report, "'sh' still ran: killed\n");
    free(report);
    CHECK_INT(vitro_child_wait(child, VITRO_CHILD_FOREVER, &end, &error), 0);
    CHECK_INT(end.signal, SIGKILL);
    vitro_child_free(child);
    CHECK_INT(vitro_process_spawn(
                  host->process,
                  &(struct vitro_process_call){.argv = (const char *const[]){"./not-there", NULL}},
                  &child, &error),
              -ENOENT);
    CHECK_HAS(error.text, "start './not-there': No such file");
    vitro_host_free(host);
}

TEST(with_a_cassette_programs_are_recorded_and_then_played)
{
    static const char *const argv[] = {"sh", "-c", "cat; echo out; echo err >&2; exit 5", NULL};
    struct vitro_host_error error = {0};
    struct vitro_process_error problem = {0};

    go_to("cassette");
    for (int round = 0; round < 2; round++) {
        vitro_cassette *cassette = vitro_cassette_open(
            &(struct vitro_cassette_options){.path = "tools.tape", .record_in_ci = 1}, &problem);
        struct vitro_host *host =
            vitro_host_real(&(struct vitro_host_real_options){.cassette = cassette}, &error);
        struct vitro_child_end end;
        vitro_child *child;
        char bytes[32] = "";
        CHECK_OK(vitro_process_spawn(
                     host->process,
                     &(struct vitro_process_call){.argv = argv, .input = "in ", .input_length = 3},
                     &child, &error),
                 error);
        CHECK_INT(vitro_child_wait(child, VITRO_CHILD_FOREVER, &end, NULL), 0);
        CHECK_INT(end.exit_code, 5);
        CHECK_INT(vitro_child_read(child, 1, bytes, sizeof bytes, 0, NULL), 7);
        CHECK_TEXT(bytes, "in out\n");
        vitro_child_free(child);
        if (round) { /* it is played: another call is not known */
            CHECK_INT(vitro_process_spawn(host->process,
                                          &(struct vitro_process_call){.argv = sh("echo no")},
                                          &child, &error),
                      -ENODATA);
            CHECK_HAS(error.text, "no recording answers");
        }
        vitro_host_free(host);
        CHECK_INT(vitro_cassette_close(cassette, &problem), round ? -ENODATA : 0);
    }
}

/* ---- network: a server of one thread that answers what it is asked */

static void *serve(void *arg)
{
    int listener = *(int *)arg;

    for (int i = 0; i < 4; i++) {
        char request[4096] = "", answer[512];
        int fd = accept(listener, NULL, NULL);
        size_t have = 0;
        while (!strstr(request, "\r\n\r\n") ||
               (strncmp(request, "POST", 4) == 0 && !strstr(request, "a=1"))) {
            ssize_t count = read(fd, request + have, sizeof request - 1 - have);
            if (count <= 0)
                break;
            have += (size_t)count;
            request[have] = '\0';
        }
        if (strncmp(request, "GET /away", 9) == 0)
            (void)snprintf(answer, sizeof answer,
                           "HTTP/1.1 302 Found\r\nLocation: /here\r\nContent-Length: 0\r\n"
                           "Connection: close\r\n\r\n");
        else if (strncmp(request, "GET /here", 9) == 0)
            (void)snprintf(answer, sizeof answer,
                           "HTTP/1.1 200 OK\r\nX-Kind: test\r\nContent-Length: 5\r\n"
                           "Connection: close\r\n\r\nhello");
        else
            (void)snprintf(answer, sizeof answer,
                           "HTTP/1.1 404 Not Found\r\nTransfer-Encoding: chunked\r\n"
                           "Connection: close\r\n\r\n4\r\n%.4s\r\n0\r\n\r\n",
                           request);
        (void)!write(fd, answer, strlen(answer));
        (void)close(fd);
    }
    return NULL;
}

TEST(a_real_host_speaks_http)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t length = sizeof address;
    struct vitro_host *host = vitro_host_real(NULL, NULL);
    struct vitro_host_error error = {0};
    struct vitro_net_response response;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    pthread_t thread;
    char url[80], gone[80];

    CHECK_INT(bind(listener, (struct sockaddr *)&address, sizeof address), 0);
    CHECK_INT(listen(listener, 8), 0);
    CHECK_INT(getsockname(listener, (struct sockaddr *)&address, &length), 0);
    (void)snprintf(url, sizeof url, "http://127.0.0.1:%d/away", ntohs(address.sin_port));
    CHECK_INT(pthread_create(&thread, NULL, serve, &listener), 0);
    int r = vitro_net_get(host->net, url, &response, &error);
    if (r == -ELIBACC)
        SKIP("libcurl is not installed");
    CHECK_OK(r, error);
    CHECK_INT(response.status, 200);
    CHECK_TEXT(response.body, "hello");
    CHECK_HAS(response.final_url, "/here");
    CHECK_TEXT(response.headers[0], "X-Kind: test");
    vitro_net_response_done(&response);
    (void)snprintf(gone, sizeof gone, "http://127.0.0.1:%d/gone", ntohs(address.sin_port));
    CHECK_OK(vitro_net_request(host->net,
                               &(struct vitro_net_request){
                                   .method = "POST", .url = gone, .body = "a=1", .body_length = 3},
                               &response, &error),
             error);
    CHECK_INT(response.status, 404);
    CHECK_INT(response.ok, 0);
    CHECK_TEXT(response.body, "POST");
    vitro_net_response_done(&response);
    CHECK_INT(vitro_net_request(host->net,
                                &(struct vitro_net_request){.url = gone, .answer_max = 2},
                                &response, &error),
              -EFBIG);
    CHECK_INT(pthread_join(thread, NULL), 0);
    (void)close(listener);
    CHECK_INT(vitro_net_get(host->net, gone, &response, &error), -EIO);
    CHECK_HAS(error.text, "/gone");
    CHECK_INT(vitro_net_get(host->net, "file:///etc/passwd", &response, &error), -EINVAL);
    CHECK_HAS(error.text, "is no HTTP address");
    CHECK_INT(vitro_net_get(host->net, NULL, &response, &error), -EINVAL);
    vitro_host_free(host);
}

/* ---- capabilities of the program's own */

static int shout(void *context, const char *args, char **ret, struct vitro_host_error *error)
{
    (void)error;
    *ret = mem_format("{\"%s\":%s}", (const char *)context, args);
    return 0;
}

TEST(a_real_host_runs_the_capabilities_it_was_given)
{
    static const struct vitro_host_capability own[] = {{"mail", "send", shout, "sent"}, {0}};
    static const struct vitro_host_capability broken[] = {{"mail", "send", NULL, NULL}, {0}};
    struct vitro_host_error error = {0};
    struct vitro_host *host =
        vitro_host_real(&(struct vitro_host_real_options){.capabilities = own}, &error);
    char *text;

    CHECK_OK(vitro_host_ask(host, "mail", "send", "{\"a\":1}", &text, &error), error);
    CHECK_TEXT(text, "{\"sent\":{\"a\":1}}");
    free(text);
    CHECK_INT(vitro_host_ask(host, "mail", "read", NULL, &text, &error), -ENOSYS);
    CHECK_TEXT(error.text, "mail.read: this host has no such capability");
    CHECK_INT(vitro_host_call_count(host), 0);
    vitro_host_free(host);
    CHECK_TRUE(!vitro_host_real(&(struct vitro_host_real_options){.capabilities = broken}, &error));
    CHECK_HAS(error.text, "capability 'mail' has no function");
}

TEST(without_a_terminal_its_size_is_what_the_variables_say)
{
    struct vitro_host *host = vitro_host_real(NULL, NULL);
    unsigned columns = 0, rows = 0;

    CHECK_INT(vitro_env_set(host->env, "COLUMNS", "99", NULL), 0);
    if (isatty(0) || isatty(1) || isatty(2))
        SKIP("there is a terminal");
    CHECK_INT(vitro_terminal_size(host->terminal, &columns, &rows, NULL), 0);
    CHECK_INT(columns, 99);
    CHECK_INT(vitro_terminal_is_tty(host->terminal, 0, NULL), 0);
    CHECK_INT(vitro_terminal_is_tty(host->terminal, 9, NULL), -EINVAL);
    vitro_host_free(host);
}
