/* SPDX-License-Identifier: MIT */
/* Programs that misbehave in a terminal. */
#include "lib/term.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>

TEST(a_hundred_megabytes_without_a_newline_are_taken)
{
    TERM *t = open_shell("head -c 100000000 /dev/zero | tr '\\0' x; printf END; read y");
    struct vitro_term_state state;

    HOLDS(t, vitro_expect(t, "END", .before_read = 1, .ceiling_ns = 120 * SECOND));
    vitro_term_state(t, &state);
    CHECK_INT(state.output_length, 100000003);
    HOLDS(t, vitro_see(t, "END", .row = 24, .col = 1));
}

TEST(more_output_than_a_session_keeps_ends_a_wait_by_name)
{
    TERM *t = open_shell("yes", .output_max = 1 << 20);

    FAILS(t, vitro_expect(t, "no"), -EFBIG, "more than output_max (1048576 bytes)");
}

TEST(a_program_that_never_rests_is_waited_for_no_longer_than_the_ceiling)
{
    TERM *t = open_shell("printf go; while :; do :; done");

    CHECK_INT(vitro_expect(t, "never", .ceiling_ns = 300 * MS), -ETIMEDOUT);
    CHECK_INT(vitro_term_failure(t)->why, VITRO_TERM_CEILING);
    CHECK_HAS(vitro_term_failure(t)->text, "the program still runs");
    HOLDS(t, vitro_expect(t, "go", .at_once = 1));
}

TEST(bytes_that_are_no_text_are_shown_as_such)
{
    TERM *t = open_shell("printf 'a\\377\\376\\300b\\355\\240\\200c\\033]0;t\\377\\007'; read x");
    struct vitro_term_state state;

    HOLDS(t, vitro_expect(t, "b\355\240\200c"));
    CLEANUP(mem_free) char *json = vitro_term_snapshot(t, VITRO_TERM_JSON, NULL);
    CHECK_HAS(json, "\"title\":\"t\xef\xbf\xbd\"");
    CLEANUP(mem_free) char *cast = vitro_term_cast(t, 2, NULL);
    CHECK_HAS(cast, "\xef\xbf\xbd");
    vitro_term_state(t, &state);
    CHECK_TEXT(state.title, "t\xef\xbf\xbd");
    CHECK_INT(vitro_expect(t, "zz"), -ENOMSG);
    CHECK_HAS(vitro_term_failure(t)->text, "a\\xff\\xfe\\xc0b");
}

TEST(a_program_may_close_its_terminal_and_live_on)
{
    TERM *t = open_shell("echo bye; exec <&- >&- 2>&-; sleep 50; exit 6");

    HOLDS(t, vitro_expect(t, "bye"));
    HOLDS(t, vitro_term_settle(t, 0));
    HOLDS(t, vitro_term_expect_exit(t, 6, 0));
}

TEST(a_program_may_open_a_terminal_of_its_own)
{
    need_program("python3");
    TERM *t = open_term(.box.argv = ARGV("python3", "-c",
                                         "import pty, os, sys\n"
                                         "pid, fd = pty.fork()\n"
                                         "if pid == 0:\n"
                                         "    print(os.ttyname(0), input('inner? ')); sys.exit(0)\n"
                                         "print(os.read(fd, 100))\n"
                                         "os.write(fd, input('outer? ').encode() + b'\\n')\n"
                                         "os.waitpid(pid, 0)\n"
                                         "print(os.read(fd, 100))\n"));

    HOLDS(t, vitro_expect(t, "b'inner? '"));
    HOLDS(t, vitro_expect(t, "outer? ", .before_read = 1));
    HOLDS(t, vitro_type(t, "word<Enter>"));
    HOLDS(t, vitro_expect(t, "/dev/pts/1 word"));
    HOLDS(t, vitro_term_expect_exit(t, 0, 0));
}

TEST(a_window_that_changes_all_the_time_is_told_each_time)
{
    need_program("bash");
    TERM *t = open_term(.box.argv =
                            ARGV("bash", "-c",
                                 "n=0; trap 'n=$((n+1)); echo $n:$(stty size)' WINCH; echo ready; "
                                 "while :; do read -t 1000 x; [ \"$x\" = q ] && exit 0; done"));
    char seen[64];

    HOLDS(t, vitro_expect(t, "ready"));
    for (unsigned i = 1; i <= 30; i++) {
        HOLDS(t, vitro_term_resize(t, 10 + i, 40 + i));
        (void)snprintf(seen, sizeof seen, "%u:%u %u", i, 10 + i, 40 + i);
        HOLDS(t, vitro_expect(t, seen));
    }
    CHECK_INT(vitro_term_resize(t, 0, 10), -EINVAL);
    HOLDS(t, vitro_type(t, "q<Enter>"));
    HOLDS(t, vitro_term_expect_exit(t, 0, 0));
}

TEST(a_program_that_resizes_its_own_terminal_forever_does_not_hang_anybody)
{
    need_program("python3");
    TERM *t = open_term(.box.argv = ARGV("python3", "-c",
                                         "import fcntl, termios, struct, itertools\n"
                                         "print('go', flush=True)\n"
                                         "for i in itertools.count():\n"
                                         "    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("
                                         "'HHHH', 10 + i % 20, 80, 0, 0))\n"));

    HOLDS(t, vitro_expect(t, "go", .at_once = 1));
    CHECK_INT(vitro_term_exit(t, 0, 200 * MS, NULL, NULL), -ETIMEDOUT);
}

