/* SPDX-License-Identifier: MIT */
#include "term/pen.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { /* numbers of SGR */
       RESET = 0,
       FAINT = 2,
       HIDDEN = 8,
       FONT_FIRST = 10,
       FONT_LAST = 19,
       NORMAL = 22, /* neither bold nor faint */
       SHOWN = 28,
       FOREGROUND = 38,
       BACKGROUND = 48,
       UNDERLINE_COLOUR = 58,
};

/* How many numbers behind this one say which colour it is: ;5;N or ;2;R;G;B. With colons all is in
 * one place. */
static int colour_numbers(const char *number, const char *rest, const char *end)
{
    if (memchr(number, ':', (size_t)(rest - number)) || rest == end)
        return 0;
    return atoi(rest + 1) == 5 ? 2 : atoi(rest + 1) == 2 ? 4 : 0;
}

static const char *next_separator(const char *at, const char *end)
{
    const char *found = memchr(at, ';', (size_t)(end - at));

    return found ? found : end;
}

/* 38:2:SPACE:R:G:B has a colour space, which libvterm would take for red. */
static size_t add_number(char *ret, const char *at, const char *stop)
{
    size_t used = 0, colons = 0, all = 0;

    for (const char *p = at; p < stop; p++)
        all += *p == ':';
    bool space = all >= 5 && (atoi(at) == FOREGROUND || atoi(at) == BACKGROUND) &&
                 atoi((const char *)memchr(at, ':', (size_t)(stop - at)) + 1) == 2;
    for (const char *p = at; p < stop; p++) {
        colons += *p == ':';
        if (!space || colons != 2)
            ret[used++] = *p;
    }
    return used;
}

size_t pen_sgr(struct pen *pen, const char *numbers, size_t length, char *ret)
{
    const char *end = numbers + length;
    unsigned char before = pen->now;
    size_t used = 2, kept = 0;
    bool reset = false;

    memcpy(ret, "\033[", 2);
    for (const char *at = numbers, *stop;; at = stop + 1) {
        stop = next_separator(at, end);
        int number = at == stop ? RESET : atoi(at);
        bool ours = (number >= FONT_FIRST && number <= FONT_LAST) || number == UNDERLINE_COLOUR;
        if (number == FOREGROUND || number == BACKGROUND || number == UNDERLINE_COLOUR)
            for (int more = colour_numbers(at, stop, end); more && stop < end; more--)
                stop = next_separator(stop + 1, end);
        if (number == RESET) {
            pen->now = 0;
            reset = true;
        } else if (number == FAINT || number == HIDDEN) {
            pen->now |= number == FAINT ? PEN_FAINT : PEN_HIDDEN;
            ours = true;
        } else if (number == NORMAL) {
            pen->now &= (unsigned char)~PEN_FAINT;
        } else if (number == SHOWN) {
            pen->now &= (unsigned char)~PEN_HIDDEN;
            ours = true;
        }
        if (!ours) {
            if (kept++)
                ret[used++] = ';';
            used += add_number(ret + used, at, stop);
        }
        if (stop == end)
            break;
    }
    if (kept)
        ret[used++] = 'm';
    else
        used = 0;
    if (pen->now != before || (reset && pen->now))
        used += (size_t)sprintf(ret + used, "\033[%dm", FONT_FIRST + pen->now);
    return used;
}

static void save(struct pen *pen)
{
    pen->saved = pen->now;
}

static void restore(struct pen *pen)
{
    pen->now = pen->saved;
}

void pen_escape(struct pen *pen, char final)
{
    if (final == '7')
        save(pen);
    else if (final == '8')
        restore(pen);
    else if (final == 'c')
        *pen = (struct pen){0};
}

/* Modes 1048 and 1049 save when they are set, wherever they stand in a list. */
static bool names_saving(const char *numbers)
{
    for (const char *at = numbers; at; at = strchr(at, ';') ? strchr(at, ';') + 1 : NULL)
        if (atoi(at) == 1048 || atoi(at) == 1049)
            return true;
    return false;
}

void pen_control(struct pen *pen, const char *sequence, char final)
{
    if (final == 's' && !*sequence)
        save(pen);
    else if (final == 'u' && !*sequence)
        restore(pen);
    else if (final == 'p' && strcmp(sequence, "!") == 0)
        pen->now = 0;
    else if (*sequence == '?' && final == 'h' && names_saving(sequence + 1))
        save(pen);
    else if (*sequence == '?' && final == 'l' && names_saving(sequence + 1))
        restore(pen);
}

void pen_add_told(struct buf *ret, const char *told)
{
    static const char *const names[] = {"2", "8", "2;8"};

    while (*told) {
        size_t length = strspn(told, "0123456789");
        int number = length == 2 ? atoi(told) : 0;
        if (number > FONT_FIRST && number <= FONT_FIRST + 3)
            buf_adds(ret, names[number - FONT_FIRST - 1]);
        else
            buf_add(ret, told, length ? length : 1);
        told += length ? length : 1;
    }
}
