/* SPDX-License-Identifier: MIT */
/* Sessions: waiting, time, order, ends. */
#include "lib/term.h"
#include <errno.h>
#include <signal.h>

static const char spinner[] = "i=0; while :; do printf '\\r%d ' $i; i=$((i+1)); sleep 0.1; done";

TEST(a_manual_clock_moves_a_spinner_by_exactly_its_frames)
{
    TERM *t = open_shell(spinner, .box.clock = "2026-01-01,manual");
    struct vitro_term_state state;

    HOLDS(t, vitro_see(t, "0 ", .row = 1, .col = 1));
    for (int i = 1; i <= 5; i++) {
        CLEANUP(mem_free) char *shown = mem_format("%d ", i);
        HOLDS(t, vitro_term_advance(t, 100 * MS));
        HOLDS(t, vitro_see(t, shown, .row = 1, .col = 1));
    }
    vitro_term_state(t, &state);
    CHECK_INT(state.frames, 6);
    HOLDS(t, vitro_term_advance(t, 99 * MS));
    HOLDS(t, vitro_see(t, "5 ", .row = 1, .col = 1));
    HOLDS(t, vitro_term_advance(t, 1 * MS));
    HOLDS(t, vitro_see(t, "6 ", .row = 1, .col = 1));
    HOLDS(t, vitro_term_advance(t, 1000 * MS));
    HOLDS(t, vitro_see(t, "16 ", .row = 1, .col = 1));
    vitro_term_state(t, &state);
    CHECK_INT(state.virtual_ns, 1600 * MS);
    CHECK_INT(state.next_due_ns, 100 * MS);
    CHECK_INT(state.frames, 17);
    /* A manual clock is not moved by looking. */
    FAILS(t, vitro_see(t, "17"), -ENOMSG, "the clock is manual");
    FAILS(t, vitro_term_settle(t, 200 * MS), -ENOMSG, "due\n  1");
}

TEST(a_paused_clock_passes_as_far_as_a_wait_needs_and_no_further)
{
    TERM *t = open_shell(spinner);
    struct vitro_term_state state;

    HOLDS(t, vitro_expect(t, "\r0 "));
    vitro_term_state(t, &state);
    CHECK_INT(state.virtual_ns, 0);
    HOLDS(t, vitro_expect(t, "\r20 "));
    vitro_term_state(t, &state);
    CHECK_INT(state.virtual_ns, 2000 * MS);
    CHECK_INT(vitro_expect(t, "never", .within_ns = 3 * SECOND), -ETIME);
    CHECK_INT(vitro_term_failure(t)->why, VITRO_TERM_BUDGET);
    CHECK_INT(vitro_term_failure(t)->virtual_ns, 3 * SECOND);
    vitro_term_state(t, &state);
    CHECK_INT(state.virtual_ns, 5 * SECOND);
}

TEST(a_wait_for_what_cannot_come_fails_at_once_and_says_who_is_blocked)
{
    TERM *t = open_shell("printf 'name: '; read name");

    FAILS(t, vitro_expect(t, "password: "), -ENOMSG, "waits for input, and nothing is due");
    const struct vitro_term_failure *failure = vitro_term_failure(t);
    CHECK_INT(failure->why, VITRO_TERM_NOT_SEEN);
    CHECK_TEXT(failure->summary,
               "the output \"password: \": the program waits for input, and nothing is due");
    CHECK_HAS(failure->text, "the last 6 of 6 bytes\n  \"name: \"");
    CHECK_HAS(failure->text, "cursor at row 1 column 7");
    CHECK_HAS(failure->text, "│name: ");
    CHECK_HAS(failure->text, "1 (sh): waits in read on fd 0 (/dev/pts/0)");
}