/* The pid in front of everything else in the stream; in a box that is the box's own number, so the
 * program is known by a file it holds a lock on. */
static bool is_locked(const char *path)
{
    CLEANUP(fd_close) int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

    return fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

static const char stubborn[] =
    "import fcntl, os, signal, sys, time\n"
    "for s in (signal.SIGHUP, signal.SIGTERM, signal.SIGINT, signal.SIGQUIT):\n"
    "    signal.signal(s, signal.SIG_IGN)\n"
    "if os.fork() == 0:\n" /* one that has left the session, the group and the terminal */
    "    os.setsid()\n"
    "    for fd in range(3): os.close(fd)\n"
    "    f = open(sys.argv[1], 'r+'); fcntl.lockf(f, fcntl.LOCK_EX)\n"
    "    while True: time.sleep(1000)\n"
    "while True:\n"
    "    try: fcntl.lockf(open(sys.argv[1], 'r+'), fcntl.LOCK_EX | fcntl.LOCK_NB)\n"
    "    except OSError: break\n"
    "    time.sleep(0.001)\n"
    "print('ready', flush=True)\n"
    "while True: time.sleep(1000)\n";

static vitro_term *open_stubborn(const char *path, int plain)
{
    return open_term(.box.argv = ARGV("python3", "-c", stubborn, path), .box.fs = "real",
                     .plain = plain);
}

TEST(closing_ends_what_ignores_every_signal)
{
    need_program("python3");
    for (int plain = 0; plain < 2; plain++) {
        const char *path = tmp_file(plain ? "plain.lock" : "boxed.lock", "");
        TERM *t = open_stubborn(path, plain);
        HOLDS(t, vitro_expect(t, "ready"));
        CHECK_TRUE(is_locked(path));
        HOLDS(t, vitro_term_signal(t, SIGTERM));
        HOLDS(t, vitro_term_signal(t, SIGHUP));
        vitro_term_close(take_ptr(&t));
        CHECK_TRUE(!is_locked(path));
    }
}

TEST(killing_the_caller_ends_everything)
{
    need_program("python3");
    /* What is orphaned by the killed caller is ours to wait for, so that its end is seen. */
    CHECK_INT(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
    for (int plain = 0; plain < 2; plain++) {
        const char *path = tmp_file(plain ? "plain.lock" : "boxed.lock", "");
        int pipes[2];
        char byte;
        CHECK_INT(pipe2(pipes, O_CLOEXEC), 0);
        pid_t caller = fork();
        if (caller == 0) {
            vitro_term *t = vitro_term_open(
                &(struct vitro_term_options){.box.argv = ARGV("python3", "-c", stubborn, path),
                                             .box.fs = "real",
                                             .plain = plain},
                NULL);
            bool ready = t && vitro_expect(t, "ready") == 0;
            (void)!write(pipes[1], ready ? "r" : "f", 1);
            for (;;)
                (void)pause();
        }
        CHECK_INT(read(pipes[0], &byte, 1), 1);
        CHECK_INT(byte, 'r');
        CHECK_TRUE(is_locked(path));
        (void)kill(caller, SIGKILL);
        while (waitpid(-1, NULL, 0) > 0) /* the caller, its supervisor and init, or guard */
            ;
        CHECK_TRUE(!is_locked(path));
        fd_close(pipes[0]);
        fd_close(pipes[1]);
    }
}

/* Whoever does not look at what vitro_term_open returned is told, not killed. */
TEST(no_session_no_crash)
{
    struct vitro_box_error error = {0};
    struct vitro_term_state state;

    CHECK_TRUE(!vitro_term_open(NULL, &error));
    CHECK_HAS(error.text, "the program's name is empty");
    CHECK_INT(vitro_type(NULL, "x"), -EINVAL);
    CHECK_INT(vitro_expect((vitro_term *)NULL, "x"), -EINVAL);
    CHECK_INT(vitro_see((vitro_term *)NULL, "x"), -EINVAL);
    CHECK_INT(vitro_term_advance(NULL, SECOND), -EINVAL);
    CHECK_INT(vitro_term_expect_exit(NULL, 0, 0), -EINVAL);
    CHECK_INT(vitro_term_golden(NULL, "a", NULL), -EINVAL);
    CHECK_TRUE(!vitro_term_snapshot(NULL, VITRO_TERM_TEXT, NULL));
    CHECK_TEXT(vitro_term_output(NULL, NULL), "");
    CHECK_HAS(vitro_term_failure(NULL)->text, "there is no session");
    CHECK_HAS(vitro_term_failure(NULL)->text, "vitro_term_open");
    vitro_term_state(NULL, &state);
    CHECK_TEXT(state.title, "");
    vitro_term_mark(NULL, "a");
    TERM *t = open_shell("read x");
    FAILS(t, vitro_type(t, NULL), -EINVAL, "no keys were given");
    FAILS(t, vitro_term_send(t, NULL, 1), -EINVAL, "no bytes were given");
    FAILS(t, vitro_term_send_text(t, NULL), -EINVAL, "no bytes were given");
    FAILS(t, vitro_term_expect(t, NULL, NULL), -EINVAL, "nothing is expected");
    FAILS(t, vitro_term_never(t, NULL), -EINVAL, "nothing is looked for");
    FAILS(t, vitro_term_golden(t, NULL, NULL), -EINVAL, "a golden needs a path");
}
