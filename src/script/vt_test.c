/* SPDX-License-Identifier: MIT */
#include "script/vt.h"
#include "script/play.h"
#include "lib/check.h"
#include <errno.h>

static struct vt_text *read_ok(const char *text)
{
    struct vt_text *ret = NULL;
    struct err err = {0};

    CHECK_OK(vt_read("a.vt", text, strlen(text), &ret, &err), err);
    return ret;
}

static void read_fails(const char *text, const char *message)
{
    struct vt_text *ret = NULL;
    struct err err = {0};

    CHECK_INT(vt_read("a.vt", text, strlen(text), &ret, &err), -EINVAL);
    CHECK_HAS(err.text, message);
    CHECK_TRUE(!ret);
}

TEST(lines_are_a_tree_by_indentation)
{
    CLEANUP(vt_free) struct vt_text *text =
        read_ok("run x\n  see \"a\"\n    deep\n  type b\nfile f\n");

    CHECK_INT(text->line_count, 2);
    CHECK_INT(text->lines[0].line_count, 2);
    CHECK_INT(text->lines[0].lines[0].line_count, 1);
    CHECK_INT(text->lines[0].lines[1].line, 4);
    CHECK_TEXT(text->lines[1].words[1].source, "f");
}

TEST(words_are_bare_quoted_literal_or_joined)
{
    CLEANUP(vt_free) struct vt_text *text =
        read_ok("a --x=\"b c\"'$d' \"\\n\\x41\\u{e9}\\0\" $v ${w}z 5$ \"a $v\"\n");
    const struct vt_token *words = text->lines[0].words;

    CHECK_INT(text->lines[0].count, 7);
    CHECK_INT(words[1].part_count, 3);
    CHECK_TEXT(words[1].parts[0].text, "--x=");
    CHECK_TEXT(words[1].parts[1].text, "b c");
    CHECK_TEXT(words[1].parts[2].text, "$d");
    CHECK_INT(words[2].parts[0].length, 5);
    CHECK_TRUE(memcmp(words[2].parts[0].text, "\nA\xc3\xa9\0", 5) == 0);
    CHECK_TRUE(words[3].parts[0].variable);
    CHECK_TEXT(words[4].parts[0].text, "w");
    CHECK_TEXT(words[4].parts[1].text, "z");
    CHECK_TEXT(words[5].parts[0].text, "5");
    CHECK_TEXT(words[5].parts[1].text, "$");
    CHECK_TRUE(words[6].parts[1].variable && words[6].quoted);
}

TEST(cells_of_a_row_are_texts_quoted_texts_or_literals)
{
    CLEANUP(vt_free) struct vt_text *text =
        read_ok("examples\n  | a b | \"c | d\" | '{\"e\" | $f}' | 'g' h | 'i'j' |\n");
    const struct vt_token *words = text->lines[0].lines[0].words;

    CHECK_INT(text->lines[0].lines[0].count, 5);
    CHECK_TEXT(words[0].parts[0].text, "a b");
    CHECK_TEXT(words[1].parts[0].text, "c | d");
    CHECK_TEXT(words[2].parts[0].text, "{\"e\" | $f}");
    CHECK_TEXT(words[3].parts[0].text, "'g' h");
    CHECK_TEXT(words[4].parts[0].text, "'i'j'");
    CHECK_TEXT(words[2].source, "'{\"e\" | $f}'");
}

TEST(expressions_keys_and_lists_are_told_apart_from_paths)
{
    CLEANUP(vt_free) struct vt_text *text =
        read_ok("x /a b\\/c/i /usr/bin/env <C-c> [\"a\", /b/, c*, ...] <\n");
    const struct vt_token *words = text->lines[0].words;

    CHECK_INT(words[1].kind, VT_REGEX);
    CHECK_TEXT(words[1].parts[0].text, "a b\\/c");
    CHECK_TEXT(words[1].flags, "i");
    CHECK_INT(words[2].kind, VT_WORD);
    CHECK_INT(words[3].kind, VT_KEY);
    CHECK_INT(words[4].kind, VT_VECTOR);
    CHECK_INT(words[4].item_count, 4);
    CHECK_INT(words[4].items[1].kind, VT_REGEX);
    CHECK_TEXT(vt_keyword(&words[4].items[3]), "...");
    CHECK_INT(words[5].kind, VT_WORD);
}

TEST(files_come_with_the_text)
{
    CLEANUP(vt_free) struct vt_text *text =
        read_ok("run x\n-- a/b.txt --\none\n\n-- empty --\n-- last --\nno newline");

    CHECK_INT(text->file_count, 3);
    CHECK_TEXT(text->files[0].name, "a/b.txt");
    CHECK_TEXT(text->files[0].bytes, "one\n\n");
    CHECK_TEXT(text->files[1].bytes, "");
    CHECK_TEXT(text->files[2].bytes, "no newline");
    CHECK_INT(text->files[2].line, 6);
    CLEANUP(vt_free) struct vt_text *foreign = read_ok("\xef\xbb\xbfrun x\r\n-- a --\r\none\r\n");
    CHECK_INT(foreign->line_count, 1);
    CHECK_TEXT(foreign->files[0].name, "a");
}

