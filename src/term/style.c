/* SPDX-License-Identifier: MIT */
/* style: how cells look, in words. */
#include "term/grid.h"
#include "term/term.h"
#include "base/text.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    unsigned bit;
} attributes[] = {
    {"bold", VITRO_TERM_BOLD},
    {"italic", VITRO_TERM_ITALIC},
    {"underline", VITRO_TERM_UNDERLINE},
    {"blink", VITRO_TERM_BLINK},
    {"reverse", VITRO_TERM_REVERSE},
    {"strike", VITRO_TERM_STRIKE},
    {"double-underline", VITRO_TERM_DOUBLE_UNDERLINE},
    {"curly-underline", VITRO_TERM_CURLY_UNDERLINE},
    {"faint", VITRO_TERM_FAINT},
    {"hidden", VITRO_TERM_HIDDEN},
};
static const char *const colours[] = {
    "black",        "red",           "green",       "yellow",         "blue",
    "magenta",      "cyan",          "white",       "bright-black",   "bright-red",
    "bright-green", "bright-yellow", "bright-blue", "bright-magenta", "bright-cyan",
    "bright-white", "default"};

static int unknown(const char *word, struct err *err)
{
    const char *known[ARRAY_LENGTH(attributes) + ARRAY_LENGTH(colours) + 3];
    size_t count = 0;
    const char *plain =
        strncmp(word, "no-", 3) == 0 || strncmp(word, "fg=", 3) == 0 || strncmp(word, "bg=", 3) == 0
            ? word + 3
            : word;

    for (size_t i = 0; i < ARRAY_LENGTH(attributes); i++)
        known[count++] = attributes[i].name;
    for (size_t i = 0; i < ARRAY_LENGTH(colours); i++)
        known[count++] = colours[i];
    known[count++] = "plain";
    const char *near = text_closest(plain, known, count);
    err_set(err, -EINVAL, "'%s' is no style", word);
    return near ? err_hint(err, "did you mean '%s'?", near)
                : err_hint(err, "write bold, faint, italic, underline, blink, reverse, strike, "
                                "hidden, no-bold, "
                                "plain, fg=red, bg=bright-blue, fg=123, bg=#202020, fg=default");
}

static bool parse_colour(const char *text, struct vitro_term_colour *ret, bool *rgb)
{
    unsigned red, green, blue;
    uint64_t index;

    *rgb = false;
    for (size_t i = 0; i < ARRAY_LENGTH(colours); i++)
        if (strcmp(text, colours[i]) == 0) {
            ret->kind = i == 16 ? VITRO_TERM_DEFAULT : VITRO_TERM_INDEXED;
            ret->index = (unsigned char)(i % 16);
            return true;
        }
    if (strlen(text) == 7 && sscanf(text, "#%2x%2x%2x", &red, &green, &blue) == 3) {
        *ret = (struct vitro_term_colour){VITRO_TERM_RGB, 0, (unsigned char)red,
                                          (unsigned char)green, (unsigned char)blue};
        *rgb = true;
        return true;
    }
    if (!text_to_u64(text, &index) || index > 255)
        return false;
    *ret = (struct vitro_term_colour){.kind = VITRO_TERM_INDEXED, .index = (unsigned char)index};
    return true;
}

static int parse_word(const char *word, struct style *ret, struct err *err)
{
    bool no = strncmp(word, "no-", 3) == 0;

    for (size_t i = 0; i < ARRAY_LENGTH(attributes); i++)
        if (strcmp(word + (no ? 3 : 0), attributes[i].name) == 0) {
            *(no ? &ret->off : &ret->on) |= attributes[i].bit;
            return 0;
        }
    if (strcmp(word, "plain") == 0) {
        ret->off = ~0u;
        ret->has_fg = ret->has_bg = true;
        ret->fg.kind = ret->bg.kind = VITRO_TERM_DEFAULT;
        return 0;
    }
    if (strncmp(word, "fg=", 3) == 0 && parse_colour(word + 3, &ret->fg, &ret->fg_is_rgb))
        return ret->has_fg = true, 0;
    if (strncmp(word, "bg=", 3) == 0 && parse_colour(word + 3, &ret->bg, &ret->bg_is_rgb))
        return ret->has_bg = true, 0;
    return unknown(word, err);
}

int style_parse(const char *text, struct style *ret, struct err *err)
{
    CLEANUP(mem_free) char *copy = mem_dup(text);
    char *save = NULL;
    int r = 0;

    *ret = (struct style){0};
    for (char *word = strtok_r(copy, " ,", &save); word && r == 0;
         word = strtok_r(NULL, " ,", &save))
        r = parse_word(word, ret, err);
    return r;
}

int term_check_style(const char *style, struct err *err)
{
    struct style unused;

    return style_parse(style, &unused, err);
}

static bool same_colour(const struct vitro_term_colour *want, bool rgb,
                        const struct vitro_term_colour *have)
{
    if (rgb)
        return have->kind != VITRO_TERM_DEFAULT && want->red == have->red &&
               want->green == have->green && want->blue == have->blue;
    return want->kind == have->kind &&
           (want->kind != VITRO_TERM_INDEXED || want->index == have->index);
}

bool style_fits(const struct style *style, const struct vitro_term_cell *cell)
{
    return (cell->attributes & style->on) == style->on && !(cell->attributes & style->off) &&
           (!style->has_fg || same_colour(&style->fg, style->fg_is_rgb, &cell->fg)) &&
           (!style->has_bg || same_colour(&style->bg, style->bg_is_rgb, &cell->bg));
}
