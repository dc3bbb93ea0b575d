/* SPDX-License-Identifier: MIT */
/* The views of the command tables: --help, man page parts, shell completions. */
#include "cli/cli.h"
#include "base/text.h"
#include <errno.h>
#include <string.h>

enum { OPTION_COLUMN = 26 };

void cli_add_synopsis(struct buf *buf, const struct command *command)
{
    buf_addf(buf, "vitro %s", command->name);
    if (command->options && !text_starts(command->operands, "[options]"))
        buf_adds(buf, " [options]");
    if (*command->operands)
        buf_addf(buf, " %s", command->operands);
}

static void add_option(struct buf *buf, const struct cli_option *option)
{
    size_t start = buf->length;

    if (option->letter)
        buf_addf(buf, "  -%c, ", option->letter);
    else
        buf_adds(buf, "      ");
    buf_addf(buf, "--%s%s%s", option->name, option->value ? " " : "",
             option->value ? option->value : "");
    size_t width = buf->length - start;
    if (width > OPTION_COLUMN - 2)
        buf_addf(buf, "\n%*s", OPTION_COLUMN, "");
    else
        buf_addf(buf, "%*s", (int)(OPTION_COLUMN - width), "");
    buf_addf(buf, "%s%s\n", option->help, option->repeats ? " (repeats)" : "");
}

void cli_add_help(struct buf *buf, const struct command *command)
{
    static const struct cli_option common[] = {
        {"json", NULL, "print the result as one JSON document", 0, false},
        {"help", NULL, "show this help", 'h', false},
    };

    buf_adds(buf, "usage: ");
    cli_add_synopsis(buf, command);
    buf_addf(buf, "\n\n%s\n\noptions:\n", command->summary);
    for (const struct cli_option *option = command->options; option && option->name; option++)
        add_option(buf, option);
    for (size_t i = 0; i < ARRAY_LENGTH(common); i++)
        add_option(buf, &common[i]);
    if (!command->examples)
        return;
    buf_adds(buf, "\nexamples:\n");
    for (const char *const *line = command->examples; *line; line += 2)
        buf_addf(buf, "  %s\n      %s\n", line[0], line[1]);
}

void cli_add_overview(struct buf *buf)
{
    buf_adds(buf,
             "vitro puts a program under glass: its time, chance, files, processes and network\n"
             "become virtual, recorded on one tape, and replayable.\n\n"
             "usage: vitro VERB [options] [operands]\n\n");
    for (const struct command *const *c = cli_commands; *c; c++)
        buf_addf(buf, "  %-22s  %s\n", (*c)->name, (*c)->summary);
    buf_adds(buf, "\nvitro VERB --help tells more of one. vitro help formats|exit-codes.\n"
                  "vitro --version prints the version.\n");
}

static bool belongs(const struct command *command, const char *verb)
{
    size_t length = strlen(verb);

    return text_starts(command->name, verb) &&
           (command->name[length] == ' ' || command->name[length] == '\0');
}

/* Roff reads a leading point or quote as a request, and a bare minus as a hyphen. */
static void add_roff(struct buf *buf, const char *text)
{
    for (; *text; text++)
        if (*text == '-')
            buf_adds(buf, "\\-");
        else if (*text == '\\')
            buf_adds(buf, "\\e");
        else
            buf_addc(buf, *text);
}

static void add_man_options(struct buf *buf, const struct command *command)
{
    for (const struct cli_option *option = command->options; option && option->name; option++) {
        buf_adds(buf, ".TP\n");
        if (option->letter)
            buf_addf(buf, "\\fB\\-%c\\fR, ", option->letter);
        buf_adds(buf, "\\fB\\-\\-");
        add_roff(buf, option->name);
        buf_adds(buf, "\\fR");
        if (option->value) {
            buf_adds(buf, " \\fI");
            add_roff(buf, option->value);
            buf_adds(buf, "\\fR");
        }
        buf_addc(buf, '\n');
        add_roff(buf, option->help);
        buf_adds(buf, option->repeats ? " May be given more than once.\n" : "\n");
    }
}

void cli_add_man(struct buf *buf, const char *verb)
{
    CLEANUP(buf_done) struct buf line = {0};

    buf_adds(buf, ".SH SYNOPSIS\n.nf\n");
    for (const struct command *const *c = cli_commands; *c; c++)
        if (belongs(*c, verb)) {
            buf_clear(&line);
            cli_add_synopsis(&line, *c);
            add_roff(buf, line.data);
            buf_addc(buf, '\n');
        }
    buf_adds(
        buf,
        ".fi\n.SH OPTIONS\nEvery verb also takes \\fB\\-\\-help\\fR and \\fB\\-\\-json\\fR.\n");
    for (const struct command *const *c = cli_commands; *c; c++)
        if (belongs(*c, verb)) {
            buf_addf(buf, ".SS vitro %s\n", (*c)->name);
            add_roff(buf, (*c)->summary);
            buf_addc(buf, '\n');
            add_man_options(buf, *c);
        }
}

static void add_words(struct buf *buf, const struct command *command)
{
    buf_adds(buf, "--help --json");
    for (const struct cli_option *option = command->options; option && option->name; option++)
        buf_addf(buf, " --%s", option->name);
}

static size_t word_count(const char *name)
{
    size_t count = 1;

    for (; *name; name++)
        count += *name == ' ';
    return count;
}

/* The length of the first `count` words of a name. */
static size_t words_length(const char *name, size_t count)
{
    size_t length = 0;

    for (; name[length]; length++)
        if (name[length] == ' ' && --count == 0)
            break;
    return length;
}

