/* SPDX-License-Identifier: MIT */
/* The world as an argument: what a program prints, reads, asks the time of, draws, fetches and
 * starts goes through one handle, and a test decides what stands behind it.
 *
 *     static int greet(struct vitro_host *host, int argc, char **argv) {        the program
 *         const char *name;
 *         if (vitro_env_get(host->env, "USER", &name, NULL) == 1)
 *             vitro_stdio_print(host->stdio, "hello %s\n", name);
 *         return 0;
 *     }
 *     int main(int argc, char **argv) { return vitro_host_main(greet, argc, argv); }
 *
 *     struct vitro_host *host = vitro_host_mock(                                its test
 *         &(struct vitro_host_mock_options){.env = (const char *const[]){"USER=ada", NULL}},
 * &error); greet(host, 1, argv); vitro_host_captured_stdio(host)          "hello ada\n"
 *     vitro_host_call_at(host, 0, &call)       env, get, ["USER"]
 *
 * Three worlds: vitro_host_real does it, vitro_host_null denies and remembers every call,
 * vitro_host_mock answers from what it was given and remembers every call. A world may be put
 * together: a struct vitro_host of your own with sub-handles of others, or ones you wrote.
 *
 * RESULTS: 0 or more is success, -errno a failure; words are in `error`, which may be NULL. A call
 * that is denied gives -EPERM; one for which a mock has no answer gives -ENODATA, and the words
 * name the sub-handle, the method and what was asked for.
 * THREADS: hosts of this header may be used by any number of threads. Nothing is global: two hosts
 * do not know of each other, and neither the environment nor the working directory is changed. */
#ifndef VITRO_HOST_H
#define VITRO_HOST_H

#include "vitro/child.h"
#include "vitro/clock.h"
#include "vitro/mock_process.h"
#include "vitro/overlay.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- the handle ------------------------------------------------------------------------------ */

struct vitro_stdio;
struct vitro_env;
struct vitro_fs;
struct vitro_random;
struct vitro_net;
struct vitro_terminal;

struct vitro_host {
    struct vitro_stdio *stdio;
    struct vitro_clock *clock; /* vitro/clock.h */
    struct vitro_env *env;
    struct vitro_fs *fs;
    struct vitro_random *random;
    struct vitro_net *net;
    struct vitro_processes *process; /* vitro/child.h */
    struct vitro_terminal *terminal;
    const struct vitro_host_ops *ops;
};
struct vitro_host_ops {
    int (*ask)(struct vitro_host *host, const char *capability, const char *method,
               const char *args, char **ret, struct vitro_host_error *error);
    void (*free)(struct vitro_host *host);
};

/* Accepts NULL. A host of your own without ops is not touched. */
VITRO_API void vitro_host_free(struct vitro_host *host);

/* A capability that is none of the above: "mail", "send". `args` is a JSON object, or NULL for {};
 * *ret is JSON, owned (free). -ENOSYS: the host does not know it. */
VITRO_API int vitro_host_ask(struct vitro_host *host, const char *capability, const char *method,
                             const char *args, char **ret, struct vitro_host_error *error);

/* ---- stdio ----------------------------------------------------------------------------------- */

