/* SPDX-License-Identifier: MIT */
/* screen: what a terminal makes of a stream of bytes, by libvterm. Plain memory: no clock, no
 * process. Everything fed is untrusted. */
#include "term/term_internal.h"
#include "term/answer.h"
#include "term/feed.h"
#include "term/title.h"
#include "base/text.h"
#include <assert.h>
#include <errno.h>
#include <string.h>
#include <vterm.h>

enum { ANSWER_BYTES_MAX = 64 << 10, FEED_BYTES_MAX = 4096 };

struct screen {
    VTerm *vterm;         /* owned */
    VTermState *state;    /* its */
    VTermScreen *vscreen; /* its */
    unsigned rows, cols, generation, bells;
    VTermPos cursor;
    bool cursor_visible, alternate;
    int cursor_shape, mouse;
    struct title title, icon;
    struct buf answers;
    struct buf
        *divert;  /* where the terminal's bytes go instead of `answers`, while keys are made */
    char **lines; /* ring of owned texts, the scrollback */
    unsigned lines_max, lines_count, lines_next;
    struct feed feed;
};

static void add_char(struct buf *buf, uint32_t c)
{
    if (c < 0x80) {
        buf_addc(buf, (char)c);
    } else if (c < 0x800) {
        buf_addc(buf, (char)(0xc0 | c >> 6));
        buf_addc(buf, (char)(0x80 | (c & 0x3f)));
    } else if (c < 0x10000) {
        buf_addc(buf, (char)(0xe0 | c >> 12));
        buf_addc(buf, (char)(0x80 | (c >> 6 & 0x3f)));
        buf_addc(buf, (char)(0x80 | (c & 0x3f)));
    } else {
        buf_addc(buf, (char)(0xf0 | (c >> 18 & 7)));
        buf_addc(buf, (char)(0x80 | (c >> 12 & 0x3f)));
        buf_addc(buf, (char)(0x80 | (c >> 6 & 0x3f)));
        buf_addc(buf, (char)(0x80 | (c & 0x3f)));
    }
}

/* What cannot be text is shown as the replacement character. */
static uint32_t clean_char(uint32_t c)
{
    return c > 0x10ffff || (c >= 0xd800 && c < 0xe000) || (c && c < 0x20) || c == 0x7f ? 0xfffd : c;
}

/* What is seen of a cell; nothing of one that is hidden. */
static void add_seen(struct buf *text, const VTermScreenCell *cell)
{
    for (int i = 0; i < VTERM_MAX_CHARS_PER_CELL && cell->chars[i]; i++)
        if (!(cell->attrs.font & PEN_HIDDEN))
            add_char(text, clean_char(cell->chars[i]));
}

static bool is_right_half(const VTermScreenCell *cell)
{
    return cell->chars[0] == (uint32_t)-1;
}

/* ---- what libvterm tells us ---------------------------------------------------------------- */

static int on_damage(VTermRect rect, void *user)
{
    (void)rect;
    ((struct screen *)user)->generation++;
    return 1;
}

static int on_moverect(VTermRect dest, VTermRect src, void *user)
{
    (void)dest, (void)src;
    ((struct screen *)user)->generation++;
    return 0;
}

static int on_movecursor(VTermPos pos, VTermPos old, int visible, void *user)
{
    struct screen *screen = user;

    (void)old, (void)visible;
    screen->cursor = pos;
    screen->generation++;
    return 1;
}

static int on_property(VTermProp property, VTermValue *value, void *user)
{
    struct screen *screen = user;

    screen->generation++;
    switch ((int)property) {
    case VTERM_PROP_CURSORVISIBLE:
        screen->cursor_visible = value->boolean;
        break;
    case VTERM_PROP_ALTSCREEN:
        screen->alternate = value->boolean;
        break;
    case VTERM_PROP_CURSORSHAPE:
        screen->cursor_shape = value->number;
        break;
    case VTERM_PROP_MOUSE:
        screen->mouse = value->number;
        break;
    default:
        break;
    }
    return 1;
}

static int on_bell(void *user)
{
    ((struct screen *)user)->bells++;
    return 1;
}

