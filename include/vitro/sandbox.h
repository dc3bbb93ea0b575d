/* SPDX-License-Identifier: MIT */
/* A place of its own for one test, from C: a scratch HOME, commands that are played rather than
 * run, a tmux server of its own.
 *
 *     vitro_sandbox *s = vitro_sandbox_open(&(struct vitro_sandbox_options){.name = "feedback"},
 *                                           &error);
 *     vitro_shim_reply(s, "gh", &(struct vitro_shim_rule){
 *         .args = (const char *const[]){"issue", "create", "...", NULL},
 *         .output = "https://example.test/1\n"}, &error);
 *     vitro_sandbox_begin(s, &error);
 *     ... start programs with vitro_sandbox_env(s) in vitro_sandbox_work(s) ...
 *     vitro_shim_never_called(s, "gh", (const char *const[]){"issue", "create", NULL}, &error);
 *     vitro_sandbox_close(s, &error);
 *
 * The environment is made from nothing: HOME and the XDG directories below it, PATH with the shims
 * first, TMPDIR, TMUX_TMPDIR, TERM, NO_COLOR; of the caller's only LANG, LC_ALL, SHELL, GOCACHE and
 * GOMODCACHE. A box that runs a program of the sandbox needs its root in `writable`;
 * vitro_sandbox_box and vitro_sandbox_spawn see to that.
 *
 * Nothing outside of the root is ever written, removed or killed. What an owner that was killed
 * left behind is cleared away when the next sandbox, of any name, is opened: processes are known by
 * the variable VITRO_SANDBOX in their environment and a tmux server by its socket, never by their
 * names.
 *
 * Functions that can fail return -errno and fill `error`, which may be NULL. A handle is for one
 * thread at a time; sandboxes are independent of each other, also those of the same name. */
#ifndef VITRO_SANDBOX_H
#define VITRO_SANDBOX_H

#include "vitro/box.h"
#include "vitro/term.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct vitro_sandbox vitro_sandbox;

struct vitro_sandbox_options { /* zero is the default of each */
    const char *name;          /* a plain file name, of the test; NULL: "sandbox" */
    const char *base;          /* where roots are made; NULL: ${TMPDIR:-/tmp}/vitro-UID */
    const char *term;          /* TERM; NULL: "dumb" */
    uint64_t quota_bytes;      /* what the root may hold; 0: 256 MiB */
};

/* NULL on failure: -EPERM where a guard refuses, as for a root that would hold the real HOME. */
VITRO_API vitro_sandbox *vitro_sandbox_open(const struct vitro_sandbox_options *options,
                                            struct vitro_box_error *error);
/* Everything that must hold at the end of a test: no call was left without an answer, every planned
 * call came, the quota holds, no process is left. Then everything is removed and freed, in either
 * case. 0, or -EPROTO (calls), -EDQUOT, -EBUSY (a process was left; it is gone now) with words.
 * Accepts NULL. */
VITRO_API int vitro_sandbox_close(vitro_sandbox *s, struct vitro_box_error *error);

/* The sandbox's, until it closes. */
VITRO_API const char *vitro_sandbox_root(const vitro_sandbox *s);
VITRO_API const char *vitro_sandbox_home(const vitro_sandbox *s);
VITRO_API const char *vitro_sandbox_work(const vitro_sandbox *s);
VITRO_API const char *vitro_sandbox_shims(const vitro_sandbox *s);      /* the directory */
VITRO_API const char *const *vitro_sandbox_env(const vitro_sandbox *s); /* NULL-ended */
/* Replaces a variable; removes it with a NULL value. */
VITRO_API int vitro_sandbox_env_set(vitro_sandbox *s, const char *name, const char *value,
                                    struct vitro_box_error *error);
/* A file of the sandbox: relative to the work directory, or "~/...". -EPERM for any other. */
VITRO_API int vitro_sandbox_write(vitro_sandbox *s, const char *path, const void *bytes,
                                  size_t length, struct vitro_box_error *error);

/* Shims answer from here on as they were told. To be called before a program starts. */
VITRO_API int vitro_sandbox_begin(vitro_sandbox *s, struct vitro_box_error *error);
/* Fills in environment, directory, worktree and what may be written; begins. `writable` in the
 * options is replaced. */
VITRO_API int vitro_sandbox_box(vitro_sandbox *s, struct vitro_box_options *options,
                                struct vitro_box_error *error);
/* Spawn: a program of the sandbox in a terminal and a box. SpawnWithEnv: KEY=VALUE each replace
 * what the sandbox says; `env` may be NULL. To be closed before the sandbox. */
VITRO_API vitro_term *vitro_sandbox_spawn(vitro_sandbox *s, const char *const *env,
                                          const char *const *argv, struct vitro_box_error *error);
/* Runs a command in `directory` once for all who ask with the same key and stamp, in this process
 * and in others; they wait for it. A build that fails tells its output. */
VITRO_API int vitro_sandbox_build(const char *key, const char *stamp, const char *directory,
                                  const char *const *argv, struct vitro_box_error *error);

/* ---- shims ---------------------------------------------------------------------------------- */

