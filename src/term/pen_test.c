/* SPDX-License-Identifier: MIT */
#include "term/term_internal.h"
#include "lib/check.h"
#include <string.h>

static struct screen *shown(const char *bytes)
{
    struct screen *screen = screen_new(4, 40, 10);

    screen_feed(screen, bytes, strlen(bytes));
    return screen;
}

/* The styles of the first row's characters: f faint, h hidden, b bold, u underlined, k blinking,
 * . none, in this order where there are several. */
static void styles_are(const char *bytes, const char *text, const char *styles)
{
    struct screen *screen = shown(bytes);
    CLEANUP(buf_done) struct buf row = {0};
    CLEANUP(buf_done) struct buf seen = {0};

    screen_row_text(screen, 1, &row, NULL);
    while (row.length && row.data[row.length - 1] == ' ')
        buf_cut(&row, row.length - 1);
    CHECK_TEXT(buf_text(&row), text);
    for (unsigned col = 1; col <= strlen(styles); col++) {
        struct vitro_term_cell cell;
        CHECK_INT(screen_cell(screen, 1, col, &cell), 0);
        buf_addc(&seen, cell.attributes & VITRO_TERM_FAINT       ? 'f'
                        : cell.attributes & VITRO_TERM_HIDDEN    ? 'h'
                        : cell.attributes & VITRO_TERM_BOLD      ? 'b'
                        : cell.attributes & VITRO_TERM_UNDERLINE ? 'u'
                        : cell.attributes & VITRO_TERM_BLINK     ? 'k'
                                                                 : '.');
    }
    CHECK_TEXT(buf_text(&seen), styles);
    screen_free(screen);
}

TEST(faint_and_hidden_are_kept_with_other_attributes)
{
    styles_are("\033[2ma\033[0mb\033[;2mc\033[md", "abcd", "f.f.");
    styles_are("\033[1;2ma\033[22mb\033[1mc", "abc", "f.b");
    styles_are("\033[8ma\033[28mb\033[2;8mc\033[28md\033[22me", " b de", "h.ff.");
    styles_are("\033[2;0ma\033[0;2mb\033[2;0;4mc", "abc", ".fu");
}

TEST(hidden_text_is_on_no_screen_and_in_no_scrollback)
{
    struct screen *screen = shown("\033[8msecret \xe4\xb8\x96\033[0m|\r\n\n\n\n\n");
    CLEANUP(buf_done) struct buf text = {0};

    CHECK_TRUE(screen_scrollback_text(screen, 2, &text));
    CHECK_TEXT(buf_text(&text), "         |");
    screen_free(screen);
}

TEST(the_pen_is_saved_and_restored_by_every_sequence_that_does_so)
{
    styles_are("\033[2m\033\067\033[0ma\033\070b\033[0m", "b", "f");
    styles_are("\033[2m\033[s\033[0ma\033[ub", "b", "f");
    styles_are("\033[2m\033[?1048h\033[0ma\033[?1048lb", "b", "f");
    styles_are("\033[2m\033[?1049h\033[0;8mx\033[?1049lab", "ab", "ff");
    styles_are("\033[2m\033[!pa", "a", ".");
    styles_are("\033[2mx\033ca", "a", ".");
}

TEST(numbers_of_colours_are_no_attributes)
{
    styles_are("\033[38;5;2ma\033[48;2;2;8;2mb\033[38;5;8;2mc", "abc", "..f");
    styles_are("\033[38:2::2:8:2ma\033[38:5:8mb", "ab", "..");
    styles_are("\033[58;5;2ma\033[58;2;1;8;5mb\033[4;58:5:5;59mc", "abc", "..u");
    styles_are("\033[12ma\033[10mb\033[38;5ma\033[38m\033[48;2;2mb", "abab", "....");
}

TEST(a_colour_is_the_same_with_semicolons_colons_and_a_colour_space)
{
    const char *const ways[] = {"\033[38;2;1;2;3mx", "\033[38:2:1:2:3mx", "\033[38:2::1:2:3mx",
                                "\033[4;38:2:0:1:2:3;1mx"};

    for (size_t i = 0; i < ARRAY_LENGTH(ways); i++) {
        struct screen *screen = shown(ways[i]);
        struct vitro_term_cell cell;
        CHECK_INT(screen_cell(screen, 1, 1, &cell), 0);
        CHECK_INT(cell.fg.red << 16 | cell.fg.green << 8 | cell.fg.blue, 0x010203);
        screen_free(screen);
    }
}

TEST(what_is_erased_has_the_background_and_nothing_else_of_the_pen)
{
    struct screen *screen = shown("\033[7;4;1;31;44mX\033[K\033[0m");
    struct vitro_term_cell written, erased;

    CHECK_INT(screen_cell(screen, 1, 1, &written), 0);
    CHECK_INT(screen_cell(screen, 1, 2, &erased), 0);
    CHECK_INT(written.attributes, VITRO_TERM_BOLD | VITRO_TERM_UNDERLINE | VITRO_TERM_REVERSE);
    CHECK_INT(erased.attributes, 0);
    CHECK_INT(erased.fg.kind, VITRO_TERM_DEFAULT);
    CHECK_INT(erased.bg.index, 4);
    screen_free(screen);
}

TEST(a_program_that_asks_for_the_pen_is_told_its_own_numbers)
{
    struct screen *screen = shown("\033[2;8;1m\033P$qm\033\\");

    CHECK_TEXT(buf_text(screen_answers(screen)), "\033P1$r1;2;8m\033\\");
    screen_free(screen);
}
