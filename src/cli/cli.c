/* SPDX-License-Identifier: MIT */
#include "cli/cli.h"
#include "base/arena.h"
#include "base/text.h"
#include "base/trace.h"
#include "vitro/version.h"
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct cli_option common_options[] = {
    {"help", NULL, "show this help", 'h', false},
    {"json", NULL, "print the result as one JSON document", 0, false},
    {0},
};

struct cli_given {
    const struct cli_option *option;
    const char *value; /* borrowed from argv; NULL for a flag */
};

struct cli_args {
    const struct command *command;
    struct cli_given *given; /* owned */
    size_t given_count;
    const char **values;   /* owned scratch for cli_values, one entry a given option */
    const char **operands; /* owned, NULL behind the last */
    size_t operand_count;
};

struct cli_args *cli_args_free(struct cli_args *args)
{
    if (args) {
        free(args->given);
        free(args->values);
        free(args->operands);
    }
    free(args);
    return NULL;
}

static const struct cli_option *find_in(const struct cli_option *table, const char *name,
                                        size_t length)
{
    for (; table && table->name; table++)
        if (strlen(table->name) == length && memcmp(table->name, name, length) == 0)
            return table;
    return NULL;
}

static const struct cli_option *find_option(const struct command *command, const char *name,
                                            size_t length)
{
    const struct cli_option *option = find_in(command->options, name, length);

    return option ? option : find_in(common_options, name, length);
}

static const struct cli_option *find_letter(const struct command *command, char letter)
{
    const struct cli_option *const tables[] = {command->options, common_options};

    for (size_t i = 0; i < ARRAY_LENGTH(tables); i++)
        for (const struct cli_option *option = tables[i]; option && option->name; option++)
            if (option->letter == letter)
                return option;
    return NULL;
}

static int unknown_option(const struct command *command, const char *word, struct err *err)
{
    const char *names[128];
    size_t count = 0;

    for (const struct cli_option *o = command->options; o && o->name && count < 100; o++)
        names[count++] = o->name;
    for (const struct cli_option *o = common_options; o->name; o++)
        names[count++] = o->name;
    CLEANUP(mem_free) char *name = mem_dupn(word + 2, strcspn(word + 2, "="));
    const char *closest = text_closest(name, names, count);
    err_set(err, -EINVAL, "unknown option '%s' of 'vitro %s'", word, command->name);
    if (closest)
        return err_hint(err, "did you mean --%s?", closest);
    return err_hint(err, "vitro %s --help lists them", command->name);
}

static int add_given(struct cli_args *args, const struct cli_option *option, const char *value,
                     struct err *err)
{
    for (size_t i = 0; !option->repeats && option->value && i < args->given_count; i++)
        if (args->given[i].option == option)
            return err_set(err, -EINVAL, "--%s is given twice", option->name);
    args->given[args->given_count++] = (struct cli_given){option, value};
    return 0;
}

/* Reads the option at argv[*index], and its value, moving *index to the last word used. */
static int parse_option(struct cli_args *args, int argc, char **argv, int *index, struct err *err)
{
    const char *word = argv[*index], *value = NULL;
    const struct cli_option *option;

    if (word[1] == '-') {
        size_t length = strcspn(word + 2, "=");
        option = find_option(args->command, word + 2, length);
        value = word[2 + length] ? word + 2 + length + 1 : NULL;
    } else {
        option = find_letter(args->command, word[1]);
        value = word[2] ? word + 2 : NULL;
    }
    if (!option)
        return unknown_option(args->command, word, err);
    if (!option->value && value)
        return err_set(err, -EINVAL, "--%s takes no value, but got '%s'", option->name, value);
    if (option->value && !value) {
        if (*index + 1 >= argc)
            return err_set(err, -EINVAL, "--%s needs a value: --%s %s", option->name, option->name,
                           option->value);
        value = argv[++*index];
    }
    return add_given(args, option, value, err);
}

static int check_operands(const struct cli_args *args, struct err *err)
{
    const struct command *command = args->command;
    int count = (int)args->operand_count;

    if (cli_flag(args, "help"))
        return 0;
    if (count < command->operands_min)
        return err_set(err, -EINVAL, "'vitro %s' needs %s", command->name, command->operands);
    if (command->operands_max >= 0 && count > command->operands_max)
        return err_set(err, -EINVAL, "'vitro %s' has no use for '%s'", command->name,
                       args->operands[command->operands_max]);
    return 0;
}