TEST(what_is_wrong_has_line_and_column)
{
    read_fails("ok\nsee \"abc\n", "a.vt:2:5: the text that begins here has no closing \"");
    read_fails("ok\n-- a --\nx\n-- a --\n",
               "a.vt:4:4: the file 'a' comes a second time, after line 2");
    read_fails("ok\n\xef\xbb\xbfok\n", "a.vt:2:1: a byte order mark");
    read_fails("see 'abc\n", "a.vt:1:5: the text that begins here has no closing '");
    read_fails("reply [\"a\"\n", "a.vt:1:7: the list that begins here has no closing ]");
    read_fails("reply [,\n", "a.vt:1:8: a pattern is missing before this comma");
    read_fails("reply [a,]\n", "a.vt:1:10: a pattern is missing behind the comma");
    read_fails("reply [a b]\n", "a.vt:1:10: expected a comma or ]");
    read_fails("see \"\\q\"\n", "a.vt:1:6: '\\q' is not an escape\nhint: there are");
    read_fails("see \"\\x4\"\n", "'\\x' is not followed by two hexadecimal digits");
    read_fails("see \"\\u{110000}\"\n", "write a character as \\u{1F600}");
    read_fails("see \"\\u{d800}\"\n", "write a character as");
    read_fails("see ${a\n", "a.vt:1:5: '${' is not followed by a name and '}'");
    read_fails("  a\n", "a.vt:1:1: the first line is indented");
    read_fails("a\n  b\n   c\n d\n", "a.vt:4:2: indented by 1, and the lines before it by 2");
    read_fails("a\n\tb\n", "a.vt:2:1: a tab in the indentation");
    read_fails("a \x01\n", "a.vt:1:3: the byte \\x01 is not text");
    read_fails("a \xff\n", "a.vt: not a text in UTF-8");
    read_fails("é \"x\n", "a.vt:1:3: the text");
    read_fails("examples\n  | a\n", "a.vt:2:5: a row ends with |");
    read_fails("| \"a\" b |\n", "expected | behind the closing quote");
    read_fails("a\n-- x\ty --\n", "a.vt:2:5: the byte \\x09 in the name of a file");
    CLEANUP(buf_done) struct buf deep = {0};
    for (int i = 0; i < 20; i++)
        buf_addf(&deep, "%*sa\n", i, "");
    read_fails(buf_text(&deep), "a.vt:17:17: more than 16 levels");
    CLEANUP(buf_done) struct buf longer = {0};
    for (int i = 0; i < 70000; i++)
        buf_addc(&longer, 'a');
    read_fails(buf_text(&longer), "a line of more than 65536 bytes");
}

static void formats_to(const char *from, const char *to)
{
    CLEANUP(vt_free) struct vt_text *text = read_ok(from);
    CLEANUP(buf_done) struct buf once = {0};
    CLEANUP(buf_done) struct buf twice = {0};

    vt_format(text, &once);
    CHECK_TEXT(buf_text(&once), to);
    CLEANUP(vt_free) struct vt_text *again = read_ok(buf_text(&once));
    vt_format(again, &twice);
    CHECK_TEXT(buf_text(&twice), to);
}

TEST(the_form_is_one_and_stays)
{
    formats_to("run   x    y # why\n     see \"a  b\"\n     see  c\n\n\n\nfile f\n",
               "run x y  # why\n  see \"a  b\"\n  see c\n\nfile f\n");
    formats_to("examples\n | a|longer |\n | \"x y\" | z|\n",
               "examples\n  | a     | longer |\n  | \"x y\" | z      |\n");
    formats_to("reply [\"a\" ,b,   ...]  exit   1\n", "reply [\"a\", b, ...] exit 1\n");
    formats_to("# top\n\nrun x\n-- f --\n  kept   as is\n",
               "# top\n\nrun x\n\n-- f --\n  kept   as is\n");
    formats_to("", "");
}

static const char *const axes[] = {"clock", "seed", NULL};

static void check_fails(const char *text, const char *message)
{
    CLEANUP(vt_free) struct vt_text *read = read_ok(text);
    struct script_options options = {.axes.names = axes};
    struct err err = {0};

    CHECK_INT(play_check(read->lines, read->line_count, AT_TOP, &options, &err), -EINVAL);
    CHECK_HAS(err.text, message);
}

