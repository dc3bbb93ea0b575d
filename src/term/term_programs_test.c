/* SPDX-License-Identifier: MIT */
/* Sessions with programs that people use. None of these tests waits for time to pass: each step
 * follows from the program having settled. */
#include "lib/term.h"
#include <errno.h>

TEST(bash_runs_commands_jobs_and_signals)
{
    need_program("bash");
    TERM *t = open_term(.box.argv = ARGV("bash", "--norc"), .env = ARGV("PS1=> "));

    HOLDS(t, vitro_expect(t, "> ", .before_read = 1));
    HOLDS(t, vitro_type(t, "echo $((40 + 2))<Enter>"));
    HOLDS(t, vitro_expect(t, "^42$", .regex = 1));
    HOLDS(t, vitro_type(t, "tty; stty size<Enter>"));
    HOLDS(t, vitro_expect(t, "/dev/pts/0\r\n24 80"));
    HOLDS(t, vitro_type(t, "sleep 100<Enter>"));
    HOLDS(t, vitro_type(t, "<C-c>"));
    HOLDS(t, vitro_expect(t, "^C", .not_seen = "sleep 101"));
    HOLDS(t, vitro_type(t, "sleep 5<Enter>"));
    HOLDS(t, vitro_type(t, "<C-z>"));
    HOLDS(t, vitro_expect(t, "Stopped"));
    HOLDS(t, vitro_type(t, "fg; date +%S<Enter>"));
    HOLDS(t, vitro_expect(t, "sleep 5\r\n05\r\n"));
    HOLDS(t, vitro_type(t, "<Up><Up><Home>echo <End>done<Enter>"));
    HOLDS(t, vitro_term_eof(t));
    HOLDS(t, vitro_term_expect_exit(t, 0, 0));
}

TEST(vim_edits_a_file_on_the_alternate_screen)
{
    need_program("vim");
    const char *path = tmp_file("letter.txt", "first line\n");
    TERM *t = open_term(.box.argv = ARGV("vim", "-u", "NONE", path), .box.worktree = tmp_path(""));

    HOLDS(t, vitro_see(t, "first line", .row = 1, .col = 1, .alternate = 1));
    HOLDS(t, vitro_type(t, "osecond <lt>line><Esc>"));
    HOLDS(t, vitro_see(t, "second <line>", .row = 2, .cursor_row = 2, .cursor_col = 13));
    HOLDS(t, vitro_type(t, ":wq<Enter>"));
    HOLDS(t, vitro_term_expect_exit(t, 0, 0));
    HOLDS(t, vitro_see(t, "first line", .alternate = -1) == -ENOMSG ? 0 : -1);
}

TEST(less_pages_and_repaints_at_a_new_size)
{
    need_program("less");
    struct buf lines = {0};
    for (int i = 1; i <= 200; i++)
        buf_addf(&lines, "line %d\n", i);
    const char *path = tmp_file("lines.txt", lines.data);
    buf_done(&lines);
    TERM *t = open_term(.box.argv = ARGV("less", path));

    HOLDS(t, vitro_see(t, "line 23", .row = 23));
    HOLDS(t, vitro_type(t, "<Space>"));
    HOLDS(t, vitro_see(t, "line 24", .row = 1));
    HOLDS(t, vitro_term_resize(t, 10, 40));
    HOLDS(t, vitro_see(t, "line 24\nline 25", .row = 1));
    HOLDS(t, vitro_see_not(t, "line 40"));
    HOLDS(t, vitro_type(t, "q"));
    HOLDS(t, vitro_term_expect_exit(t, 0, 0));
}

TEST(python_asks_with_input_and_the_prompt_is_there_before_it_reads)
{
    need_program("python3");
    TERM *t = open_term(.box.argv = ARGV("python3", "-c", "print('hi', input('name? '))"));

    HOLDS(t, vitro_expect(t, "name? ", .before_read = 1));
    HOLDS(t, vitro_type(t, "Zo\xc3\xab<Enter>"));
    HOLDS(t, vitro_expect(t, "hi Zo\xc3\xab"));
    HOLDS(t, vitro_term_expect_exit(t, 0, 0));
}

