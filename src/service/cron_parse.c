/* SPDX-License-Identifier: MIT */
/* From text to sets of bits. Whatever is refused is refused with its column and with what to write
 * instead. */
#include "base/buf.h"
#include "base/text.h"
#include "base/when.h"
#include "service/cron.h"
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { TEXT_MAX_BYTES = 512, WORD_MAX = 32 };

static const char *const month_names[] = {"jan", "feb", "mar", "apr", "may", "jun",
                                          "jul", "aug", "sep", "oct", "nov", "dec"};
static const char *const day_names[] = {"sun", "mon", "tue", "wed", "thu", "fri", "sat"};

static const struct field {
    const char *name;
    int least, most;
    const char *const *names; /* of `least` and those that follow */
    size_t name_count;
} fields[CRON_FIELDS] = {
    {"minute", 0, 59, NULL, 0},
    {"hour", 0, 23, NULL, 0},
    {"day of month", 1, 31, NULL, 0},
    {"month", 1, 12, month_names, ARRAY_LENGTH(month_names)},
    {"day of week", 0, 7, day_names, ARRAY_LENGTH(day_names)},
};

static const struct macro {
    const char *name, *fields;
} macros[] = {
    {"@yearly", "0 0 1 1 *"}, {"@annually", "0 0 1 1 *"}, {"@monthly", "0 0 1 * *"},
    {"@weekly", "0 0 * * 0"}, {"@daily", "0 0 * * *"},    {"@midnight", "0 0 * * *"},
    {"@hourly", "0 * * * *"},
};

struct reader {
    const char *text, *at;
    const struct field *field; /* NULL: none yet */
    struct err *err;
};

/* Column and field before the words. */
static int refuse(const struct reader *reader, const char *at, const char *format, ...)
    PRINTF_LIKE(3, 4);
static int refuse(const struct reader *reader, const char *at, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    (void)err_setv(reader->err, -EINVAL, format, args);
    va_end(args);
    (void)err_wrap(reader->err, "cron '%.100s', column %zu%s%s", reader->text,
                   (size_t)(at - reader->text) + 1, reader->field ? ", " : "",
                   reader->field ? reader->field->name : "");
    return -EINVAL;
}

static bool ends_word(char c)
{
    return c == '\0' || strchr(" \t,-/", c);
}

static size_t word_length(const char *at)
{
    size_t length = 0;

    while (!ends_word(at[length]))
        length++;
    return length;
}

