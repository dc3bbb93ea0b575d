/* SPDX-License-Identifier: MIT */
/* What programs ask of the terminal and what it remembers for them: answers, modes, titles, keys.
 */
#include "term/term_internal.h"
#include "lib/check.h"
#include <string.h>

static struct screen *shown(const char *bytes)
{
    struct screen *screen = screen_new(24, 80, 10);

    screen_feed(screen, bytes, strlen(bytes));
    return screen;
}

static void answer_is(const char *question, const char *answer)
{
    CLEANUP(screen_free) struct screen *screen = shown(question);

    CHECK_TEXT(buf_text(screen_answers(screen)), answer);
}

TEST(a_program_is_told_what_the_terminal_is_and_how_it_is_set_up)
{
    answer_is("\033[c\033[0c\033Z", "\033[?1;2c\033[?1;2c\033[?1;2c");
    answer_is("\033[>q", "\033P>|vitro\033\\");
    answer_is("\033[=c", "\033P!|00000000\033\\");
    answer_is("\033[3;7H\033[6n\033[5n", "\033[3;7R\033[0n");
    answer_is("\033[18t\033[19t", "\033[8;24;80t\033[9;24;80t");
    answer_is("\033[14t\033[16t", "\033[4;432;720t\033[6;18;9t");
    answer_is("\033]10;?\a\033]11;?\033\\",
              "\033]10;rgb:e0e0/e0e0/e0e0\033\\\033]11;rgb:1c1c/1c1c/1c1c\033\\");
    answer_is("\033]11;?;?\a", "\033]11;rgb:1c1c/1c1c/1c1c\033\\\033]12;rgb:e0e0/e0e0/e0e0\033\\");
    answer_is("\033]4;0;?;16;#123;255;?;67;?\a",
              "\033]4;0;rgb:0000/0000/0000\033\\\033]4;255;rgb:eeee/eeee/eeee\033\\"
              "\033]4;67;rgb:5f5f/8787/afaf\033\\");
    answer_is("\033[?1049$p\033[?1049h\033[?1049$p", "\033[?1049;2$y\033[?1049;1$y");
    answer_is("\033[?9999$p\033[4$p", "\033[?9999;0$y\033[4;0$y");
    answer_is("\033P+q436f;544e\033\\", "\033P1+r436f=323536\033\\\033P0+r544e\033\\");
    answer_is("\033P$qm\033\\\033P$q|\033\\", "\033P1$rm\033\\\033P0$r\033\\");
}

TEST(questions_that_most_terminals_leave_open_and_broken_ones_are_not_answered)
{
    answer_is("\033[?u\033]52;c;?\a\033[?996n\005", "");
    answer_is("\033]10;red\a\033]1\a\033]4;\a\033]4;256;?\a\033]4;1\a\033]19;?\a", "");
    answer_is("\033P+q\033\\\033P+q4\033\\\033P+qzz\033\\\033P+q4;\033\\\033P\033\\", "");
    answer_is("\033[>1;2q\033[14;2;9t\033[99t", "");
}

TEST(a_program_that_asks_without_reading_has_a_limit)
{
    CLEANUP(screen_free) struct screen *screen = shown("");

    for (int i = 0; i < 100000; i++)
        screen_feed(screen, "\033[>q", 4);
    CHECK_TRUE(screen_answers(screen)->length <= 64 << 10);
    CHECK_TRUE(screen_answers(screen)->length % strlen("\033P>|vitro\033\\") == 0);
}

static void keys_are(const char *modes, const char *keys, const char *bytes)
{
    CLEANUP(screen_free) struct screen *screen = shown(modes);
    CLEANUP(buf_done) struct buf sent = {0};
    struct err err = {0};

    CHECK_OK(keys_encode(screen, keys, &sent, NULL, &err), err);
    CHECK_TEXT(buf_text(&sent), bytes);
}