static void add_cells(struct buf *text, const VTermScreenCell *cells, int cols)
{
    for (int col = 0; col < cols; col++) {
        if (is_right_half(&cells[col]))
            continue;
        size_t before = text->length;
        add_seen(text, &cells[col]);
        for (int i = 0; text->length == before + (size_t)i && i < cells[col].width; i++)
            buf_addc(text, ' ');
    }
    while (text->length && text->data[text->length - 1] == ' ')
        buf_cut(text, text->length - 1);
}

static int on_pushline(int cols, const VTermScreenCell *cells, void *user)
{
    struct screen *screen = user;
    struct buf text = {0};

    if (!screen->lines_max)
        return 1;
    add_cells(&text, cells, cols);
    free(screen->lines[screen->lines_next]);
    screen->lines[screen->lines_next] = text.length ? buf_take(&text) : mem_dup("");
    buf_done(&text);
    screen->lines_next = (screen->lines_next + 1) % screen->lines_max;
    if (screen->lines_count < screen->lines_max)
        screen->lines_count++;
    return 1;
}

static void on_output(const char *bytes, size_t length, void *user)
{
    struct screen *screen = user;
    struct buf *to = screen->divert ? screen->divert : &screen->answers;

    if (to->length + length <= ANSWER_BYTES_MAX)
        buf_add(to, bytes, length);
}

static const VTermScreenCallbacks callbacks = {
    .damage = on_damage,
    .moverect = on_moverect,
    .movecursor = on_movecursor,
    .settermprop = on_property,
    .bell = on_bell,
    .sb_pushline = on_pushline,
};

/* libvterm prints rubbish for requests that it does not know. */
static bool is_known_request(const char *text, size_t length)
{
    static const char *const known[] = {"$qm", "$qr", "$q q", "$q\"q"};

    for (size_t i = 0; i < ARRAY_LENGTH(known); i++)
        if (strlen(known[i]) == length && memcmp(known[i], text, length) == 0)
            return true;
    return false;
}

/* What the eye sees of a colour by number. Beyond 15 libvterm has others than all terminals: those
 * are a cube of six steps each way, and 24 greys. */
static void indexed_rgb(const struct screen *screen, unsigned index,
                        unsigned char ret_rgb[static 3])
{
    static const unsigned char steps[] = {0, 95, 135, 175, 215, 255};
    enum { CUBE = 16, GREYS = 232 };
    VTermColor colour;

    if (index >= GREYS) {
        memset(ret_rgb, (int)(8 + 10 * (index - GREYS)), 3);
    } else if (index >= CUBE) {
        ret_rgb[0] = steps[(index - CUBE) / 36];
        ret_rgb[1] = steps[(index - CUBE) / 6 % 6];
        ret_rgb[2] = steps[(index - CUBE) % 6];
    } else {
        vterm_color_indexed(&colour, (uint8_t)index);
        vterm_screen_convert_color_to_rgb(screen->vscreen, &colour);
        memcpy(ret_rgb, (unsigned char[]){colour.rgb.red, colour.rgb.green, colour.rgb.blue}, 3);
    }
}

static void tell_colour(const void *user, unsigned index, unsigned char ret_rgb[static 3])
{
    indexed_rgb(user, index, ret_rgb);
}

static struct answer_facts facts_of(const struct screen *screen)
{
    return (struct answer_facts){.rows = screen->rows,
                                 .cols = screen->cols,
                                 .alternate = screen->alternate,
                                 .colour = tell_colour,
                                 .user = screen};
}

/* An answer that is added as a whole or, when a program asks without reading, not at all. */
static void add_answer(struct screen *screen, const struct buf *answer)
{
    if (screen->answers.length + answer->length <= ANSWER_BYTES_MAX)
        buf_add(&screen->answers, answer->data, answer->length);
}

static void forget_lines(struct screen *screen)
{
    for (unsigned i = 0; i < screen->lines_max; i++) {
        free(screen->lines[i]);
        screen->lines[i] = NULL;
    }
    screen->lines_count = screen->lines_next = 0;
}

/* 22 puts a title away, 23 brings it back; behind it 1 is the icon's, 2 the window's. */
static bool keep_titles(struct screen *screen, const char *sequence)
{
    void (*const keep)(struct title *) = text_starts(sequence, "22")   ? title_push
                                         : text_starts(sequence, "23") ? title_pop
                                                                       : NULL;
    if (!keep || (sequence[2] && sequence[2] != ';'))
        return false;
    int which = sequence[2] ? atoi(sequence + 3) : 0;
    if (which != 2)
        keep(&screen->icon);
    if (which != 1)
        keep(&screen->title);
    return true;
}

