/* SPDX-License-Identifier: MIT */
/* sub: subprocesses that are recorded or played.
 *
 * A subprocess is what the program or a process below it executes, and everything that comes out of
 * it: children belong to the subprocess whose child they are. The first exec of a process decides:
 *
 *     sub_call.c   what is called
 *     sub_exec.c   the decision, and the stub
 *     sub.c        the life of a subprocess from its exec to its last child
 *     sub_io.c     recording: what goes through its standard streams, in what order
 *     sub_input.c  recording: what the program itself is given on standard input
 *     sub_files.c  recording: what became of the files it touched
 *     sub_signal.c recording: signals that others send it
 *     sub_play.c   playing: the recording as operations for the stub (stub_abi.h)
 *     sub_choose.c playing: which recording it is, where that depends on standard input
 *
 * While one is recorded, calls on descriptors 0, 1 and 2 stop (SECTION(STREAMS) of policy.def), and
 * so do calls that change the tree of files (SECTION(EFFECTS)). Which descriptor is which stream is
 * told by device and inode: `2>&1`, pipes between its own children and redirections are then
 * nothing special. A process that gives a stream another number is stopped at every call
 * (`tapped`). What happens inside of a subprocess is not on the tape: its start, its end and its
 * recording are, the same whether it ran or was played. */
#pragma once
#include "box/box_internal.h"
#include "proc/cassette.h"
#include "proc/programs.h"
#include "proc/spool.h"

enum sub_how { SUB_RECORDED, SUB_PLAYED, SUB_PASSED };

struct sub_stream { /* who it is */
    uint64_t device, inode;
    bool open;
    struct spool spool;
};

struct sub {
    struct sub *next; /* all that are alive */
    enum sub_how how;
    char *path; /* owned: the process path of its first process */
    pid_t pid;  /* and its pid */
    unsigned live;
    bool exited;
    int64_t started_ns;
    uint64_t real_started_ns;
    struct recording recording; /* being filled, or being played */
    struct sub_stream streams[3];
    struct sub_files *files;
    uint64_t awaited; /* signals, as bits: if one of them ends it, others sent it */
    struct sub_play *play;
    char *data, *host; /* owned: the record of what is played */
};

struct subs {
    struct cassette *cassette; /* also without recordings: it knows how calls are written */
    struct sub *first;
    char *worktree;  /* owned, absolute */
    char *directory; /* owned: where long streams are kept meanwhile */
    bool stub_there;
    struct programs *programs;
    struct sub_report *report;
    struct spool input; /* of the program */
};

/* box.c, task.c and sys_process.c call these. All do nothing in a box without cassettes. */
int subs_open(struct box *box, struct err *err);
void subs_program_started(struct box *box);                 /* the view is there */
enum verdict subs_exec(struct box *box, struct task *task); /* at the entry of an exec */
/* At its event: activates what subs_exec decided. */
enum sub_exec { SUB_EXEC_PLAIN, SUB_EXEC_RECORDED, SUB_EXEC_PLAYED };
enum sub_exec subs_exec_done(struct box *box, struct task *task);
void subs_forked(struct process *child, struct process *parent);
void subs_ended(struct box *box, struct process *process, int status);
void subs_released(struct box *box, struct process *process);
void subs_woke(struct box *box, const struct process *process); /* a time of its own has come */
bool subs_stub_call(struct box *box, struct task *task);        /* STUB_CALL; true: it was ours */
bool subs_on_tape(const struct process *process, enum tape_kind kind);
int subs_close(struct box *box, struct err *err);
/* Where guests find what we put there: "stub" stands in for programs, "bin" has their names. */
enum { SUBS_PATH_MAX = 64 };
void subs_path(const struct box *box, const char *name, char ret[SUBS_PATH_MAX]);

/* sub_call.c */
struct sub_wanted { /* a call, as read from the guest; all owned */
    char *program, *cwd;
    char **argv, **env;
};
char *sub_read_program(struct task *task);                       /* NULL if it cannot be read */
bool sub_read_wanted(struct task *task, struct sub_wanted *ret); /* the rest */
void sub_wanted_done(struct sub_wanted *wanted);

void sub_free(struct sub *sub);                                   /* accepts NULL */
int64_t sub_offset(const struct box *box, const struct sub *sub); /* ns since its start */

/* sub_io.c */
void sub_io_begin(struct box *box, struct task *task, struct sub *sub);
void sub_io_tapped(struct box *box, struct task *task); /* any call of a tapped process */
void sub_io_opened(const struct box *box, struct task *task, const char *path);
int sub_io_end(struct box *box, struct sub *sub, struct err *err);

/* sub_input.c */
int sub_input_open(struct box *box, struct err *err);
bool sub_input_is(const struct box *box, const struct stat *st); /* and reads of it are kept */
int sub_input_close(struct box *box, struct err *err);

/* sub_files.c */
void sub_files_touch(struct box *box, struct task *task, const char *path, bool tree);
void sub_files_rename(struct box *box, struct task *task, bool at); /* at its entry */
int sub_files_end(struct box *box, struct sub *sub, struct err *err);
void sub_files_free(struct sub_files *files);

/* sub_signal.c */
void subs_kill(struct box *box, struct task *task); /* at the entry of kill and its kin */
void subs_signal(struct box *box, struct task *task, int signal); /* at its delivery stop */

/* sub_play.c */
int sub_play_begin(struct box *box, struct task *task, struct sub *sub);
void sub_play_more(struct box *box, struct task *task, struct sub *sub);
void sub_play_copy(struct box *box, const struct recording *recording, struct store *from);
void sub_play_keep(struct box *box, struct sub *sub); /* its contents, for the new bundle */
void sub_play_free(struct sub_play *play);
void sub_play_choose(struct sub *sub, const size_t *ids, size_t count);
void sub_play_nothing(struct sub *sub, const char *why); /* words on standard error, exit 122 */
void sub_take(struct box *box, struct sub *sub,
              size_t id); /* this entry is the one that is played */

/* sub_report.c: what is wrong, in words. */
void sub_miss(struct box *box, const struct process *process, const struct call *call);
void sub_compare(struct box *box, struct sub *sub); /* PROC_VERIFY */
void sub_drift(struct box *box, const struct sub *sub, const struct program_facts *now);
void sub_trouble(struct box *box, const char *format, ...) PRINTF_LIKE(2, 3);
void sub_report_end(struct box *box);