struct vitro_stdio {
    const struct vitro_stdio_ops *ops;
};
struct vitro_stdio_ops {
    int (*write)(struct vitro_stdio *stdio, int stream, const void *bytes, size_t length,
                 struct vitro_host_error *error);
    int (*read_line)(struct vitro_stdio *stdio, char **ret, struct vitro_host_error *error);
};
/* To standard output, and to standard error. At once: nothing is held back. */
VITRO_API int vitro_stdio_print(struct vitro_stdio *stdio, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
VITRO_API int vitro_stdio_print_error(struct vitro_stdio *stdio, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Stream 1 or 2. */
VITRO_API int vitro_stdio_write(struct vitro_stdio *stdio, int stream, const void *bytes,
                                size_t length, struct vitro_host_error *error);
/* 1 with a line without its newline (owned: free), 0 at the end. */
VITRO_API int vitro_stdio_read_line(struct vitro_stdio *stdio, char **ret,
                                    struct vitro_host_error *error);

/* ---- env: a copy that belongs to the host; what it starts gets it ---------------------------- */

struct vitro_env {
    const struct vitro_env_ops *ops;
};
struct vitro_env_ops {
    int (*get)(struct vitro_env *env, const char *name, const char **ret,
               struct vitro_host_error *error);
    int (*set)(struct vitro_env *env, const char *name, const char *value,
               struct vitro_host_error *error);
    int (*list)(struct vitro_env *env, char ***ret, struct vitro_host_error *error);
};
/* 1 with the value, which lives as long as the host; 0 and NULL when it is not set. */
VITRO_API int vitro_env_get(struct vitro_env *env, const char *name, const char **ret,
                            struct vitro_host_error *error);
VITRO_API int vitro_env_set(struct vitro_env *env, const char *name, const char *value,
                            struct vitro_host_error *error); /* NULL removes it */
/* "NAME=VALUE", sorted, NULL-ended, owned: vitro_strings_free. */
VITRO_API int vitro_env_list(struct vitro_env *env, char ***ret, struct vitro_host_error *error);
VITRO_API void vitro_strings_free(char **strings);

/* ---- fs -------------------------------------------------------------------------------------- */

struct vitro_fs {
    const struct vitro_fs_ops *ops;
};
struct vitro_fs_stat {
    enum vitro_file_type type;
    uint64_t size_bytes;
};
struct vitro_fs_ops {
    int (*read)(struct vitro_fs *fs, const char *path, char **ret, size_t *ret_length,
                struct vitro_host_error *error);
    int (*write)(struct vitro_fs *fs, const char *path, const void *bytes, size_t length,
                 int append, struct vitro_host_error *error);
    int (*stat)(struct vitro_fs *fs, const char *path, struct vitro_fs_stat *ret,
                struct vitro_host_error *error);
    int (*remove)(struct vitro_fs *fs, const char *path, struct vitro_host_error *error);
    int (*rename)(struct vitro_fs *fs, const char *from, const char *to,
                  struct vitro_host_error *error);
    int (*make_dir)(struct vitro_fs *fs, const char *path, struct vitro_host_error *error);
    int (*list)(struct vitro_fs *fs, const char *path, char ***ret, struct vitro_host_error *error);
};
/* The whole file, a NUL behind it, owned: free. `ret_length` may be NULL. */
VITRO_API int vitro_fs_read(struct vitro_fs *fs, const char *path, char **ret, size_t *ret_length,
                            struct vitro_host_error *error);
VITRO_API int vitro_fs_write(struct vitro_fs *fs, const char *path, const void *bytes,
                             size_t length, struct vitro_host_error *error);
VITRO_API int vitro_fs_append(struct vitro_fs *fs, const char *path, const void *bytes,
                              size_t length, struct vitro_host_error *error);
VITRO_API int vitro_fs_stat(struct vitro_fs *fs, const char *path, struct vitro_fs_stat *ret,
                            struct vitro_host_error *error); /* -ENOENT */
VITRO_API int vitro_fs_remove(struct vitro_fs *fs, const char *path,
                              struct vitro_host_error *error);
VITRO_API int vitro_fs_rename(struct vitro_fs *fs, const char *from, const char *to,
                              struct vitro_host_error *error);
/* With all directories on the way; 0 when it is there. */
VITRO_API int vitro_fs_make_dir(struct vitro_fs *fs, const char *path,
                                struct vitro_host_error *error);
/* Names, sorted, NULL-ended, owned: vitro_strings_free. */
VITRO_API int vitro_fs_list(struct vitro_fs *fs, const char *path, char ***ret,
                            struct vitro_host_error *error);

/* ---- random ---------------------------------------------------------------------------------- */

struct vitro_random {
    const struct vitro_random_ops *ops;
};
struct vitro_random_ops {
    int (*u64)(struct vitro_random *random, uint64_t *ret, struct vitro_host_error *error);
    int (*bytes)(struct vitro_random *random, void *ret, size_t length,
                 struct vitro_host_error *error);
    int (*uuid)(struct vitro_random *random, char ret[37], struct vitro_host_error *error);
};
VITRO_API int vitro_random_u64(struct vitro_random *random, uint64_t *ret,
                               struct vitro_host_error *error);
VITRO_API int vitro_random_bytes(struct vitro_random *random, void *ret, size_t length,
                                 struct vitro_host_error *error);
VITRO_API int vitro_random_uuid(struct vitro_random *random, char ret[37],
                                struct vitro_host_error *error); /* version 4 */

/* ---- net ------------------------------------------------------------------------------------- */

struct vitro_net {
    const struct vitro_net_ops *ops;
};
struct vitro_net_request {
    const char *method; /* NULL: GET */
    const char *url;
    const char *const *headers; /* "Name: value", NULL-ended; NULL: none */
    const void *body;
    size_t body_length;
    size_t answer_max; /* bytes; 0: 64 MiB */
};
struct vitro_net_response { /* give back with vitro_net_response_done */
    int status;
    int ok;         /* 200 to 299 */
    char **headers; /* "Name: value", NULL-ended */
    char *body;     /* a NUL behind it */
    size_t body_length;
    char *final_url;
};
struct vitro_net_ops {
    int (*request)(struct vitro_net *net, const struct vitro_net_request *request,
                   struct vitro_net_response *ret, struct vitro_host_error *error);
};
/* 0 whatever the status is; -EIO when there was no answer. */
VITRO_API int vitro_net_request(struct vitro_net *net, const struct vitro_net_request *request,
                                struct vitro_net_response *ret, struct vitro_host_error *error);
VITRO_API int vitro_net_get(struct vitro_net *net, const char *url, struct vitro_net_response *ret,
                            struct vitro_host_error *error);
VITRO_API void vitro_net_response_done(struct vitro_net_response *response);

/* ---- terminal -------------------------------------------------------------------------------- */

struct vitro_terminal {
    const struct vitro_terminal_ops *ops;
};
struct vitro_terminal_ops {
    int (*size)(struct vitro_terminal *terminal, unsigned *ret_columns, unsigned *ret_rows,
                struct vitro_host_error *error);
    int (*is_tty)(struct vitro_terminal *terminal, int stream, struct vitro_host_error *error);
};
/* Of the terminal; without one, what COLUMNS and LINES say, else 80 by 24. */
VITRO_API int vitro_terminal_size(struct vitro_terminal *terminal, unsigned *ret_columns,
                                  unsigned *ret_rows, struct vitro_host_error *error);
VITRO_API int vitro_terminal_is_tty(struct vitro_terminal *terminal, int stream,
                                    struct vitro_host_error *error); /* 1 or 0 */

/* ---- the real world -------------------------------------------------------------------------- */

/* A capability of the program's own. `args` and *ret as of vitro_host_ask. */
struct vitro_host_capability {
    const char *capability, *method;
    int (*run)(void *context, const char *args, char **ret, struct vitro_host_error *error);
    void *context;
};
struct vitro_host_real_options {   /* zero is the default of each; all is borrowed */
    struct vitro_clock *clock;     /* NULL: the machine's */
    struct vitro_overlay *overlay; /* files below its worktree; NULL: the machine's files */
    vitro_cassette *cassette;      /* programs are recorded or played; NULL: they run */
    const struct vitro_host_capability *capabilities; /* the last has no name; NULL: none */
};
/* With a cassette, a program that is spawned has run, or was played, when vitro_process_spawn
 * returns: it gets `input` and nothing more. Overlay and cassette are used by one thread at a time.
 * HTTP and HTTPS are spoken by libcurl (-ELIBACC where it is not installed); redirects are
 * followed. */
VITRO_API struct vitro_host *vitro_host_real(const struct vitro_host_real_options *options,
                                             struct vitro_host_error *error);

/* ---- doubles --------------------------------------------------------------------------------- */

/* Denies everything. Its clock stands at 1970 and its sleeps are denied as well. */
VITRO_API struct vitro_host *vitro_host_null(void);

struct vitro_host_file {
    const char *path;
    const void *bytes;
    size_t length; /* 0: bytes is a text */
};
struct vitro_host_answer {
    const char *url;
    const void *body; /* NULL: "" */
    size_t length;    /* 0: body is a text */
    int status;       /* 0: 200 */
    const char *const *headers;
};
/* An answer to any method, of a sub-handle or of a capability of your own. `when` must be contained
 * in the arguments, which are a JSON object: vitro_host_methods lists their names. In a scope,
 * answers with a `when` that fits come before those without, and among equals the first that is not
 * used up; scopes pushed later come before earlier ones, and all of them before the rest of a
 * mock's options. */
struct vitro_host_response {
    const char *capability, *method;
    const char *when;   /* JSON object; NULL: any call */
    const char *result; /* JSON, as vitro_host_methods says; NULL: null */
    const char *error;  /* instead: the call fails with these words */
    int error_code;     /* -errno; 0: -EIO */
    unsigned repeat;    /* answers so often; 0: any number of times */
};
/* A program that is to be started next: steps are taken in order. */
struct vitro_host_step {
    const char *const *argv; /* patterns as of vitro/sandbox.h: "glob:*.c", "..." at the end */
    const char *output, *error_output;
    int exit_code, signal;
};
struct vitro_host_mock_options { /* zero is the default of each; all but the handles is copied */
    struct vitro_clock *clock;   /* borrowed; NULL: a paused one that jumps, so that sleeps pass */
    int64_t clock_at_unix_ms;    /* 0: 2026-01-01T00:00:00Z; only without a clock */
    int clock_at_epoch;          /* clock_at_unix_ms 0 does mean 1970 */
    const char *const *env;      /* "NAME=VALUE", NULL-ended */
    const struct vitro_host_file *files; /* the last has no path */
    const uint64_t *random_u64;          /* drawn in order */
    size_t random_count;
    const struct vitro_host_answer *answers;     /* of the network; the last has no url */
    const char *const *stdin_lines;              /* NULL-ended */
    const char *const *capabilities;             /* of your own: "mail.send", NULL-ended */
    const struct vitro_host_response *responses; /* the last has no capability */
    const struct vitro_host_step *steps;         /* the last has no argv */
    vitro_spawner *spawner;   /* borrowed: doubles of programs, when there is no step */
    vitro_cassette *cassette; /* borrowed: recordings, when there is neither */
    int echo;                 /* what is printed is printed as well */
};
/* Files that were written are there to be read; variables that were set are set; a stream of the
 * terminal is never one. A random_bytes or a uuid is made of the numbers in the queue. NULL with
 * words: options that make no sense (-EINVAL). */
VITRO_API struct vitro_host *vitro_host_mock(const struct vitro_host_mock_options *options,
                                             struct vitro_host_error *error);

/* What was called, in order; of null and mock hosts. */
struct vitro_host_call {
    const char *sub_handle, *method;
    const char *const *args; /* as texts, NULL-ended */
    size_t arg_count;
    const char *worker; /* vitro_worker_name of the caller */
    int result;         /* what the call gave: 0 or more, or -errno; -EINPROGRESS meanwhile */
    int denied;
};
VITRO_API size_t vitro_host_call_count(const struct vitro_host *host);
/* Borrowed, as long as the host lives. -ENOENT behind the last. */
VITRO_API int vitro_host_call_at(const struct vitro_host *host, size_t index,
                                 struct vitro_host_call *ret);
/* Of the denied ones alone. */
VITRO_API size_t vitro_host_deny_count(const struct vitro_host *host);
VITRO_API int vitro_host_deny_at(const struct vitro_host *host, size_t index,
                                 struct vitro_host_call *ret);
/* All that was printed, owned: free. `ret_length` may be NULL. */
VITRO_API char *vitro_host_captured_stdio(const struct vitro_host *host, size_t *ret_length);
VITRO_API char *vitro_host_captured_stderr(const struct vitro_host *host, size_t *ret_length);
/* 0, or -ENOTEMPTY with what was given and not asked for: numbers, lines, steps, responses that
 * answer so often; -ENODATA with the calls that had no answer. */
VITRO_API int vitro_host_check_used(const struct vitro_host *host, struct vitro_host_error *error);
VITRO_API size_t vitro_host_steps_left(const struct vitro_host *host);

/* "env.get name -> string or null", a line a method. Static. */
VITRO_API const char *vitro_host_methods(void);

/* ---- goldens
 *
 *     vitro_host_golden(host, "tests/deploy.golden", NULL, &error)
 *
 * The golden is a text file: one JSON object a line for a transcript. In a golden transcript
 * "<any>" stands for any value, "<ms>" and "<ns>" for a number or its text, "<uuid>" for a uuid;
 * they may stand inside of longer texts, too. An update keeps lines that fit as they are. */
struct vitro_golden { /* zero is the default of each */
    int update;       /* write the golden where it differs; so does the variable VITRO_UPDATE=1 */
    const char *const *mask; /* rules for volatile parts: "uuid", "s/REGEX/TEXT/"; NULL-ended */
};
/* The calls of a null or mock host against a golden. 0: equal, or written. -EPROTO: it differs, the
 * words tell where, and what was seen stands in PATH.actual. -ENOENT: there is none yet. -EPERM: an
 * update while CI is set. -EBADMSG: a golden that is none, by its line. */
VITRO_API int vitro_host_golden(const struct vitro_host *host, const char *path,
                                const struct vitro_golden *how, struct vitro_host_error *error);
/* The calls, a line each; owned: free.
 * {"args":["KEY"],"method":"get","result":"value","sub_handle":"env"} */
VITRO_API char *vitro_host_transcript(const struct vitro_host *host);
/* Any text against a golden, byte by byte once the rules are applied to both. */
VITRO_API int vitro_golden_text(const char *path, const void *text, size_t length,
                                const struct vitro_golden *how, struct vitro_host_error *error);

/* ---- sidecars: a world in a file (docs/formats/harness.md)
 *
 * NAME.harness.json says what a program finds and what it must have called. It is loaded by a test,
 * or by `vitro conform`, which runs the program itself. */
VITRO_API struct vitro_host *vitro_host_from_sidecar(const char *path,
                                                     struct vitro_host_error *error);
/* 0, or -EPROTO with the first call, denial or output that is not as the sidecar says. */
VITRO_API int vitro_host_check_sidecar(const struct vitro_host *host,
                                       struct vitro_host_error *error);
/* The host that whoever started this program wants it to have: the one of the sidecar that the
 * variable VITRO_HARNESS names, or else the machine. */
VITRO_API struct vitro_host *vitro_host_from_env(struct vitro_host_error *error);
/* A main: runs the program with that host, checks what the sidecar says, and returns its exit code;
 * 1 when the sidecar says otherwise and 125 when it cannot be read, with words on standard error.
 */
VITRO_API int vitro_host_main(int (*run)(struct vitro_host *host, int argc, char **argv), int argc,
                              char **argv);

/* ---- scopes of responses
 *
 *     VITRO_HOST_SCOPE(host);              until the end of the block
 *     vitro_host_respond(host, &(struct vitro_host_response){...}, &error);
 */
struct vitro_host_scope { /* all of it is hidden */
    struct vitro_host *host;
    struct vitro_host_scope *below;
    const char *where;
    void *responses;
};
/* Into the scope pushed last. -EINVAL: a method that is not known, named with the closest, or JSON
 * that is none. */
VITRO_API int vitro_host_respond(struct vitro_host *host,
                                 const struct vitro_host_response *response,
                                 struct vitro_host_error *error);
VITRO_API int vitro_host_scope_push_at(struct vitro_host_scope *scope, struct vitro_host *host,
                                       const char *where, struct vitro_host_error *error);
/* -EPERM: not the one pushed last; the words name both sites, and nothing is changed. */
VITRO_API int vitro_host_scope_pop_at(struct vitro_host_scope *scope, const char *where,
                                      struct vitro_host_error *error);
/* What the macro uses: a failure ends the program with its words. */
VITRO_API void vitro_host_scope_begin(struct vitro_host_scope *scope, struct vitro_host *host,
                                      const char *where);
VITRO_API void vitro_host_scope_end(struct vitro_host_scope *scope);
#define vitro_host_scope_push(scope, host, error)                                                  \
    vitro_host_scope_push_at(scope, host, VITRO_WHERE, error)
#define vitro_host_scope_pop(scope, error) vitro_host_scope_pop_at(scope, VITRO_WHERE, error)
#define VITRO_HOST_SCOPE(host)             VITRO_HOST_SCOPE_(host, __COUNTER__)
#define VITRO_HOST_SCOPE_(host, n)         VITRO_HOST_SCOPE__(host, n)
#define VITRO_HOST_SCOPE__(host, n)                                                                \
    __attribute__((cleanup(vitro_host_scope_end))) struct vitro_host_scope vitro_scope_##n;        \
    vitro_host_scope_begin(&vitro_scope_##n, host, VITRO_WHERE)

#ifdef __cplusplus
}
#endif
#endif