static bool on_control(void *user, const char *sequence, char final)
{
    struct screen *screen = user;
    struct answer_facts facts = facts_of(screen);
    CLEANUP(buf_done) struct buf answer = {0};

    if (final == 'J' && strcmp(sequence, "3") == 0) {
        screen->generation++;
        forget_lines(screen);
        return true;
    }
    if (final == 't' && keep_titles(screen, sequence)) {
        screen->generation++;
        return true;
    }
    bool known = answer_control(&answer, &facts, sequence, final);
    add_answer(screen, &answer);
    return known;
}

static void on_string(void *user, char kind, const char *text, size_t length)
{
    struct screen *screen = user;
    CLEANUP(buf_done) struct buf answer = {0};
    struct answer_facts facts = facts_of(screen);

    screen->generation++;
    if (kind == ']' && length >= 2 && text[1] == ';' && text[0] >= '0' && text[0] <= '2') {
        if (text[0] != '1')
            title_set(&screen->title, text + 2, length - 2);
        if (text[0] != '2')
            title_set(&screen->icon, text + 2, length - 2);
    } else if (kind == 'P' && length <= 4 && is_known_request(text, length)) {
        CLEANUP(buf_done) struct buf said = {0};
        char whole[16] = "\033P"; /* how the terminal is set up: DECRQSS */
        memcpy(whole + 2, text, length);
        memcpy(whole + 2 + length, "\033\\", 2);
        screen->divert = &said;
        (void)vterm_input_write(screen->vterm, whole, length + 4);
        screen->divert = NULL;
        pen_add_told(&answer, buf_text(&said));
    } else {
        (void)answer_string(&answer, &facts, kind, text, length);
    }
    add_answer(screen, &answer);
}

static void on_fed(void *user, const char *bytes, size_t length)
{
    VTerm *vterm = ((struct screen *)user)->vterm;

    /* libvterm puts as many characters on its stack as it is given at once. */
    for (size_t part; length; bytes += part, length -= part) {
        part = length < FEED_BYTES_MAX ? length : FEED_BYTES_MAX;
        (void)vterm_input_write(vterm, bytes, part);
    }
}

struct screen *screen_new(unsigned rows, unsigned cols, unsigned scrollback)
{
    struct screen *screen = mem_alloc(sizeof *screen);

    *screen = (struct screen){.rows = rows,
                              .cols = cols,
                              .lines_max = scrollback,
                              .cursor_visible = true,
                              .cursor_shape = VTERM_PROP_CURSORSHAPE_BLOCK};
    screen->lines = mem_alloc((scrollback + 1) * sizeof *screen->lines);
    screen->feed =
        (struct feed){.sink = on_fed, .string = on_string, .control = on_control, .user = screen};
    screen->vterm = vterm_new((int)rows, (int)cols);
    vterm_set_utf8(screen->vterm, 1);
    vterm_output_set_callback(screen->vterm, on_output, screen);
    screen->state = vterm_obtain_state(screen->vterm);
    screen->vscreen = vterm_obtain_screen(screen->vterm);
    vterm_screen_set_callbacks(screen->vscreen, &callbacks, screen);
    vterm_screen_enable_altscreen(screen->vscreen, 1);
    vterm_screen_reset(screen->vscreen, 1);
    return screen;
}

struct screen *screen_free(struct screen *screen)
{
    if (!screen)
        return NULL;
    vterm_free(screen->vterm);
    feed_done(&screen->feed);
    forget_lines(screen);
    free(screen->lines);
    title_done(&screen->title);
    title_done(&screen->icon);
    buf_done(&screen->answers);
    free(screen);
    return NULL;
}

void screen_feed(struct screen *screen, const void *bytes, size_t length)
{
    feed_bytes(&screen->feed, bytes, length);
}

void screen_resize(struct screen *screen, unsigned rows, unsigned cols)
{
    screen->rows = rows;
    screen->cols = cols;
    screen->generation++;
    vterm_set_size(screen->vterm, (int)rows, (int)cols);
    vterm_screen_flush_damage(screen->vscreen);
}

unsigned screen_generation(const struct screen *screen)
{
    return screen->generation;
}