TEST(a_disclosure_that_is_flushed_behind_the_answer_is_caught)
{
    static const char broken[] = "printf 'Continue? [y/N] '; read a; echo 'posted PUBLICLY'";
    static const char fixed[] = "echo 'posted PUBLICLY'; printf 'Continue? [y/N] '; read a";
    TERM *good = open_shell(fixed);
    TERM *bad = open_shell(broken);

    HOLDS(good, vitro_expect(good, "posted PUBLICLY", .before = "y/N"));
    HOLDS(good, vitro_expect(good, "y/N", .before_read = 1));
    FAILS(bad, vitro_expect(bad, "posted PUBLICLY", .before = "y/N"), -EPROTO,
          "\"y/N\" came first, and it has not come");
    FAILS(bad, vitro_expect(bad, "posted PUBLICLY", .before_read = 1), -EPROTO,
          "the program waits for input, and has not written it");
}

TEST(expectations_move_a_cursor_and_know_groups_and_alternatives)
{
    TERM *t = open_shell("echo one two; echo one three 17; exit 4");
    struct vitro_term_match match;

    HOLDS(t, vitro_expect(t, "one"));
    HOLDS(t, vitro_expect(t, "one"));
    CHECK_INT(vitro_expect(t, "one"), -ENOMSG);
    HOLDS(t, vitro_expect(t, "one two", .from_start = 1));
    HOLDS(t,
          vitro_term_expect(
              t, &(struct vitro_term_expect){.text = "(\\w+) (\\d+)$", .regex = 1, .from_start = 1},
              &match));
    CHECK_INT(match.groups, 3);
    CHECK_INT(match.group_end[2] - match.group_start[2], 2);
    CHECK_TRUE(memcmp(match.bytes, "three 17", 8) == 0);
    HOLDS(t, vitro_term_cursor_set(t, 0));
    HOLDS(t, vitro_term_expect(t, &(struct vitro_term_expect){.any = ARGV("zero", "three", "two")},
                               &match));
    CHECK_INT(match.which, 2);
    CHECK_INT(vitro_term_cursor(t), 7);
    HOLDS(t, vitro_term_expect_exit(t, 4, 0));
    FAILS(t, vitro_term_expect_exit(t, 0, 0), -EPROTO, "an exit with 0: it exited with 4");
    FAILS(t, vitro_expect(t, "four"), -ENOMSG, "the program has ended without it");
    FAILS(t, vitro_expect(t, "(", .regex = 1), -EINVAL, "missing closing parenthesis");
}

TEST(a_text_that_only_the_screen_shows_is_pointed_out)
{
    TERM *t = open_shell("printf 'hello\\033[7Gbob'");

    FAILS(t, vitro_expect(t, "hello bob"), -ENOMSG, "hint: the screen shows it");
    CHECK_HAS(vitro_term_failure(t)->text, "the session's clock shows 2026-01-01T00:00:00Z");
}

TEST(what_must_not_be_seen_is_found)
{
    TERM *t = open_shell("echo start; echo error 7; sleep 2; echo end; read x");

    FAILS(t, vitro_expect(t, "end", .not_seen = "error"), -EPROTO, "\"error\" was seen before it");
    FAILS(t, vitro_term_expect_not(t, &(struct vitro_term_expect){.text = "error"}), -EPROTO,
          "was not expected, and is there");
    HOLDS(t, vitro_expect(t, "error 7"));
    HOLDS(t, vitro_term_expect_not(t, &(struct vitro_term_expect){.text = "error"}));
    HOLDS(t, vitro_expect(t, "end", .from_start = 1));
}

TEST(what_was_on_the_screen_for_a_moment_was_there)
{
    TERM *t = open_shell("printf 'A\\033[2J\\033[Hsecret\\033[2J\\033[Hdone B'; read x");
    const struct vitro_term_look secret = {.text = "secret"};

    HOLDS(t, vitro_see(t, "done"));
    HOLDS(t, vitro_see_not(t, "secret"));
    HOLDS(t, vitro_term_ever(t, &secret, NULL));
    FAILS(t, vitro_term_never(t, &secret), -EPROTO, "it did at row 1, column 1");
    HOLDS(t, vitro_term_never(t, &(struct vitro_term_look){.text = "secrets"}));
    HOLDS(t, vitro_term_never(t, &(struct vitro_term_look){.text = "secret", .after = "done"}));
    HOLDS(t, vitro_term_ever(
                 t, &(struct vitro_term_look){.text = "secret", .after = "A", .until = "B"}, NULL));
}

