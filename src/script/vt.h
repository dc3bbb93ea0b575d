/* SPDX-License-Identifier: MIT */
/* vt: the text of a scenario file as a tree of lines, each a list of words. What the words mean is
 * not known here; the formatter and the verbs both start from this tree. Grammar:
 * docs/formats/vt.md.
 *
 *     run ./feedback --public          a line: words
 *       see "y/N" before read          a line below it, by indentation
 *     -- notes.txt --                  a file that comes with the scenario, up to the next one
 *     text of the file */
#pragma once
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include <stdbool.h>
#include <stddef.h>

enum vt_kind {
    VT_WORD,   /* bare, "quoted", 'literal', or these joined */
    VT_REGEX,  /* /expression/ */
    VT_KEY,    /* <Enter> */
    VT_VECTOR, /* [pattern, pattern, ...] */
};

struct vt_part {   /* of a word */
    bool variable; /* text is the name of one */
    bool quoted;
    const char *text;
    size_t length; /* bytes may hold NUL */
};

struct vt_token {
    enum vt_kind kind;
    unsigned line, column; /* from 1; column in characters */
    const char *source;    /* as written */
    struct vt_part *parts; /* VT_WORD; of others the first part is what stands inside */
    size_t part_count;
    struct vt_token *items; /* VT_VECTOR */
    size_t item_count;
    const char *flags; /* VT_REGEX: "i" */
    bool quoted;       /* some part of it is: never a keyword */
};

struct vt_line {
    const char *path; /* of the file it stands in */
    unsigned line, indent;
    struct vt_token *words;
    size_t count;
    bool row;            /* | cell | cell | : words are the cells */
    const char *comment; /* "# text" behind the words or alone; NULL: none */
    bool blank_before;
    struct vt_line *lines; /* below it */
    size_t line_count;
    struct vt_line *next; /* while reading */
};

struct vt_embedded { /* a file that comes with the scenario */
    const char *name;
    const char *bytes;
    size_t length;
    unsigned line;
};

struct vt_text {
    const char *path;
    struct arena arena; /* owns everything here */
    struct vt_line *lines;
    size_t line_count;
    struct vt_embedded *files;
    size_t file_count;
    const char *trailer; /* from the first embedded file on, as written; for the formatter */
    size_t trailer_length;
};

enum { VT_LINES_MAX = 100000, VT_BYTES_MAX = 8 << 20, VT_DEPTH_MAX = 16, VT_LINE_MAX = 65536 };

/* Reads a text. -EINVAL with "path:line:column: what is wrong". */
int vt_read(const char *path, const char *bytes, size_t length, struct vt_text **ret,
            struct err *err);
struct vt_text *vt_free(struct vt_text *text);
DEFINE_CLEANUP(struct vt_text *, vt_free)

/* The text in its one canonical form: two spaces a level, one between words, tables aligned. What
 * is read from it is what was read before. */
void vt_format(const struct vt_text *text, struct buf *ret);

/* The word as written, when it is bare and without variables: a keyword. Else NULL. */
const char *vt_keyword(const struct vt_token *token);