/* For each beginning of `depth` words that has more behind it: the words that can follow. Names are
 * sorted, so those that follow one beginning stand together. */
static void add_bash_followers(struct buf *buf, size_t depth)
{
    buf_addf(buf, "    if [ \"$COMP_CWORD\" = %zu ]; then\n        case \"$verbs\" in\n",
             depth + 1);
    for (const struct command *const *c = cli_commands; *c; c++) {
        size_t length = words_length((*c)->name, depth);
        if (word_count((*c)->name) <= depth ||
            (c != cli_commands && strncmp(c[-1]->name, (*c)->name, length + 1) == 0))
            continue;
        buf_addf(buf, "        \"%.*s \"*) words=\"", (int)length, (*c)->name);
        size_t last = 0;
        for (const struct command *const *sub = c;
             *sub && strncmp((*sub)->name, (*c)->name, length + 1) == 0; sub++) {
            size_t end = words_length((*sub)->name, depth + 1);
            if (sub != c && end == last && strncmp(sub[-1]->name, (*sub)->name, end) == 0)
                continue;
            buf_addf(buf, "%s%.*s", sub == c ? "" : " ", (int)(end - length - 1),
                     (*sub)->name + length + 1);
            last = end;
        }
        buf_adds(buf, "\" ;;\n");
    }
    buf_adds(buf, "        esac\n    fi\n");
}

static void add_bash(struct buf *buf)
{
    buf_adds(buf, "# bash completion for vitro; printed by `vitro help completions bash`\n"
                  "_vitro() {\n"
                  "    local word=${COMP_WORDS[COMP_CWORD]} words=\n"
                  "    local verbs=\"${COMP_WORDS[1]} ${COMP_WORDS[2]} ${COMP_WORDS[3]} \"\n"
                  "    case \"$verbs\" in\n");
    /* Longer names first: "tape show" is more than "tape". */
    for (size_t words = 3; words > 0; words--)
        for (const struct command *const *c = cli_commands; *c; c++) {
            if (word_count((*c)->name) != words)
                continue;
            buf_addf(buf, "    \"%s \"*) words=\"", (*c)->name);
            add_words(buf, *c);
            buf_adds(buf, "\" ;;\n");
        }
    buf_adds(buf, "    esac\n    if [ \"$COMP_CWORD\" = 1 ]; then\n"
                  "        words=\"--help --version");
    const char *last = "";
    for (const struct command *const *c = cli_commands; *c; c++) {
        size_t length = words_length((*c)->name, 1);
        if (words_length(last, 1) != length || strncmp(last, (*c)->name, length) != 0)
            buf_addf(buf, " %.*s", (int)length, (*c)->name);
        last = (*c)->name;
    }
    buf_adds(buf, "\"\n    fi\n");
    add_bash_followers(buf, 1);
    add_bash_followers(buf, 2);
    buf_adds(buf, "    COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
                  "    [ ${#COMPREPLY[@]} -gt 0 ] || COMPREPLY=($(compgen -f -- \"$word\"))\n"
                  "}\ncomplete -F _vitro vitro\n");
}

static void add_zsh(struct buf *buf)
{
    buf_adds(buf, "#compdef vitro\n# printed by `vitro help completions zsh`\n"
                  "autoload -U +X bashcompinit && bashcompinit\n");
    add_bash(buf);
}

static void add_fish_text(struct buf *buf, const char *text)
{
    buf_addc(buf, '\'');
    for (; *text; text++) {
        if (*text == '\'' || *text == '\\')
            buf_addc(buf, '\\');
        buf_addc(buf, *text);
    }
    buf_addc(buf, '\'');
}

/* One line a word: each word of a name is offered where the word before it was given. */
static void add_fish_words(struct buf *buf, const struct command *command)
{
    const char *name = command->name, *before = NULL;
    size_t before_length = 0;

    for (;;) {
        size_t length = strcspn(name, " ");
        if (before)
            buf_addf(buf, "complete -c vitro -n '__fish_seen_subcommand_from %.*s' -a %.*s",
                     (int)before_length, before, (int)length, name);
        else
            buf_addf(buf, "complete -c vitro -n __fish_use_subcommand -a %.*s", (int)length, name);
        if (!name[length])
            break;
        buf_addc(buf, '\n');
        before = name;
        before_length = length;
        name += length + 1;
    }
    buf_adds(buf, " -d ");
    add_fish_text(buf, command->summary);
    buf_addc(buf, '\n');
}

static void add_fish(struct buf *buf)
{
    buf_adds(buf, "# fish completion for vitro; printed by `vitro help completions fish`\n");
    for (const struct command *const *c = cli_commands; *c; c++) {
        const char *space = strrchr((*c)->name, ' ');
        add_fish_words(buf, *c);
        for (const struct cli_option *o = (*c)->options; o && o->name; o++) {
            buf_addf(buf, "complete -c vitro -n '__fish_seen_subcommand_from %s' -l %s%s -d ",
                     space ? space + 1 : (*c)->name, o->name, o->value ? " -r" : "");
            add_fish_text(buf, o->help);
            buf_addc(buf, '\n');
        }
    }
}

int cli_add_completions(struct buf *buf, const char *shell)
{
    if (strcmp(shell, "bash") == 0)
        add_bash(buf);
    else if (strcmp(shell, "zsh") == 0)
        add_zsh(buf);
    else if (strcmp(shell, "fish") == 0)
        add_fish(buf);
    else
        return -EINVAL;
    return 0;
}