TEST(styles_colours_and_row_ends_are_seen)
{
    TERM *t = open_shell("printf '\\033[1;31mred\\033[0m \\033[48;2;1;2;3mon\\033[0m plain\\r\\n';"
                         "printf '\\033[4mline\\n'; read x");

    HOLDS(t, vitro_see(t, "red", .style = "bold fg=red"));
    HOLDS(t, vitro_see(t, "on", .style = "bg=#010203 no-bold"));
    HOLDS(t, vitro_see(t, "plain", .style = "plain"));
    FAILS(t, vitro_see(t, "red", .style = "fg=blue"), -ENOMSG, "in style 'fg=blue'");
    CHECK_HAS(vitro_term_failure(t)->text, "at column 1 it is 'bold fg=red'");
    FAILS(t, vitro_see(t, "red on", .style = "bold"), -ENOMSG,
          "hint: the text is at row 1, column 1, and at column 4 it is 'plain'");
    FAILS(t, vitro_see(t, "plain", .row = 2), -ENOMSG, "hint: the text is at row 1, column 8");
    FAILS(t, vitro_see(t, "red", .style = "blod"), -EINVAL, "did you mean 'bold'?");
    FAILS(t, vitro_term_row_ends(t), -EPROTO, "line 2 of the output ends");
}

TEST(keys_are_told_from_what_is_none)
{
    TERM *t = open_shell("read x");

    FAILS(t, vitro_type(t, "abc<Entre>"), -EINVAL, "did you mean <Enter>?");
    FAILS(t, vitro_type(t, "<Click 3,4>"), -ENOTSUP, "has not asked for the mouse");
    CHECK_INT(vitro_term_output(t, NULL)[0], '\0'); /* nothing was sent */
    HOLDS(t, vitro_type(t, "<Enter>"));
    HOLDS(t, vitro_term_expect_exit(t, 0, 0));
}

TEST(more_is_typed_than_a_terminal_holds_while_the_program_answers)
{
    struct buf typed = {0};
    TERM *t = open_shell("stty raw; head -c 200000 | wc -c; stty sane");

    for (int i = 0; i < 200000; i++)
        buf_addc(&typed, (char)('a' + i % 26));
    HOLDS(t, vitro_term_settle(t, 0));
    HOLDS(t, vitro_term_send(t, typed.data, typed.length));
    buf_done(&typed);
    HOLDS(t, vitro_expect(t, "200000"));
    HOLDS(t, vitro_term_expect_exit(t, 0, 0));
}

TEST(a_signal_key_comes_also_behind_lines_that_nobody_reads)
{
    for (int i = 0; i < 60; i++) {
        vitro_term *t = open_shell("echo up; sleep 1000; echo late");
        HOLDS(t, vitro_see(t, "up"));
        HOLDS(t, vitro_type(t, "a line<Enter>and another<Enter>"));
        HOLDS(t, vitro_type(t, "<C-c>"));
        HOLDS(t, vitro_term_expect_exit(t, 130, 0));
        vitro_term_close(t);
    }
}

TEST(deaths_by_signal_are_told)
{
    TERM *t = open_shell("kill -SEGV $$");

    HOLDS(t, vitro_term_expect_exit(t, 128 + SIGSEGV, 0));
    TERM *u = open_shell("trap 'echo caught; exit 3' TERM; while :; do sleep 1; done");
    HOLDS(u, vitro_term_settle(u, 0));
    HOLDS(u, vitro_term_signal(u, SIGTERM));
    HOLDS(u, vitro_expect(u, "caught"));
    HOLDS(u, vitro_term_expect_exit(u, 3, 0));
}

TEST(a_program_that_is_not_there_is_told)
{
    TERM *t = open_term(.box.argv = ARGV("/no/such/program"));

    FAILS(t, vitro_term_expect_exit(t, 0, 0), -EPROTO, "No such file");
    CHECK_INT(vitro_term_open(&(struct vitro_term_options){0}, NULL) == NULL, 1);
}