/* A number or a name. `is_last`: of a range, where Sunday is 7. */
static int value_read(struct reader *reader, bool is_last, int *ret)
{
    const struct field *field = reader->field;
    const char *at = reader->at;
    size_t length = word_length(at);
    char word[WORD_MAX];
    int value = 0;

    (void)snprintf(word, sizeof word, "%.*s", (int)(length < WORD_MAX ? length : WORD_MAX - 1), at);
    for (char *c = word; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    if (length == 0)
        return refuse(reader, at, "a value is missing");
    reader->at += length;
    for (size_t i = 0; i < field->name_count; i++)
        if (strcmp(word, field->names[i]) == 0) {
            *ret = field->least + (int)i;
            *ret = is_last && field == &fields[CRON_WEEKDAY] && i == 0 ? 7 : *ret;
            return 0;
        }
    if (word[strspn(word, "0123456789")] || length > 4) {
        (void)refuse(reader, at, "'%s' is neither a number%s nor '*'", word,
                     field->names ? ", a name" : "");
        const char *closest = text_closest(word, field->names, field->name_count);
        if (*word == '?' || *word == '*')
            return err_hint(reader->err, "any value is '*', and '*/2' is every second one");
        if (strpbrk(word, "lw#") && strspn(word, "0123456789lw#") == length)
            return err_hint(reader->err, "L, W and # are not known; write numbers");
        if (closest)
            return err_hint(reader->err, "did you mean '%s'?", closest);
        return err_hint(reader->err, "write %d to %d", field->least, field->most);
    }
    for (const char *c = word; *c; c++)
        value = value * 10 + (*c - '0');
    if (value < field->least || value > field->most) {
        (void)refuse(reader, at, "%d is not from %d to %d", value, field->least, field->most);
        if (value == 24 && field == &fields[CRON_HOUR])
            return err_hint(reader->err, "midnight is 0");
        return err_hint(reader->err, "the closest is %d",
                        value < field->least ? field->least : field->most);
    }
    *ret = value;
    return 0;
}

static int step_read(struct reader *reader, int first, int last, bool is_single, int *ret)
{
    const char *at = reader->at;
    int step = 0, count = 0;

    *ret = 1;
    if (*at != '/')
        return 0;
    if (is_single) {
        (void)refuse(reader, at, "a step needs a range");
        return err_hint(reader->err, "write '%d-%d%.*s'", first, reader->field->most,
                        (int)(1 + word_length(at + 1)), at);
    }
    reader->at++;
    if (sscanf(reader->at, "%4d%n", &step, &count) != 1 || !isdigit((unsigned char)*reader->at))
        return refuse(reader, reader->at, "a step is a number from 1");
    if (step == 0 || !ends_word(reader->at[count]))
        return refuse(reader, reader->at, "a step is a number from 1, not '%.*s'",
                      (int)word_length(reader->at), reader->at);
    if (step > last - first) {
        (void)refuse(reader, reader->at, "a step of %d leaves the range %d to %d at once", step,
                     first, last);
        return err_hint(reader->err, "write '%d'", first);
    }
    reader->at += count;
    *ret = step;
    return 0;
}

/* '*', a value or a range, and a step. */
static int item_read(struct reader *reader, uint64_t *bits)
{
    const struct field *field = reader->field;
    const char *at = reader->at;
    int first = field->least, last = field->most, step, r;
    bool is_star = *at == '*' && ends_word(at[1]), is_single = false;

    if (is_star) {
        reader->at++;
        last -= field == &fields[CRON_WEEKDAY]; /* 0 and 7 are one day */
    } else {
        if ((r = value_read(reader, false, &first)) < 0)
            return r;
        last = first;
        is_single = *reader->at != '-';
        if (!is_single) {
            reader->at++;
            if ((r = value_read(reader, true, &last)) < 0)
                return r;
        }
    }
    if (first > last) {
        (void)refuse(reader, at, "a range goes up, and %d is more than %d", first, last);
        return err_hint(reader->err, "write '%d-%d,%d-%d'", first, field->most, field->least, last);
    }
    if (is_star && *reader->at == '-')
        return refuse(reader, reader->at, "'*' is a range already");
    if ((r = step_read(reader, first, last, is_single, &step)) < 0)
        return r;
    for (int value = first; value <= last; value += step)
        *bits |= UINT64_C(1) << (field == &fields[CRON_WEEKDAY] ? value % 7 : value);
    return 0;
}

static int field_read(struct reader *reader, struct vitro_cron *cron, enum cron_field which)
{
    int r;

    reader->at += strspn(reader->at, " \t");
    reader->field = &fields[which];
    if (!*reader->at) {
        (void)refuse(reader, reader->at, "the field is missing");
        return err_hint(reader->err,
                        "five fields: minute, hour, day of month, month, day of week, as in "
                        "'0 9 * * mon-fri'");
    }
    cron->starred[which] = *reader->at == '*';
    do {
        if ((r = item_read(reader, &cron->bits[which])) < 0)
            return r;
    } while (*reader->at == ',' && *reader->at++);
    if (*reader->at && *reader->at != ' ' && *reader->at != '\t')
        return refuse(reader, reader->at, "'%c' cannot stand here", *reader->at);
    return 0;
}

/* 30 February, and no other way for the day to come. */
static int days_check(struct reader *reader, const struct vitro_cron *cron)
{
    static const int lengths[] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};

    if (!cron->starred[CRON_DAY] && !cron->starred[CRON_WEEKDAY])
        return 0;
    for (int month = 1; month <= 12; month++)
        if (cron->bits[CRON_MONTH] & UINT64_C(1) << month &&
            cron->bits[CRON_DAY] & ((UINT64_C(2) << lengths[month - 1]) - 1))
            return 0;
    reader->field = &fields[CRON_DAY];
    const char *at = reader->text + strspn(reader->text, " \t");
    for (int i = 0; i < CRON_DAY; i++) {
        at += strcspn(at, " \t");
        at += strspn(at, " \t");
    }
    return refuse(reader, at, "no month of these has such a day: it would never come");
}