struct buf *screen_answers(struct screen *screen)
{
    return &screen->answers;
}

struct VTerm *screen_vterm(struct screen *screen)
{
    return screen->vterm;
}

void screen_divert(struct screen *screen, struct buf *to)
{
    screen->divert = to;
}

/* ---- what it shows ------------------------------------------------------------------------- */

/* Modes that libvterm keeps to itself show in what it would send. */
static bool says(struct screen *screen, void (*ask)(struct screen *screen), const char *answer)
{
    CLEANUP(buf_done) struct buf said = {0};
    struct buf *before = screen->divert; /* keys may be on their way there */

    screen->divert = &said;
    ask(screen);
    screen->divert = before;
    return answer ? strcmp(buf_text(&said), answer) == 0 : said.length > 0;
}

static void ask_paste(struct screen *screen)
{
    vterm_keyboard_start_paste(screen->vterm);
}

static void ask_focus(struct screen *screen)
{
    vterm_state_focus_in(screen->state);
}

static void ask_up(struct screen *screen)
{
    vterm_keyboard_key(screen->vterm, VTERM_KEY_UP, VTERM_MOD_NONE);
}

void screen_state(const struct screen *given, struct vitro_term_state *ret)
{
    struct screen *screen = (struct screen *)given; /* asking changes nothing that lasts */

    ret->rows = screen->rows;
    ret->cols = screen->cols;
    ret->cursor_row = (unsigned)screen->cursor.row + 1;
    ret->cursor_col = (unsigned)screen->cursor.col + 1;
    ret->cursor_visible = screen->cursor_visible;
    ret->cursor_shape = screen->cursor_shape;
    ret->alternate = screen->alternate;
    ret->mouse = (enum vitro_term_mouse)screen->mouse;
    ret->bracketed_paste = says(screen, ask_paste, NULL);
    ret->focus_events = says(screen, ask_focus, NULL);
    ret->application_cursor = says(screen, ask_up, "\033OA");
    ret->title = buf_text(&screen->title.now);
    ret->icon = buf_text(&screen->icon.now);
    ret->bells = screen->bells;
    ret->scrollback = screen->lines_count;
}

static struct vitro_term_colour colour_of(const struct screen *screen, const VTermColor *from)
{
    struct vitro_term_colour colour = {.kind = VITRO_TERM_RGB};
    VTermColor rgb = *from;

    if (VTERM_COLOR_IS_DEFAULT_FG(from) || VTERM_COLOR_IS_DEFAULT_BG(from)) {
        colour.kind = VITRO_TERM_DEFAULT;
    } else if (VTERM_COLOR_IS_INDEXED(from)) {
        colour.kind = VITRO_TERM_INDEXED;
        colour.index = from->indexed.idx;
        unsigned char seen[3];
        indexed_rgb(screen, colour.index, seen);
        colour.red = seen[0];
        colour.green = seen[1];
        colour.blue = seen[2];
        return colour;
    }
    vterm_screen_convert_color_to_rgb(screen->vscreen, &rgb);
    colour.red = rgb.rgb.red;
    colour.green = rgb.rgb.green;
    colour.blue = rgb.rgb.blue;
    return colour;
}

static unsigned attributes_of(const VTermScreenCell *cell)
{
    const VTermScreenCellAttrs *a = &cell->attrs;
    unsigned result = (a->bold ? VITRO_TERM_BOLD : 0) | (a->italic ? VITRO_TERM_ITALIC : 0) |
                      (a->blink ? VITRO_TERM_BLINK : 0) | (a->reverse ? VITRO_TERM_REVERSE : 0) |
                      (a->strike ? VITRO_TERM_STRIKE : 0) |
                      (a->font & PEN_FAINT ? VITRO_TERM_FAINT : 0) |
                      (a->font & PEN_HIDDEN ? VITRO_TERM_HIDDEN : 0);

    if (a->underline)
        result |= VITRO_TERM_UNDERLINE;
    if (a->underline == VTERM_UNDERLINE_DOUBLE)
        result |= VITRO_TERM_DOUBLE_UNDERLINE;
    if (a->underline == VTERM_UNDERLINE_CURLY)
        result |= VITRO_TERM_CURLY_UNDERLINE;
    return result;
}