TEST(modes_hold_wherever_they_stand_in_a_list)
{
    keys_are("\033[?1006;1000h", "<Click 3,10>", "\033[<0;10;3M\033[<0;10;3m");
    keys_are("\033[?1000;1006h", "<Click 3,10>", "\033[<0;10;3M\033[<0;10;3m");
    keys_are("\033[?1;2004h", "<Up><Paste x>", "\033OA\033[200~x\033[201~");
    keys_are("\033[?1;2004;1004h\033[?2004;1l", "<Up><Paste x><FocusIn>", "\033[Ax\033[I");
    CLEANUP(screen_free) struct screen *screen = shown("\033[?25;1049;7l\033[?7;1049h\033[4;20hx");
    struct vitro_term_state state;
    screen_state(screen, &state);
    CHECK_INT(state.alternate, 1);
    CHECK_INT(state.cursor_visible, 0);
    answer_is("\033[?;25l\033[?25$p\033[?1;2;3;4;5;6;7;8;9;10;11;12;13;14;15;25;16h",
              "\033[?25;2$y");
}

/* libvterm would take what follows for a sequence of its own, unfiltered. */
TEST(escapes_with_bytes_between_do_not_carry_others_past_the_filter)
{
    static const char *const texts[] = {"\033$[9999999b", "\033\n[9999999b", "\033 [9999999b",
                                        "\033(\033[>q", "\033((([1b"};
    CLEANUP(screen_free) struct screen *line = shown("\033(0lqk\033(B\033#8\033)0\016x\033%Gy");
    struct vitro_term_cell cell;

    for (size_t i = 0; i < ARRAY_LENGTH(texts); i++)
        (void)screen_free(shown(texts[i]));
    CHECK_INT(screen_cell(line, 2, 1, &cell), 0);
    CHECK_TEXT(cell.text, "E");
    answer_is("\033(\033[>q", "\033P>|vitro\033\\");
    answer_is("\033\n[>q", "\033P>|vitro\033\\");
    answer_is("\033\x18[>q\033\xc3\xa9[>q", "");
}

TEST(the_mouse_is_used_with_modifiers_and_between_other_keys)
{
    keys_are("\033[?1000;1006h", "a<Click 1,2>b", "a\033[<0;2;1M\033[<0;2;1mb");
    keys_are("\033[?1000;1006h", "<C-Click 3,10>", "\033[<16;10;3M\033[<16;10;3m");
    keys_are("\033[?1002;1006h", "<S-M-Drag 1,1 2,2>", "\033[<12;1;1M\033[<44;2;2M\033[<12;2;2m");
}

static void title_is(const char *bytes, const char *title, const char *icon)
{
    CLEANUP(screen_free) struct screen *screen = shown(bytes);
    struct vitro_term_state state;

    screen_state(screen, &state);
    CHECK_TEXT(state.title, title);
    CHECK_TEXT(state.icon, icon);
}

TEST(titles_are_put_away_and_come_back)
{
    title_is("\033]0;mine\a\033[22;0t\033]0;vim\a", "vim", "vim");
    title_is("\033]0;mine\a\033[22;0;0t\033]0;vim\a\033[23;0;0t", "mine", "mine");
    title_is("\033]2;a\a\033[22;2t\033]2;b\a\033[22t\033]2;c\a\033[23;1t\033[23;2t", "b", "");
    title_is("\033]2;a\a\033[23t\033[23t", "a", "");
    title_is("\033]2;a\xe4\xb8\a", "a", "");
    title_is("\033]2;a\001b\xff\a", "a b\xef\xbf\xbd", "");
    CLEANUP(screen_free) struct screen *screen = shown("");
    for (int i = 0; i < 20; i++)
        screen_feed(screen, "\033[22t", 5);
    for (int i = 0; i < 30; i++)
        screen_feed(screen, "\033[23t", 5);
}

TEST(clearing_the_lines_above_the_screen_clears_them)
{
    CLEANUP(screen_free) struct screen *screen = shown("\033[24Hone\n\n\033[1Hleft");
    struct vitro_term_state state;

    screen_state(screen, &state);
    CHECK_INT(state.scrollback, 2);
    screen_feed(screen, "\033[3J", 4);
    screen_state(screen, &state);
    CHECK_INT(state.scrollback, 0);
    CLEANUP(buf_done) struct buf row = {0};
    screen_row_text(screen, 1, &row, NULL);
    CHECK_INT(strncmp(buf_text(&row), "left", 4), 0);
}