TEST(a_wrong_word_is_told_with_what_was_expected_and_the_closest)
{
    check_fails("ran x\n", "a.vt:1:1: ran is not a word in a scenario\nhint: did you mean 'run'?");
    check_fails("clokc 1\n", "did you mean 'clock'?");
    check_fails("see \"x\"\n", "see is not a word in a scenario\nhint: 'see' stands below 'run'");
    check_fails("run x\n  sea \"x\"\n",
                "a.vt:2:3: sea is not a word below 'run'\nhint: did you mean 'see'?");
    check_fails("run\n", "a.vt:1:4: expected a command, found the end of the line");
    check_fails("run x\n  see \"a\" befor \"b\"\n",
                "a.vt:2:11: expected 'or', 'before' or 'within', found befor\nhint: did you mean "
                "'before'?");
    check_fails("run x\n  see\n",
                "a.vt:2:6: expected a text or an expression, found the end of the line");
    check_fails("run x\n  see /(/\n", "a.vt:2:7");
    check_fails("run x\n  exits many\n",
                "a.vt:2:9: expected an exit code, a number up to 255, found many");
    check_fails("run x\n  exits 256\n", "a number up to 255");
    check_fails("run x\n  exits signal WHAT\n", "'WHAT' is not a signal");
    check_fails("run x\n  advance 5\n", "as 90s, 1h30m or 250ms, found 5");
    check_fails("run x\n  screen shows \"x\"\n", "expected 'is', 'contains', 'lacks'");
    check_fails("run x\n  screen contains \"x\" at 0,1\n", "a.vt:2:26: expected a place, as 3,10");
    check_fails("run x\n  resize 5\n", "expected a size, as 100x30, found 5");
    check_fails("run x\n  type \"y\" <Entr>\n",
                "a.vt:2:12: '<Entr>' is not a key\nhint: did you mean <Enter>?");
    check_fails("run x\n  press \"<Up\"\n", "a.vt:2:9: '<Up>' is not a key");
    check_fails("run x\n  press <Drag 1,1>\n", "needs two places");
    check_fails("run x\n  screen is f mask tme\n",
                "a.vt:2:20: 'tme' is no rule\nhint: did you mean 'time'?");
    check_fails("run [a]\n", "put quotes around it");
    check_fails("write \"a\\0b\" x\n", "cannot hold a NUL");
    check_fails("env x\n", "expected a value, found the end of the line");
    check_fails("set 1x y\n", "'1x' is not a name");
    check_fails("file x containz \"y\"\n", "did you mean 'contains'?");
    check_fails("file x json \"{\"\n", "what is wanted");
    check_fails("file x mode 7 8\n", "a.vt:1:15: expected the end of the line, found 8");
    check_fails("chmod 9 x\n", "'9' is not a mode");
    check_fails("size 80\n", "expected a size, as 80x24");
    check_fails("copy a b\n", "expected 'to', found b");
    check_fails("replace f \"a\" by \"b\"\n", "expected 'with', found by");
    check_fails("write f x\n  y\n", "a.vt:2:3: 'write' has no lines below it");
    check_fails("scenario \"a\"\n  run x\n",
                "a.vt:2:3: 'scenario' has no lines below it\nhint: the lines of a scenario are not "
                "indented");
    check_fails("| a |\n", "a row of a table belongs below 'examples'");
    check_fails("shim gh callde\n", "did you mean 'called'?");
    check_fails("shim gh never seen\n", "expected 'called', found seen");
    check_fails("shim gh called many times\n", "a number up to");
    check_fails("shim gh call 1 stdout \"x\"\n", "expected 'is', 'stdin', 'cwd' or 'env'");
    check_fails("shim gh\n  reply [a, ..., b]\n", "'...' stands at the end of a list");
    check_fails("shim gh\n  reply stdot \"x\"\n", "did you mean 'stdout'?");
    check_fails("shim gh\n  reply [/(/] exit 0\n", "a.vt:2:10");
    check_fails("shim gh\n  reply with exit 0\n", "expected quoted texts or expressions");
    check_fails("shim gh\n  record\n", "expected a file, found the end of the line");
    check_fails("shim gh\n  replay a b\n", "expected the end of the line, found b");
    check_fails("clients deck\n", "expected sizes, as 80x24 120x40");
    check_fails("clients deck 80\n", "expected a size, as 80x24, found 80");
    check_fails("repeat x\n  exec true\n", "expected how often");
    check_fails("repeat 0\n  exec true\n", "a.vt:1:8: nothing would be played");
    check_fails("repeat 2\n", "expected lines below 'repeat'");
    check_fails("quota lots\n", "expected a size, as 4096, 512k or 64m, found lots");
    check_fails("run x\n  press Enter\n", "a.vt:2:9: expected a key, as <Enter>");
    check_fails("run x\n  screen contains \"x\" style \"bolt\"\n",
                "a.vt:2:29: 'bolt' is no style\nhint: did you mean 'bold'?");
    check_fails("exec true\n  capture x \"y\"\n", "expected an expression, as /id: (.*)/");
    check_fails("exec true\n  stdout is\n", "expected a text, found the end of the line");
    check_fails("tmux\n", "expected a command");
    check_fails("pane x says y\n", "expected 'shows', 'lacks' or 'is', found says");
}

TEST(every_word_has_usage_and_help_and_the_table_is_sorted)
{
    for (const struct play_word *word = play_words; word->name; word++) {
        CHECK_TRUE(word->usage && word->help);
        CHECK_TRUE(strncmp(word->usage, word->name, strlen(word->name)) == 0);
        if (word > play_words)
            CHECK_TRUE(strcmp(word[-1].name, word->name) < 0);
    }
}