/* libvterm gives a cell that was erased the whole pen; terminals give it the background alone. */
static void leave_background(const struct screen *screen, VTermScreenCell *cell)
{
    VTermColor background;

    vterm_state_get_default_colors(screen->state, &cell->fg, &background);
    memset(&cell->attrs, 0, sizeof cell->attrs);
}

int screen_cell(const struct screen *screen, unsigned row, unsigned col,
                struct vitro_term_cell *ret)
{
    VTermScreenCell cell;
    struct buf text = {0};

    if (!row || !col || row > screen->rows || col > screen->cols)
        return -EINVAL;
    (void)vterm_screen_get_cell(screen->vscreen, (VTermPos){(int)row - 1, (int)col - 1}, &cell);
    if (!cell.chars[0])
        leave_background(screen, &cell);
    *ret = (struct vitro_term_cell){.width = (unsigned char)cell.width,
                                    .attributes = attributes_of(&cell),
                                    .fg = colour_of(screen, &cell.fg),
                                    .bg = colour_of(screen, &cell.bg)};
    if (is_right_half(&cell)) {
        ret->width = 0;
        return 0;
    }
    add_seen(&text, &cell);
    memcpy(ret->text, buf_text(&text), text.length < sizeof ret->text ? text.length : 0);
    buf_done(&text);
    return 0;
}

void screen_row_text(const struct screen *screen, unsigned row, struct buf *ret,
                     struct buf *columns)
{
    for (unsigned col = 1; col <= screen->cols; col++) {
        VTermScreenCell cell;
        size_t before = ret->length;
        (void)vterm_screen_get_cell(screen->vscreen, (VTermPos){(int)row - 1, (int)col - 1}, &cell);
        if (is_right_half(&cell))
            continue;
        add_seen(ret, &cell);
        for (int i = 0; ret->length == before + (size_t)i && i < cell.width; i++)
            buf_addc(ret, ' ');
        for (size_t i = before; columns && i < ret->length; i++) {
            unsigned short at = (unsigned short)col;
            buf_add(columns, &at, sizeof at);
        }
    }
}

bool screen_scrollback_text(const struct screen *screen, unsigned line, struct buf *ret)
{
    if (!line || line > screen->lines_count)
        return false;
    buf_adds(ret,
             screen->lines[(screen->lines_next + screen->lines_max - line) % screen->lines_max]);
    return true;
}

bool screen_pen_is_plain(const struct screen *screen)
{
    for (int attribute = VTERM_ATTR_BOLD; attribute < VTERM_N_ATTRS; attribute++) {
        VTermValue value = {0};
        if (!vterm_state_get_penattr(screen->state, (VTermAttr)attribute, &value))
            continue;
        if (attribute == VTERM_ATTR_FOREGROUND || attribute == VTERM_ATTR_BACKGROUND) {
            if (!VTERM_COLOR_IS_DEFAULT_FG(&value.color) &&
                !VTERM_COLOR_IS_DEFAULT_BG(&value.color))
                return false;
        } else if (value.number) {
            return false;
        }
    }
    return true;
}

/* ---- from the log -------------------------------------------------------------------------- */

static void feed_to(struct screen *screen, const struct log *log, size_t *fed, size_t offset)
{
    if (offset > *fed)
        screen_feed(screen, log->stream.data + *fed, offset - *fed);
    *fed = offset;
}

static void apply_events(struct screen *screen, const struct log *log, size_t *fed, size_t *event,
                         size_t last)
{
    for (; *event < log->count && *event <= last; ++*event) {
        const struct log_event *one = &log->events[*event];
        if (one->kind != LOG_SIZE)
            continue;
        feed_to(screen, log, fed, one->offset);
        screen_resize(screen, one->rows, one->cols);
    }
}

struct screen *screen_of_log(const struct log *log, size_t event)
{
    struct screen *screen = screen_new(log->rows, log->cols, 1000);
    size_t fed = 0, at = 0;

    apply_events(screen, log, &fed, &at, event);
    feed_to(screen, log, &fed, event < log->count ? log->events[event].offset : log->stream.length);
    vterm_screen_flush_damage(screen->vscreen);
    return screen;
}

struct screen *term_screen(vitro_term *t)
{
    apply_events(t->screen, &t->log, &t->screen_fed, &t->screen_event, SIZE_MAX);
    feed_to(t->screen, &t->log, &t->screen_fed, t->log.stream.length);
    return t->screen;
}