static int fields_read(struct reader *reader, struct vitro_cron *cron)
{
    int r;

    for (enum cron_field which = 0; which < CRON_FIELDS; which++)
        if ((r = field_read(reader, cron, which)) < 0)
            return r;
    reader->at += strspn(reader->at, " \t");
    reader->field = NULL;
    if (*reader->at) {
        (void)refuse(reader, reader->at, "'%.20s' stands behind the fifth field", reader->at);
        return err_hint(reader->err, "minutes come first: there are no seconds, years or commands");
    }
    return days_check(reader, cron);
}

static int every_read(struct reader *reader, struct vitro_cron *cron)
{
    struct err inner = {0};
    uint64_t ns;

    reader->at += strlen("@every");
    reader->at += strspn(reader->at, " \t");
    if (when_parse_duration(reader->at, &ns, &inner) < 0)
        return refuse(reader, reader->at, "%s", inner.text);
    if (ns == 0 || ns > INT64_MAX)
        return refuse(reader, reader->at, "'%s' is no time at all", reader->at);
    cron->every_ns = (int64_t)ns;
    return 0;
}

static int macro_read(struct reader *reader, struct vitro_cron *cron)
{
    const char *names[ARRAY_LENGTH(macros) + 1] = {"@every DURATION"};
    size_t length = strcspn(reader->at, " \t");
    CLEANUP(mem_free) char *word = mem_dupn(reader->at, length);

    if (strcasecmp(word, "@every") == 0)
        return every_read(reader, cron);
    for (size_t i = 0; i < ARRAY_LENGTH(macros); i++) {
        names[i + 1] = macros[i].name;
        if (strcasecmp(macros[i].name, word) != 0)
            continue;
        const char *behind = reader->at + length + strspn(reader->at + length, " \t");
        if (*behind)
            return refuse(reader, behind, "'%.20s' stands behind %s", behind, macros[i].name);
        struct reader inner = {.text = macros[i].fields, .at = macros[i].fields};
        return fields_read(&inner, cron);
    }
    (void)refuse(reader, reader->at, "'%s' is not known", word);
    const char *closest = text_closest(word, names, ARRAY_LENGTH(names));
    if (strcasecmp(word, "@reboot") == 0)
        return err_hint(reader->err, "what is done at the start, the program does itself");
    return closest ? err_hint(reader->err, "did you mean '%s'?", closest) : -EINVAL;
}

int cron_parse(const char *text, struct vitro_cron *ret, struct err *err)
{
    struct reader reader = {.text = text, .at = text, .err = err};

    if (!text)
        return err_set(err, -EINVAL, "cron: no text");
    if (strnlen(text, TEXT_MAX_BYTES + 1) > TEXT_MAX_BYTES)
        return err_set(err, -EINVAL, "cron: a text of more than %d bytes", TEXT_MAX_BYTES);
    reader.at += strspn(text, " \t");
    if (!*reader.at)
        return field_read(&reader, ret, CRON_MINUTE);
    if (strncasecmp(reader.at, "TZ=", 3) == 0 || strncasecmp(reader.at, "CRON_TZ=", 8) == 0) {
        (void)refuse(&reader, reader.at, "the time zone is not part of the text");
        return err_hint(err, "give it to vitro_cron_parse");
    }
    return *reader.at == '@' ? macro_read(&reader, ret) : fields_read(&reader, ret);
}
