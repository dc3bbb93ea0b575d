/* SPDX-License-Identifier: MIT */
#include "term/answer.h"
#include "base/text.h"
#include "term/term_internal.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { CAPABILITY_BYTES_MAX = 32 };

static const struct {
    const char *sequence;
    char final;
    const char *answer;
} fixed[] = {
    {">", 'q', "\033P>|vitro\033\\"}, /* XTVERSION: no number, so that it stays the same */
    {">0", 'q', "\033P>|vitro\033\\"},
    {"=", 'c', "\033P!|00000000\033\\"}, /* DA3: no serial number */
    {"=0", 'c', "\033P!|00000000\033\\"},
    {"4$", 'p', "\033[4;0$y"}, /* DECRQM of ANSI modes, which we do not tell */
    {"20$", 'p', "\033[20;0$y"},
};

/* Sizes: of the window in pixels, of a cell, of the window and of the screen in characters. */
static bool answer_size(struct buf *ret, const struct answer_facts *facts, const char *which)
{
    if (strcmp(which, "14") == 0)
        buf_addf(ret, "\033[4;%u;%ut", facts->rows * SVG_CELL_HEIGHT, facts->cols * SVG_CELL_WIDTH);
    else if (strcmp(which, "16") == 0)
        buf_addf(ret, "\033[6;%d;%dt", SVG_CELL_HEIGHT, SVG_CELL_WIDTH);
    else if (strcmp(which, "18") == 0 || strcmp(which, "19") == 0)
        buf_addf(ret, "\033[%c;%u;%ut", which[1], facts->rows, facts->cols);
    else
        return false;
    return true;
}

/* DECRQM of the modes that show the alternate screen. */
static bool answer_mode(struct buf *ret, const struct answer_facts *facts, const char *sequence)
{
    static const char *const alternate[] = {"?47$", "?1047$", "?1049$"};

    for (size_t i = 0; i < ARRAY_LENGTH(alternate); i++)
        if (strcmp(sequence, alternate[i]) == 0) {
            buf_addf(ret, "\033[?%d;%d$y", atoi(sequence + 1), facts->alternate ? 1 : 2);
            return true;
        }
    return false;
}

bool answer_control(struct buf *ret, const struct answer_facts *facts, const char *sequence,
                    char final)
{
    for (size_t i = 0; i < ARRAY_LENGTH(fixed); i++)
        if (final == fixed[i].final && strcmp(sequence, fixed[i].sequence) == 0) {
            buf_adds(ret, fixed[i].answer);
            return true;
        }
    return (final == 't' && answer_size(ret, facts, sequence)) ||
           (final == 'p' && answer_mode(ret, facts, sequence));
}

static void add_colour(struct buf *ret, const unsigned char rgb[static 3])
{
    buf_addf(ret, "rgb:%02x%02x/%02x%02x/%02x%02x\033\\", rgb[0], rgb[0], rgb[1], rgb[1], rgb[2],
             rgb[2]);
}

/* 10;?, and 10;?;? for 10 and 11: text, background, cursor. */
static bool answer_dynamic(struct buf *ret, const char *text)
{
    static const unsigned char colours[][3] = {
        {0xe0, 0xe0, 0xe0}, {0x1c, 0x1c, 0x1c}, {0xe0, 0xe0, 0xe0}};
    size_t which = (size_t)(text[1] - '0');

    if (text[0] != '1' || which >= ARRAY_LENGTH(colours) || strspn(text + 2, ";?") < 2 ||
        text[2] != ';')
        return false;
    for (const char *at = text + 2; text_starts(at, ";?") && which < ARRAY_LENGTH(colours);
         at += 2, which++) {
        buf_addf(ret, "\033]1%zu;", which);
        add_colour(ret, colours[which]);
    }
    return true;
}

/* 4;INDEX;?, any number of times */
static bool answer_palette(struct buf *ret, const struct answer_facts *facts, const char *text)
{
    if (!text_starts(text, "4;"))
        return false;
    for (const char *at = text + 1; *at == ';';) {
        char *end;
        unsigned long index = strtoul(at + 1, &end, 10);
        if (end == at + 1 || *end != ';')
            break;
        at = strchrnul(end + 1, ';');
        if (end[1] != '?' || at != end + 2 || index > 255)
            continue; /* a colour that is set */
        unsigned char rgb[3];
        facts->colour(facts->user, (unsigned)index, rgb);
        buf_addf(ret, "\033]4;%lu;", index);
        add_colour(ret, rgb);
    }
    return true;
}

static int hex_value(char c)
{
    return isdigit((unsigned char)c) ? c - '0' : (toupper((unsigned char)c) - 'A') + 10;
}

/* +q and names in hexadecimal, with ; between them. */
static void answer_capabilities(struct buf *ret, const char *names)
{
    static const struct {
        const char *name, *value;
    } known[] = {{"Co", "256"}, {"colors", "256"}, {"RGB", "8"}, {"Tc", NULL}};

    for (const char *at = names;; at++) {
        size_t length = strspn(at, "0123456789abcdefABCDEF"), found = 0;
        char name[CAPABILITY_BYTES_MAX] = "";
        if (!length || length % 2 || length / 2 >= sizeof name || (at[length] && at[length] != ';'))
            return;
        for (size_t i = 0; i < length; i += 2)
            name[i / 2] = (char)(hex_value(at[i]) << 4 | hex_value(at[i + 1]));
        while (found < ARRAY_LENGTH(known) && strcmp(name, known[found].name) != 0)
            found++;
        bool is_known = found < ARRAY_LENGTH(known);
        buf_addf(ret, "\033P%d+r%.*s", is_known, (int)length, at);
        for (const char *c = is_known ? known[found].value : NULL, *first = c; c && *c; c++)
            buf_addf(ret, "%s%02x", c == first ? "=" : "", *c);
        buf_adds(ret, "\033\\");
        at += length;
        if (!*at)
            return;
    }
}

bool answer_string(struct buf *ret, const struct answer_facts *facts, char kind, const char *text,
                   size_t length)
{
    if (kind == ']' && length >= 4)
        return answer_dynamic(ret, text) || answer_palette(ret, facts, text);
    if (kind != 'P' || length < 2)
        return false;
    if (text_starts(text, "+q"))
        answer_capabilities(ret, text + 2);
    else if (text_starts(text, "$q"))
        buf_adds(ret, "\033P0$r\033\\"); /* a setting that we do not have */
    else
        return false;
    return true;
}
