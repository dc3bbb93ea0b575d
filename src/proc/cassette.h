/* SPDX-License-Identifier: MIT */
/* cassette: recorded calls of programs, found by what was called.
 *
 * A cassette is any tape with records of kind `subprocess`; a bundle's tape is one. Loaded, it is a
 * list of entries. A call is looked up by its key (match/call.h): program, arguments, directory and
 * chosen variables, with volatile parts taken out by rules. Entries of one key answer in the order
 * in which they were recorded, each once. What a call reads from standard input counts too, but is
 * known only when it has been read: cassette_find gives all entries that may answer, and whoever
 * plays them reads on until one is left (choice.h). */
#pragma once
#include "proc/recording.h"
#include "tape/secrets.h"
#include "tape/store_stream.h"

struct cassette_options {
    struct call_view view; /* borrowed parts must outlive the cassette */
    const char *worktree;  /* absolute; its path in arguments becomes <worktree>; NULL: none */
    bool strict_order;     /* the next call gets the next entry or none */
    uint64_t max_age_ns;   /* entries older than this are refused; 0: none */
    int64_t now_ns;        /* real, since 1970, to tell the age */
    const char *const *environment; /* whose secrets are hidden; NULL: this process's */
};

struct cassette_entry {
    char *data, *host;   /* owned: the record as it was; host may be NULL */
    struct store *store; /* borrowed: where its contents are */
    uint64_t input_bytes;
    uint64_t kept_bytes; /* the same with secrets hidden: input may come from a recording */
    struct hash input_hash;
    bool reads_input, reads_end, converses, used;
    size_t group;
    char name[32]; /* of the program, cut: to find out fast whether it is known at all */
};

struct cassette;

struct cassette *cassette_new(const struct cassette_options *options);
struct cassette *cassette_free(struct cassette *cassette);
DEFINE_CLEANUP(struct cassette *, cassette_free)

/* Adds what the tape, the bundle or the JSON list at `path` holds. -ENOENT if there is none,
 * -EBADMSG with the place for a damaged one, -EPROTO for one from a newer version, -ESTALE for one
 * that is too old (max_age_ns). */
int cassette_load(struct cassette *cassette, const char *path, struct err *err);
/* The same for one recording that is in memory. */
int cassette_add(struct cassette *cassette, const char *data, const char *host, struct store *store,
                 const char *where, struct err *err);

size_t cassette_count(const struct cassette *cassette);
struct cassette_entry *cassette_entry(struct cassette *cassette, size_t id);
/* Whether any entry is of a program of that name, used or not. */
bool cassette_knows(const struct cassette *cassette, const char *program);

/* The call with secrets hidden and the worktree's path taken out, as recordings have it. Owned
 * lists; free with call_forms_done. */
struct call_forms {
    char *program, *cwd;
    char **argv, **env;
};
void cassette_form(const struct cassette *cassette, const struct call *call,
                   struct call_forms *ret);
struct call call_of_forms(const struct call_forms *forms);
void call_forms_done(struct call_forms *forms);

/* Entries that may answer, oldest first, at most `max`; how many. `call` in recorded form, its
 * stdin_digest is not looked at. */
size_t cassette_find(struct cassette *cassette, const struct call *call, size_t *ret_ids,
                     size_t max);
void cassette_use(struct cassette *cassette, size_t id);
/* The recording itself; `ret` is the caller's to end with recording_done. */
int cassette_recording(struct cassette *cassette, size_t id, struct recording *ret,
                       struct err *err);

/* Says in words why no entry answers: the key, the closest recording, the first field that
 * differs, and an option that would overlook it. */
void cassette_explain(struct cassette *cassette, const struct call *call, struct buf *ret);
/* The command of a recording, and where it ran. */
void cassette_describe(struct cassette *cassette, size_t id, struct buf *ret);
/* One line for each entry that was not used, at most `max`. How many there are. */
size_t cassette_unused(struct cassette *cassette, struct buf *ret, size_t max);
const struct secrets *cassette_secrets(const struct cassette *cassette);