int cli_parse(const struct command *command, int argc, char **argv, struct cli_args **ret,
              struct err *err)
{
    CLEANUP(cli_args_free) struct cli_args *args = mem_alloc(sizeof *args);

    args->command = command;
    args->given = mem_alloc((size_t)(argc + 1) * sizeof *args->given);
    args->values = mem_alloc((size_t)(argc + 1) * sizeof *args->values);
    args->operands = mem_alloc((size_t)(argc + 1) * sizeof *args->operands);
    bool options = true;
    for (int i = 0; i < argc; i++) {
        if (options && strcmp(argv[i], "--") == 0) {
            options = false;
        } else if (options && argv[i][0] == '-' && argv[i][1]) {
            int r = parse_option(args, argc, argv, &i, err);
            if (r < 0)
                return r;
        } else {
            args->operands[args->operand_count++] = argv[i];
            options = options && !command->stops_at_operand;
        }
    }
    int r = check_operands(args, err);
    if (r < 0)
        return r;
    *ret = take_ptr(&args);
    return 0;
}

static const struct cli_option *known_option(const struct cli_args *args, const char *name)
{
    const struct cli_option *option = find_option(args->command, name, strlen(name));

    assert(option);
    return option;
}

bool cli_flag(const struct cli_args *args, const char *name)
{
    const struct cli_option *option = known_option(args, name);

    for (size_t i = 0; i < args->given_count; i++)
        if (args->given[i].option == option)
            return true;
    return false;
}

size_t cli_values(const struct cli_args *args, const char *name, const char *const **ret)
{
    const struct cli_option *option = known_option(args, name);
    size_t count = 0;

    for (size_t i = 0; i < args->given_count; i++)
        if (args->given[i].option == option)
            args->values[count++] = args->given[i].value;
    args->values[count] = NULL;
    *ret = args->values;
    return count;
}

const char *cli_value(const struct cli_args *args, const char *name)
{
    const char *const *values;
    size_t count = cli_values(args, name, &values);

    return count ? values[count - 1] : NULL;
}

size_t cli_operands(const struct cli_args *args, const char *const **ret)
{
    *ret = args->operands;
    return args->operand_count;
}

bool cli_json(const struct cli_args *args)
{
    return cli_flag(args, "json");
}

int cli_fail(int code, const struct err *err)
{
    (void)fprintf(stderr, "vitro: %s\n", err->text);
    return code;
}

int cli_usage(const struct command *command, const char *format, ...)
{
    CLEANUP(buf_done) struct buf text = {0};
    va_list args;

    va_start(args, format);
    buf_addv(&text, format, args);
    va_end(args);
    if (!strstr(buf_text(&text), "\nhint: "))
        buf_addf(&text, "\nhint: vitro %s --help", command->name);
    (void)fprintf(stderr, "vitro: %s\n", buf_text(&text));
    return EXIT_USAGE;
}

bool cli_colour(int fd)
{
    const char *no_colour = getenv("NO_COLOR"), *term = getenv("TERM");

    return isatty(fd) && !(no_colour && *no_colour) && !(term && strcmp(term, "dumb") == 0);
}

const struct command *cli_find(const char *name)
{
    for (const struct command *const *command = cli_commands; *command; command++)
        if (strcmp((*command)->name, name) == 0)
            return *command;
    return NULL;
}

static bool is_group(const char *word)
{
    for (const struct command *const *command = cli_commands; *command; command++)
        if (text_starts((*command)->name, word) && (*command)->name[strlen(word)] == ' ')
            return true;
    return false;
}

/* The words that could stand where `word` stands: verbs, or the sub-verbs of a group. */
static size_t verb_words(const char *group, struct arena *arena, const char **ret, size_t max)
{
    size_t count = 0, skip = group ? strlen(group) + 1 : 0;

    for (const struct command *const *c = cli_commands; *c && count < max; c++) {
        if (group && !(text_starts((*c)->name, group) && (*c)->name[skip - 1] == ' '))
            continue;
        const char *word = (*c)->name + skip;
        ret[count++] = arena_dup(arena, word, strcspn(word, " "));
    }
    return count;
}

