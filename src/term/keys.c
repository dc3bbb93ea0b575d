/* SPDX-License-Identifier: MIT */
/* keys: "n<Enter>" as bytes. Named keys go through libvterm, which knows the modes the program
 * asked for; control and meta letters are what every terminal sends. */
#include "term/term.h"
#include "term/term_internal.h"
#include "base/text.h"
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <vterm.h>

static const struct {
    const char *name;
    VTermKey key;
} named[] = {
    {"Enter", VTERM_KEY_ENTER},   {"Return", VTERM_KEY_ENTER},  {"CR", VTERM_KEY_ENTER},
    {"Tab", VTERM_KEY_TAB},       {"BS", VTERM_KEY_BACKSPACE},  {"Backspace", VTERM_KEY_BACKSPACE},
    {"Esc", VTERM_KEY_ESCAPE},    {"Escape", VTERM_KEY_ESCAPE}, {"Up", VTERM_KEY_UP},
    {"Down", VTERM_KEY_DOWN},     {"Left", VTERM_KEY_LEFT},     {"Right", VTERM_KEY_RIGHT},
    {"Ins", VTERM_KEY_INS},       {"Insert", VTERM_KEY_INS},    {"Del", VTERM_KEY_DEL},
    {"Delete", VTERM_KEY_DEL},    {"Home", VTERM_KEY_HOME},     {"End", VTERM_KEY_END},
    {"PageUp", VTERM_KEY_PAGEUP}, {"PgUp", VTERM_KEY_PAGEUP},   {"PageDown", VTERM_KEY_PAGEDOWN},
    {"PgDn", VTERM_KEY_PAGEDOWN},
};

static const char *const other_names[] = {"Space", "lt",    "Paste", "Click",   "DoubleClick",
                                          "Drag",  "Wheel", "Move",  "FocusIn", "FocusOut",
                                          "C-c",   "M-x",   "S-Tab", "F1"};

static int unknown(const char *name, size_t length, struct err *err)
{
    CLEANUP(mem_free) char *word = mem_dupn(name, length);
    const char *all[ARRAY_LENGTH(named) + ARRAY_LENGTH(other_names)];
    size_t count = 0;

    for (size_t i = 0; i < ARRAY_LENGTH(named); i++)
        all[count++] = named[i].name;
    for (size_t i = 0; i < ARRAY_LENGTH(other_names); i++)
        all[count++] = other_names[i];
    word[strcspn(word, " ")] = '\0';
    const char *near = text_closest(word, all, count);
    err_set(err, -EINVAL, "'<%.*s>' is not a key", (int)(length > 60 ? 60 : length), name);
    return near ? err_hint(err, "did you mean <%s>? a '<' itself is written <lt>", near)
                : err_hint(err, "a '<' itself is written <lt>");
}

static bool is_word(const char *name, size_t length, const char *word)
{
    return strlen(word) == length && strncasecmp(name, word, length) == 0;
}

/* "Click right 3,10" and its kind. */
static int add_mouse(struct screen *screen, const char *name, VTermModifier modifiers, bool check,
                     struct err *err)
{
    struct vitro_term_state state = {0};
    VTerm *vterm = screen_vterm(screen);
    char word[16] = "", which[16] = "";
    int row = 0, col = 0, to_row = 0, to_col = 0, button = 1, presses = 1;
    int count = sscanf(name, "%15[A-Za-z] %15[A-Za-z] %d,%d %d,%d", word, which, &row, &col,
                       &to_row, &to_col);