TEST(the_go_harness_words_work)
{
    struct vitro_box_error error = {0};
    TERM *t = vitro_term_spawn_with_env(
        ARGV("GREETING=hello"), ARGV("sh", "-c", "echo $GREETING; read a; echo got $a"), &error);

    CHECK_TRUE(t != NULL);
    CHECK_INT(vitro_term_expect_output(t, "hello", 0), 0);
    HOLDS(t, vitro_term_expect_output_before(t, "hello", "got", 0));
    HOLDS(t, vitro_term_send_text(t, "it\n"));
    CHECK_INT(vitro_term_expect_output(t, "got it", 0), 11);
    HOLDS(t, vitro_term_expect_exit(t, 0, 0));
    CHECK_TEXT(vitro_term_output(t, NULL), "hello\r\nit\r\ngot it\r\n");
    CLEANUP(mem_free) char *dump = vitro_term_dump(t);
    CHECK_HAS(dump, "the program has ended, exit code 0");
}

TEST(a_plain_session_runs_on_real_time_and_leaves_nothing)
{
    TERM *t = open_shell("trap '' HUP TERM; printf 'pid %d ' $$; sleep 1000 & read x; exit 5",
                         .plain = 1);
    struct vitro_term_match match;

    HOLDS(t, vitro_term_expect(t, &(struct vitro_term_expect){.text = "pid (\\d+) ", .regex = 1},
                               &match));
    pid_t pid = atoi(match.bytes + 4);
    CHECK_INT(kill(pid, 0), 0);
    HOLDS(t, vitro_term_expect_read(t, 0, 0));
    vitro_term_close(take_ptr(&t));
    CHECK_INT(kill(pid, 0), -1);
}

TEST(a_session_leaves_its_cast_when_it_is_closed)
{
    const char *path = tmp_path("left.cast");
    CLEANUP(buf_done) struct buf text = {0};
    struct vitro_box_error error = {0};
    vitro_term *t = open_shell("echo hi; read x", .cast = path, .cast_version = 2);

    vitro_term_mark(t, "a mark");
    HOLDS(t, vitro_term_settle(t, 0));
    CHECK_INT(vitro_term_end(t, &error), 0);
    CHECK_INT(file_read(path, 1 << 20, &text, NULL), 0);
    CHECK_HAS(buf_text(&text), "\"version\": 2");
    CHECK_HAS(buf_text(&text), "\"m\", \"a mark\"");
    t = open_shell("echo hi", .cast = "/nonexistent/x.cast");
    CHECK_INT(vitro_term_end(t, &error), -ENOENT);
    CHECK_HAS(error.text, "/nonexistent/x.cast");
    CHECK_INT(vitro_term_end(NULL, &error), 0);
    CHECK_TRUE(!vitro_term_open(
        &(struct vitro_term_options){.box.argv = ARGV("true"), .cast = path, .cast_version = 4},
        &error));
    CHECK_HAS(error.text, "asciicast version 4: 2 and 3 can be written");
}

TEST(a_screen_is_a_picture_in_pixels_too)
{
    need_program("rsvg-convert");
    TERM *t = open_shell("printf '\\033[1;31mred\\033[0m'; read x");
    size_t length = 0;

    HOLDS(t, vitro_term_settle(t, 0));
    CLEANUP(mem_free) char *png = vitro_term_png(t, &length);
    if (!png)
        check_fail(__FILE__, __LINE__, "%s", vitro_term_failure(t)->text);
    CHECK_TRUE(length > 100 && memcmp(png, "\x89PNG\r\n", 6) == 0);
    CLEANUP(mem_free) char *path = mem_dup(getenv("PATH"));
    (void)setenv("PATH", "/nonexistent", 1);
    CHECK_TRUE(!vitro_term_png(t, NULL));
    (void)setenv("PATH", path, 1);
    CHECK_HAS(vitro_term_failure(t)->text, "rsvg-convert could not draw the picture");
    CHECK_HAS(vitro_term_failure(t)->text, "librsvg2-bin");
}