TEST(a_readline_prompt_edits_and_remembers)
{
    need_program("python3");
    TERM *t = open_term(.box.argv = ARGV("python3", "-c",
                                         "import readline\n"
                                         "while True:\n"
                                         "    a = input('% ')\n"
                                         "    if not a: break\n"
                                         "    print('<' + a + '>')\n"));

    HOLDS(t, vitro_expect(t, "% ", .before_read = 1));
    HOLDS(t, vitro_type(t, "word<Left><Left><C-k><C-a>a <Enter>"));
    HOLDS(t, vitro_expect(t, "<a wo>"));
    HOLDS(t, vitro_type(t, "<Up><Enter>"));
    HOLDS(t, vitro_expect(t, "<a wo>"));
    HOLDS(t, vitro_type(t, "<Enter>"));
    HOLDS(t, vitro_term_expect_exit(t, 0, 0));
}

TEST(a_password_prompt_reads_the_terminal_itself_and_does_not_echo)
{
    need_program("python3");
    TERM *t = open_term(.box.argv = ARGV("python3", "-c",
                                         "import getpass, os\n"
                                         "os.close(0)\n"
                                         "p = getpass.getpass('secret: ')\n"
                                         "print('length', len(p))\n"));

    HOLDS(t, vitro_expect(t, "secret: ", .before_read = 1));
    HOLDS(t, vitro_type(t, "hunter2<Enter>"));
    HOLDS(t, vitro_expect(t, "length 7"));
    HOLDS(t, vitro_term_expect_exit(t, 0, 0));
    HOLDS(t, vitro_term_never(t, &(struct vitro_term_look){.text = "hunter2"}));
}

TEST(a_curses_program_waits_for_keys_and_for_time)
{
    need_program("python3");
    TERM *t = open_term(.box.argv = ARGV("python3", "-c",
                                         "import curses\n"
                                         "def run(s):\n"
                                         "    s.addstr(2, 5, 'title', curses.A_BOLD)\n"
                                         "    s.addstr(3, 5, 'key ' + s.getkey())\n"
                                         "    s.timeout(500)\n"
                                         "    s.addstr(4, 5, 'then %d' % s.getch())\n"
                                         "    s.timeout(-1)\n"
                                         "    s.getch()\n"
                                         "curses.wrapper(run)\n"));

    HOLDS(t, vitro_see(t, "title", .row = 3, .col = 6, .style = "bold", .alternate = 1));
    HOLDS(t, vitro_type(t, "<F5>"));
    HOLDS(t, vitro_see(t, "key KEY_F(5)", .row = 4, .style = "no-bold"));
    HOLDS(t, vitro_see(t, "then -1", .row = 5)); /* half a second later */
    struct vitro_term_state state;
    vitro_term_state(t, &state);
    CHECK_INT(state.virtual_ns, 500 * MS);
    HOLDS(t, vitro_type(t, "q"));
    HOLDS(t, vitro_term_expect_exit(t, 0, 0));
}

TEST(dialog_asks_yes_or_no)
{
    need_program("dialog");
    TERM *t = open_term(.box.argv = ARGV("dialog", "--yesno", "Go on?", "7", "30"));

    HOLDS(t, vitro_see(t, "Go on?"));
    HOLDS(t, vitro_see(t, "< Yes >", .cursor_visible = 1));
    HOLDS(t, vitro_type(t, "<Tab><Enter>"));
    HOLDS(t, vitro_term_expect_exit(t, 1, 0));
}

TEST(dialog_is_clicked)
{
    need_program("dialog");
    TERM *t = open_term(.box.argv = ARGV("dialog", "--yesno", "Go on?", "7", "40"));
    struct vitro_term_place no;

    HOLDS(t, vitro_term_see(t, &(struct vitro_term_look){.text = "< No"}, &no));
    CLEANUP(mem_free) char *click = mem_format("<Click %u,%u>", no.row, no.col + 2);
    HOLDS(t, vitro_term_type(t, click));
    HOLDS(t, vitro_term_expect_exit(t, 1, 0));
}
