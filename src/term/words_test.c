/* SPDX-License-Identifier: MIT */
/* What is left of a stream without what nobody sees, and where it stands in it. */
#include "term/words.h"
#include "lib/check.h"
#include <string.h>

static void words_are(const char *stream, const char *text)
{
    size_t length = strlen(stream);

    for (size_t piece = 1; piece <= length; piece++) { /* however the bytes come */
        struct words words = {0};
        CLEANUP(buf_done) struct buf bytes = {0};
        for (size_t at = 0; at < length; at += piece) {
            buf_add(&bytes, stream + at, at + piece < length ? piece : length - at);
            words_feed(&words, &bytes);
        }
        CHECK_TEXT(buf_text(&words.text), text);
        for (size_t at = 0; at < words.text.length; at++) {
            size_t offset = words_to_stream(&words, at);
            CHECK_INT(stream[offset], words.text.data[at]);
            CHECK_INT(words_from_stream(&words, offset), at);
        }
        words_done(&words);
    }
}

TEST(what_shows_nothing_and_moves_nothing_is_left_out)
{
    words_are("a\033[1;31mb\033[mc", "abc");
    words_are("\033[?2004h$ \033[?25l\033[?25h\033[?7l\033[?7hx\033[K", "$ x");
    words_are("\033]0;a title\ax\033]8;;http://a.test/\033\\link\033]8;;\033\\", "xlink");
    words_are("\033P+q544e\033\\a\033(B\033)0\033=\033>b\016\017c", "abc");
    words_are("a\033[6n\033[c\033[>c\033[>4;2m\033[=1u\033[?u\033[2 q\033[22;0t\033[!pb", "ab");
    words_are("\033[31m", "");
}

TEST(what_moves_the_cursor_or_the_screen_stays)
{
    static const char *const moves[] = {"a\033[Hb",      "a\033[2Cb",        "a\033[2Jb",
                                        "a\033[?1049hb", "a\033[?25;1049lb", "a\0337b\033[ub",
                                        "a\033Mb",       "a\033#8b",         "a\rb\n\tc\b",
                                        "a\033[5Pb",     "a\033[3@b"};
    for (size_t i = 0; i < sizeof moves / sizeof *moves; i++)
        words_are(moves[i], moves[i]);
}

TEST(what_is_no_sequence_or_has_no_end_yet_is_not_lost)
{
    words_are("a\033[3\nb", "a\033[3\nb");
    words_are("a\033[3", "a");
    words_are("a\033]0;x\033[1mb", "ab"); /* an escape ends a string */
    struct words words = {0};
    CLEANUP(buf_done) struct buf bytes = {0};
    buf_adds(&bytes, "\033]0;");
    for (int i = 0; i < 5000; i++)
        buf_addc(&bytes, 'x');
    words_feed(&words, &bytes);
    CHECK_INT(words.text.length, bytes.length);
    CHECK_INT(words_from_stream(&words, 100), 100);
    words_done(&words);
}

TEST(places_within_what_is_left_out_are_where_it_was)
{
    struct words words = {0};
    CLEANUP(buf_done) struct buf bytes = {0};

    buf_adds(&bytes, "ab\033[1mcd");
    words_feed(&words, &bytes);
    CHECK_INT(words_from_stream(&words, 4), 2);
    CHECK_INT(words_from_stream(&words, 6), 2);
    CHECK_INT(words_from_stream(&words, 7), 3);
    CHECK_INT(words_from_stream(&words, 99), 4);
    CHECK_INT(words_to_stream(&words, 2), 6);
    words_done(&words);
}