    if (count < 4) {
        which[0] = '\0';
        count = sscanf(name, "%15[A-Za-z] %d,%d %d,%d", word, &row, &col, &to_row, &to_col) + 1;
    }
    bool drag = strcasecmp(word, "Drag") == 0, wheel = strcasecmp(word, "Wheel") == 0;
    if (count < (drag ? 6 : 4))
        return err_set(err, -EINVAL, "'<%s>' needs %s (ROW,COLUMN, from 1)", name,
                       drag ? "two places" : "a place");
    screen_state(screen, &state);
    bool outside = row < 1 || col < 1 || row > (int)state.rows || col > (int)state.cols;
    bool to_outside =
        drag && (to_row < 1 || to_col < 1 || to_row > (int)state.rows || to_col > (int)state.cols);
    if (!check && (outside || to_outside))
        return err_set(err, -EINVAL, "'<%s>': the screen has %u rows and %u columns", name,
                       state.rows, state.cols);
    if (!check && state.mouse == VITRO_TERM_MOUSE_OFF)
        return err_set(err, -ENOTSUP, "'<%s>': the program has not asked for the mouse", name);
    if (strcasecmp(which, "right") == 0)
        button = 3;
    else if (strcasecmp(which, "middle") == 0)
        button = 2;
    else if (wheel && (strcasecmp(which, "up") == 0 || strcasecmp(which, "down") == 0))
        button = strcasecmp(which, "up") == 0 ? 4 : 5;
    else if (wheel || (which[0] && strcasecmp(which, "left") != 0))
        return err_set(err, -EINVAL, "'<%s>': no such button", name);
    if (check)
        return 0;
    vterm_mouse_move(vterm, row - 1, col - 1, modifiers);
    if (strcasecmp(word, "Move") == 0)
        return 0;
    if (strcasecmp(word, "DoubleClick") == 0)
        presses = 2;
    for (int i = 0; i < presses; i++) {
        vterm_mouse_button(vterm, button, true, modifiers);
        if (drag)
            vterm_mouse_move(vterm, to_row - 1, to_col - 1, modifiers);
        if (!wheel)
            vterm_mouse_button(vterm, button, false, modifiers);
    }
    return 0;
}

/* The next character of UTF-8; what is no UTF-8 is one byte. */
static size_t char_length(const char *text, size_t length)
{
    unsigned char c = (unsigned char)text[0];
    size_t need = c < 0x80 ? 1 : c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc0 ? 2 : 1;

    return need <= length && text_is_utf8(text, need) ? need : 1;
}

/* A character with modifiers. */
static bool add_modified(struct buf *ret, const char *text, size_t length, int modifiers)
{
    if (char_length(text, length) != length)
        return false;
    unsigned char c = (unsigned char)text[0];
    if (modifiers & VTERM_MOD_ALT)
        buf_addc(ret, '\033');
    if (!(modifiers & VTERM_MOD_CTRL)) {
        if (modifiers & VTERM_MOD_SHIFT && length == 1)
            c = (unsigned char)toupper(c);
        length == 1 ? buf_addc(ret, (char)c) : buf_add(ret, text, length);
        return true;
    }
    if (length != 1)
        return false;
    if (c == '?')
        buf_addc(ret, 0x7f);
    else if (c == ' ' || (c >= '@' && c <= '_') || (c >= 'a' && c <= 'z'))
        buf_addc(ret, (char)(c & 0x1f));
    else
        return false;
    return true;
}

static int add_paste(struct screen *screen, const char *text, size_t length, struct buf *ret)
{
    vterm_keyboard_start_paste(screen_vterm(screen));
    for (size_t i = 0; i < length; i++) /* a terminal pastes line ends as Enter */
        buf_addc(ret, text[i] == '\n' ? '\r' : text[i]);
    vterm_keyboard_end_paste(screen_vterm(screen));
    return 0;
}

static int add_name(struct screen *screen, const char *name, size_t length, bool check,
                    struct buf *ret, struct err *err)
{
    VTerm *vterm = screen_vterm(screen);
    const char *rest = name;
    size_t left = length;
    int modifiers = 0;