static int unknown_verb(const char *group, const char *word)
{
    CLEANUP(arena_done) struct arena arena = {0};
    const char *words[128] = {0}, *space = group ? " " : "";
    size_t count = verb_words(group, &arena, words, ARRAY_LENGTH(words));
    const char *closest = text_closest(word, words, count);

    group = group ? group : "";
    (void)fprintf(stderr, "vitro: unknown verb '%s%s%s'\n", group, space, word);
    if (closest)
        (void)fprintf(stderr, "hint: did you mean 'vitro %s%s%s'?\n", group, space, closest);
    else
        (void)fputs("hint: vitro --help lists the verbs\n", stderr);
    return EXIT_USAGE;
}

static void print(struct buf *text)
{
    (void)fputs(buf_text(text), stdout);
    buf_done(text);
}

static int run_command(const struct command *command, int argc, char **argv)
{
    struct err err = {0};
    CLEANUP(cli_args_free) struct cli_args *args = NULL;

    if (cli_parse(command, argc, argv, &args, &err) < 0)
        return cli_usage(command, "%s", err.text);
    if (cli_flag(args, "help")) {
        struct buf text = {0};
        cli_add_help(&text, command);
        print(&text);
        return EXIT_CLEAN;
    }
    return command->run(args);
}

static char *join_words(char **argv, int count)
{
    struct buf name = {0};

    for (int i = 1; i <= count; i++)
        buf_addf(&name, "%s%s", i > 1 ? " " : "", argv[i]);
    return buf_take(&name);
}

/* The verb of up to three words that the command line begins with; the longest one counts. */
static const struct command *match_command(int argc, char **argv, int *ret_words)
{
    for (int count = argc - 1 < 3 ? argc - 1 : 3; count > 0; count--) {
        CLEANUP(mem_free) char *name = join_words(argv, count);
        const struct command *command = cli_find(name);
        *ret_words = count;
        if (command)
            return command;
    }
    return NULL;
}

/* The longest beginning that is a group of verbs ("tape", "tape annotate"); returns owned. */
static char *match_group(int argc, char **argv, int *ret_words)
{
    for (int count = argc - 1 < 2 ? argc - 1 : 2; count > 0; count--) {
        CLEANUP(mem_free) char *name = join_words(argv, count);
        *ret_words = count;
        if (is_group(name))
            return take_ptr(&name);
    }
    return NULL;
}

int cli_main(int argc, char **argv)
{
    struct buf text = {0};

    trace_init();
    if (argc < 2 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        cli_add_overview(&text);
        print(&text);
        return argc < 2 ? EXIT_USAGE : EXIT_CLEAN;
    }
    if (strcmp(argv[1], "--version") == 0) {
        if (argc > 2 && strcmp(argv[2], "--json") == 0)
            printf("{\"name\":\"vitro\",\"version\":\"%s\"}\n", VITRO_VERSION);
        else
            printf("vitro %s\n", VITRO_VERSION);
        return EXIT_CLEAN;
    }
    if (argv[1][0] == '-') {
        (void)fprintf(stderr, "vitro: unknown option '%s'\nhint: vitro --help\n", argv[1]);
        return EXIT_USAGE;
    }
    int words = 0;
    const struct command *command = match_command(argc, argv, &words);
    if (command)
        return run_command(command, argc - 1 - words, argv + 1 + words);
    CLEANUP(mem_free) char *group = match_group(argc, argv, &words);
    if (!group)
        return unknown_verb(NULL, argv[1]);
    const char *next = words + 1 < argc ? argv[words + 1] : NULL;
    if (next && strcmp(next, "--help") != 0 && strcmp(next, "-h") != 0)
        return unknown_verb(group, next);
    for (const struct command *const *c = cli_commands; *c; c++)
        if (text_starts((*c)->name, group) && (*c)->name[strlen(group)] == ' ')
            buf_addf(&text, "  vitro %-22s %s\n", (*c)->name, (*c)->summary);
    print(&text);
    return next ? EXIT_CLEAN : EXIT_USAGE;
}