struct vitro_shim_rule { /* zero is the default of each */
    /* Patterns of the arguments without the command: as of "glob:*.c", "regex:^a", "contains:x",
     * "any:", else the text itself; "..." at the end stands for whatever follows. NULL: any call.
     */
    const char *const *args;
    int subset;             /* each pattern fits some argument, in any place */
    const char *input;      /* a pattern of standard input; NULL: any */
    const char *const *env; /* "NAME=PATTERN" each, "NAME" for one that is not set; NULL: any */
    const char *cwd;        /* a pattern of the directory it is called in; NULL: any */
    const char *output;     /* what it prints */
    const char *errors;     /* on standard error */
    int exit_code;
    int signal;         /* instead of exit_code */
    uint64_t delay_ns;  /* before; virtual in a box */
    int pass;           /* run the real program: the first on PATH outside of the shims */
    int print_env;      /* print the environment */
    uint64_t linger_ns; /* leave a child behind that holds standard output */
    const char *run;    /* a shell command that gets arguments and input */
    const char *write_path, *write; /* a file that it writes, and what */
    int planned;    /* it must be called, `times` (0: once), in the order of such rules */
    unsigned times; /* at most so often; 0: any number */
};

/* A rule more for this command, which is a shim from here on. The first that fits and is not used
 * up answers. Calls that fit none fail, and vitro_sandbox_close says so. */
VITRO_API int vitro_shim_reply(vitro_sandbox *s, const char *command,
                               const struct vitro_shim_rule *rule, struct vitro_box_error *error);
/* ScriptSuccess: every call ends with 0 and this output; ScriptFailure: with 1 and these errors.
 * Either text may be NULL. Only for calls that no rule fits. */
VITRO_API int vitro_shim_success(vitro_sandbox *s, const char *command, const char *output,
                                 struct vitro_box_error *error);
VITRO_API int vitro_shim_failure(vitro_sandbox *s, const char *command, const char *errors,
                                 struct vitro_box_error *error);

/* Calls go to the real program. What it did is kept in a cassette (docs/formats/cassette.md), which
 * vitro_sandbox_close writes if all holds. -EPERM where the variable CI is set. */
VITRO_API int vitro_shim_record(vitro_sandbox *s, const char *command, const char *cassette,
                                struct vitro_box_error *error);
/* Calls get what the cassette has for them, each recording once, the same call in the recorded
 * order; closing tells those that nobody asked for. -ENOENT when it has none of this command. */
VITRO_API int vitro_shim_replay(vitro_sandbox *s, const char *command, const char *cassette,
                                struct vitro_box_error *error);

struct vitro_shim_call { /* the sandbox's, until the next question about calls */
    const char *const *argv;
    const char *input; /* NULL: standard input was a terminal or a device */
    const char *cwd;
    const char *const *env; /* "NAME=VALUE" each */
    int64_t time_ns;        /* since 1970; virtual in a box */
    unsigned number;        /* from 1, over all commands */
    int pid;                /* as the shim saw it */
};
/* Call `index` of this command, from 0. -ENOENT when there were fewer. */
VITRO_API int vitro_shim_call(vitro_sandbox *s, const char *command, size_t index,
                              struct vitro_shim_call *ret, struct vitro_box_error *error);
VITRO_API int vitro_shim_call_count(vitro_sandbox *s, const char *command,
                                    struct vitro_box_error *error);
/* AssertCalled: some call's arguments, joined by spaces, hold every text (NULL-ended); *ret, which
 * may be NULL, is the first. -ENOENT with a list of the calls there were.
 * AssertNotCalled: none does; without texts, there was no call at all. -EEXIST. */
VITRO_API int vitro_shim_called(vitro_sandbox *s, const char *command, const char *const *texts,
                                struct vitro_shim_call *ret, struct vitro_box_error *error);
VITRO_API int vitro_shim_never_called(vitro_sandbox *s, const char *command,
                                      const char *const *texts, struct vitro_box_error *error);

/* ---- tmux ----------------------------------------------------------------------------------- */

/* TmuxSocket; InstallTmuxShim: whatever programs ask of tmux goes to our server. */
VITRO_API const char *vitro_tmux_socket(vitro_sandbox *s);
VITRO_API int vitro_tmux_install(vitro_sandbox *s, struct vitro_box_error *error);
/* TmuxTry: asks our server; the exit code, or -errno; *ret_output is owned (free), without its last
 * newline. Tmux: the same, and an exit code that is not 0 is a failure (-EPROTO). */
VITRO_API int vitro_tmux_try(vitro_sandbox *s, const char *const *args, char **ret_output,
                             struct vitro_box_error *error);
VITRO_API int vitro_tmux(vitro_sandbox *s, const char *const *args, char **ret_output,
                         struct vitro_box_error *error);

/* What a pane shows now, as a screen (vitro_term_still): text with styles, cursor, title. To be
 * closed with vitro_term_close. NULL on failure. */
VITRO_API vitro_term *vitro_tmux_pane(vitro_sandbox *s, const char *target,
                                      struct vitro_box_error *error);

#ifdef __cplusplus
}
#endif

#endif