    if (is_word(name, length, "lt"))
        return buf_addc(ret, '<'), 0;
    if (length > 2 && length <= 4 && strncasecmp(name, "0x", 2) == 0) {
        char *end;
        long byte = strtol(name + 2, &end, 16);
        if (end == name + length)
            return buf_addc(ret, (char)byte), 0;
    }
    if (length >= 6 && strncasecmp(name, "Paste ", 6) == 0)
        return add_paste(screen, name + 6, length - 6, ret);
    if (is_word(name, length, "FocusIn"))
        return vterm_state_focus_in(vterm_obtain_state(vterm)), 0;
    if (is_word(name, length, "FocusOut"))
        return vterm_state_focus_out(vterm_obtain_state(vterm)), 0;
    while (left > 2 && rest[1] == '-') {
        char c = (char)toupper((unsigned char)rest[0]);
        if (c == 'C')
            modifiers |= VTERM_MOD_CTRL;
        else if (c == 'M' || c == 'A')
            modifiers |= VTERM_MOD_ALT;
        else if (c == 'S')
            modifiers |= VTERM_MOD_SHIFT;
        else
            return unknown(name, length, err);
        rest += 2;
        left -= 2;
    }
    static const char *const mice[] = {"Click ", "DoubleClick ", "Drag ", "Wheel ", "Move "};
    for (size_t i = 0; i < ARRAY_LENGTH(mice); i++)
        if (left > strlen(mice[i]) && strncasecmp(rest, mice[i], strlen(mice[i])) == 0) {
            CLEANUP(mem_free) char *text = mem_dupn(rest, left);
            return add_mouse(screen, text, (VTermModifier)modifiers, check, err);
        }
    for (size_t i = 0; i < ARRAY_LENGTH(named); i++)
        if (is_word(rest, left, named[i].name)) {
            vterm_keyboard_key(vterm, named[i].key, (VTermModifier)modifiers);
            return 0;
        }
    if (left >= 2 && left <= 3 && (rest[0] == 'F' || rest[0] == 'f')) {
        long number = strtol(rest + 1, NULL, 10);
        if (number >= 1 && number <= 12 && isdigit((unsigned char)rest[left - 1])) {
            vterm_keyboard_key(vterm, (VTermKey)VTERM_KEY_FUNCTION(number),
                               (VTermModifier)modifiers);
            return 0;
        }
    }
    bool space = is_word(rest, left, "Space");
    if ((space || (modifiers && left)) &&
        add_modified(ret, space ? " " : rest, space ? 1 : left, modifiers))
        return 0;
    return unknown(name, length, err);
}

static int encode(struct screen *screen, const char *keys, bool check, struct buf *ret,
                  struct buf *escapes, struct err *err)
{
    int r = 0;

    screen_divert(screen, ret);
    while (*keys && r == 0) {
        const char *end = *keys == '<' ? strchr(keys, '>') : NULL;
        if (end && end[1] == '>' && end == keys + 3 && keys[2] == '-') /* <C->> */
            end++;
        if (*keys == '<' && !end) {
            r = unknown(keys + 1, strlen(keys + 1), err);
        } else if (*keys == '<') {
            size_t before = ret->length;
            bool byte = strncasecmp(keys, "<0x", 3) == 0;
            r = add_name(screen, keys + 1, (size_t)(end - keys - 1), check, ret, err);
            if (escapes && !byte && ret->length == before + 1 && ret->data[before] == '\033')
                buf_add(escapes, &ret->length, sizeof ret->length);
            keys = end + 1;
        } else {
            buf_addc(ret, *keys == '\n' ? '\r' : *keys);
            keys++;
        }
    }
    screen_divert(screen, NULL);
    return r;
}

int keys_encode(struct screen *screen, const char *keys, struct buf *ret, struct buf *escapes,
                struct err *err)
{
    return encode(screen, keys, false, ret, escapes, err);
}

int term_check_keys(const char *keys, struct err *err)
{
    CLEANUP(screen_free) struct screen *screen = screen_new(2, 2, 0);
    CLEANUP(buf_done) struct buf sent = {0};

    return encode(screen, keys, true, &sent, NULL, err);
}
