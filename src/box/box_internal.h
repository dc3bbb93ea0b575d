/* SPDX-License-Identifier: MIT */
/* box_internal: the supervisor's own state. One supervisor process, one thread, one `struct box`.
 *
 *     box         the whole; owns everything below
 *     process     a guest process: its place in the tree of spawns, its chance, its timers
 *     task        a guest thread: what it is doing as far as ptrace can tell
 *     deadline    something that is due at a virtual time: a task's wait, or a timer
 *
 * A task is in one of four states. RUNNING: the kernel has it; it runs, or it is blocked in a call
 * we do not look at, or in a timed call that we made endless (task->wait.active). STOPPED: at a
 * ptrace stop, being handled. PARKED: at the entry of a pure sleep, held there until its deadline.
 * LISTENING: in a group-stop. idle.c proves that no RUNNING task can run before it moves the clock.
 *
 *     NEW -> RUNNING <-> STOPPED -> PARKED -> RUNNING
 *                        STOPPED -> LISTENING -> STOPPED
 */
#pragma once
#include "box/box_abi.h"
#include "box/box_options.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/rng.h"
#include "tape/tape_kinds.h"
#include <signal.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <time.h>

struct box;
struct task;
struct process;

/* deadline.c: a heap ordered by (due, arming order). */
struct deadline {
    int64_t due_ns;    /* virtual monotonic */
    uint64_t order;    /* arming order: breaks ties */
    size_t index;      /* place in the heap + 1; 0 while not armed */
    bool realtime;     /* a point on the realtime clock: moves when that is set */
    uint64_t armed_at; /* the heap's busy_ns */
    bool exact;        /* a jump stops right at it, see deadline_landing */
    void (*fire)(struct box *box, struct deadline *deadline);
};
struct deadline_heap {
    struct deadline **items; /* owned array of borrowed entries */
    size_t count, capacity;
    uint64_t orders;
    uint64_t busy_ns; /* real time during which guests were busy, computing.c */
};
/* Real time during which guests were busy since it was armed. */
uint64_t deadline_busy(const struct deadline_heap *heap, const struct deadline *deadline);
void deadline_arm(struct deadline_heap *heap, struct deadline *deadline, int64_t due_ns);
/* The next expiry of a periodic timer: it keeps its place among equals. */
void deadline_repeat(struct deadline_heap *heap, struct deadline *deadline, int64_t due_ns);
void deadline_disarm(struct deadline_heap *heap, struct deadline *deadline);
void deadline_shift_realtime(struct deadline_heap *heap, int64_t by_ns);
struct deadline *deadline_first(const struct deadline_heap *heap);
/* Where a jump to it stops: a microsecond later, unless it is `exact`. */
int64_t deadline_landing(const struct deadline *deadline);
bool deadline_is_exact(int64_t length_ns); /* of one that is so far away when it is armed */
bool deadline_is_before(const struct deadline *a, const struct deadline *b);

enum task_state { TASK_NEW, TASK_RUNNING, TASK_STOPPED, TASK_PARKED, TASK_LISTENING };

/* How the time that is left reaches the guest when a wait ends early or in time. */
enum wait_rest { REST_NONE, REST_TIMESPEC, REST_TIMEVAL };

struct wait {
    bool active;   /* set at the call's entry; cleared when it is known to have ended */
    bool expiring; /* its deadline passed, an interrupt is on its way */
    enum wait_rest rest;
    uint64_t rest_address;
    long number;       /* the call as the kernel sees it */
    uint64_t ip, sp;   /* of the call: together with the number they tell it from another */
    bool expired;      /* the last one that ended did so by its deadline */
    long timed_out;    /* the result of the call when its deadline passes */
    int argument;      /* index of the argument that was replaced; -1 for none */
    uint64_t original; /* the guest's value of it */
    uint64_t original_ip;
    int64_t started_ns;
    struct deadline deadline;
};

struct tap {               /* a call on a recorded stream, sub_io.c */
    int stream;            /* of the subprocess; -1: none of its own */
    bool is_program_input; /* sub_input.c */
    long number;
    uint64_t address, length;
    void (*next)(struct box *box, struct task *task); /* whoever else waits for its end */
};

struct blocked_call { /* where the kernel has a task */
    long number;      /* -1: not in a call */
    uint64_t args[6], sp, ip;
};

struct schedule { /* what a guest asked for, sys_sched.c */
    uint32_t policy, priority;
    bool reset; /* its children begin anew */
    uint64_t runtime_ns, deadline_ns, period_ns;
};

struct task {
    pid_t tid;
    pid_t tid_inside;             /* in the box's pid namespace; 0 until asked for */
    struct process *process;      /* borrowed; NULL for a child seen before its parent's event */
    struct task *next, *previous; /* all tasks, newest first */
    struct task *next_in_bucket;
    unsigned ordinal; /* 1 for the first thread of a process */
    enum task_state state;
    bool regs_valid, regs_dirty;
    bool started;                 /* its first stop was seen */
    bool stepping_in;             /* a child whose first stop waits for its parent's event */
    struct user_regs_struct regs; /* while STOPPED or PARKED */
    void (*on_exit)(struct box *box, struct task *task); /* at the exit stop of this call */
    uint64_t note[5];                                    /* the entry handler's, for on_exit */
    struct wait wait;
    struct tap tap;
    struct blocked_call blocked; /* as of the last idle_check */
    /* of /proc/TID, -1 until first needed */
    int syscall_fd, stat_fd, schedstat_fd;
    bool mover;  /* still.c: was let go on since its process's time was noted */
    int slot;    /* its return slot in the guest page; -1 until first needed */
    int scratch; /* its piece of the guest page; -1: none */
    struct schedule schedule;
    struct process *tracer; /* a guest that holds it, sys_ptrace.c; borrowed, NULL: none */
    bool tracer_told;       /* that it is held */
};

struct posix_timer;

struct stillness {                /* still.c */
    bool known;                   /* the two sums are */
    uint64_t total_ns, others_ns; /* CPU time when all were blocked last; without the movers' */
    uint64_t now_ns;              /* the first, as of the last look */
    uint64_t looked_in;           /* which was that, as idle_looks */
    enum still { STILL_NOT, STILL_ALL, STILL_OTHERS } result; /* of it; OTHERS: all but movers */
};

struct process {
    pid_t pid;
    char *path;             /* owned: "1.2.1", the order of spawns */
    char *program;          /* owned: what it runs, for people */
    struct process *next;   /* all processes, newest first */
    struct process *parent; /* who spawned it; NULL when that one is gone */
    unsigned children, threads_spawned, task_count;
    unsigned movers; /* of its tasks, still.c */
    struct stillness still;
    bool vdso_ready;           /* our pages are mapped */
    bool watched;              /* stopped at every call, for sys_socket.c */
    bool tapped;               /* the same, for sub_io.c */
    bool traces;               /* the same, for sys_ptrace.c */
    bool in_special_directory; /* its working directory is below /proc, /dev or /sys */
    unsigned patches;          /* call sites replaced so far, fast.c */
    struct loader *loader;     /* borrowed: that of its program, at loader_base; loader.c */
    uint64_t loader_base;
    bool stirred;       /* one of its threads was let go since all were blocked last, idle.c */
    uint64_t awake_in;  /* the look of idle.c at which a thread of it was not kept by us */
    uint64_t kept_in;   /* the look at which a thread that is was seen to be so */
    bool shares_memory; /* made by vfork, still in its parent's memory: takes no slots */
    uint64_t slots[BOX_SLOTS / 64]; /* bits of those in use */
    uint64_t scratch;               /* the same of pieces of scratch memory */
    uint64_t spin_ns;               /* clock ticks it was given for spinning: its CPU time */
    uint64_t spun_ns;               /* of those, since time last passed by other means */
    uint64_t spun_reads;            /* clock reads meanwhile */
    int64_t started_ns;             /* virtual monotonic */
    uint64_t raw_reads;             /* clock reads by system call since the last other event */
    uint64_t counter_read;          /* the time stamp counter, as last read */
    unsigned waits_over_at_once;    /* the same of waits until a time that had come */
    uint64_t reads_at_look;         /* clock reads that the page had counted */
    struct rng random;              /* the stream behind getrandom */
    uint64_t random_draws, random_bytes, random_opens;
    pid_t pid_inside;              /* in the box's pid namespace; 0 until asked for */
    struct process_timers *timers; /* sys_timer.c; NULL until one is used */
    struct sub *sub;               /* the recorded or played subprocess it belongs to, sub.h */
    struct sub *pending;           /* owned: what it becomes when its exec works */
};

struct vclock { /* vclock.c */
    enum box_clock_mode mode;
    int64_t monotonic_ns;
    int64_t realtime_offset_ns;
    int64_t start_monotonic_ns;
    uint32_t scale;
    int64_t real_base_ns;
    struct box_clock_page *page; /* mapped shared */
    uint64_t jumps, ticks;
};

struct computing {      /* computing.c */
    uint64_t looked_ns; /* real: of the last look */
    uint64_t looked_steps;
    uint64_t quiet_ns; /* real time without an event, as far as it was seen */
    uint64_t busy_ns;  /* real time since the box was idle, or a deadline came by it */
    struct computing_since {
        bool known;
        uint64_t real_ns, cpu_ns;
    } quiet_since, busy_since;           /* early in those times */
    uint64_t sampled_ns, sampled_cpu_ns; /* what the box had of the CPU, and when */
    uint64_t ended_cpu_ns;               /* of processes that have ended */
    uint64_t times;                      /* that a deadline came by it */
    bool again;                          /* and the box was not idle since */
};

struct hold {          /* hold.c */
    struct task *task; /* at the entry of a wait, for one look; NULL: nobody */
    int argument;      /* what makes that wait an endless one */
    uint64_t value;
    const struct task *known; /* whose pidfd this is; NULL: nobody's */
    int pidfd;
};

struct timerfds {          /* those that are armed, sys_timerfd.c */
    struct vtimer **items; /* owned, with what they point to; in the order of compare_files */
    size_t count, limit;
};

enum { PORT_FIRST = 35000, PORT_LAST = 60999 };
struct ports {                                         /* sys_port.c */
    unsigned given;                                    /* so many sockets have one */
    uint64_t bound[(PORT_LAST - PORT_FIRST) / 64 + 1]; /* bits of those that guests chose */
};

struct box {
    const struct box_options *options;
    struct box_findings *findings;
    struct vclock clock;
    struct computing computing;
    struct hold hold;
    struct deadline_heap deadlines;
    struct task *first_task;
    struct task *buckets[1024]; /* hash by tid */
    size_t task_count, process_count;
    uint64_t processes_ever;
    struct process *processes;
    struct process *first; /* the program itself; NULL when it has ended */
    pid_t init_pid, guest_pid;
    int init_socket;
    int shm_id;
    bool real_root;   /* fs_is_real_root, asked once */
    bool bare;        /* without namespaces: bare.h */
    int bare_fd;      /* its directory, locked; -1 */
    char own_dir[48]; /* where guests find files of ours */
    int signal_fd, epoll_fd, stdout_poll[3];
    uint64_t steps; /* ptrace stops handled */
    uint64_t real_started_ns, real_deadline_ns;
    int64_t wall_started_ns; /* when the box was asked for */
    sigset_t caller_mask;
    bool main_ended, over;
    bool stirred; /* a signal was sent since all were blocked last, idle.c */
    uint64_t idle_looks;
    bool takes_turns;    /* a sched_yield lets everybody run; still.c */
    uint64_t yielded_in; /* the look at which that was asked and done */
    bool dying;          /* a leader was seen dead before its threads: idle.c looks harder */
    int main_status;     /* as of wait(2) */
    uint64_t kernel_clock_gettime; /* its offset in the kernel's vDSO */
    struct listing *listings;      /* directories being read in pieces; listing.c */
    uint64_t listings_ever;
    struct reads *reads;     /* reads.c; NULL until something was read */
    struct loader *loaders;  /* known dynamic loaders; loader.c */
    uint64_t return_stub[6]; /* by argument index, offsets in our vDSO; 0 where there is none */
    struct box_tape *tape;
    struct timerfds timerfds;
    struct ports ports;
    unsigned writes_noted; /* calls that write to files, since the clock moved */
    int64_t moved_real_ns; /* real time of that; what has a later stamp was written since */
    bool sets_new_times;   /* a guest gave a file a time that looks like one of a write in here */
    struct file_times *times;
    struct socket_timeout *socket_timeouts; /* sys_socket.c */
    size_t socket_timeout_count, socket_timeout_limit;
    struct random_pipe *random_pipes; /* special.c */
    struct numbers *numbers;          /* numbers.c; NULL: the kernel's own */
    uint64_t specials_made;
    int caller_fd;        /* pidfd of who made the supervisor */
    int cpu;              /* the box's, order.c; -1: any */
    cpu_set_t elsewhere;  /* for the others, order.c */
    int cpu_lock;         /* the claim on it; -1 without */
    int store_fd;         /* what guests write, box_files.c; -1 without a view */
    int root_fd;          /* the box's root directory; -1 until its first exec */
    struct stat outside;  /* standard input, as the caller gave it */
    bool program_started; /* its exec succeeded */
    bool realtime;        /* guests and supervisor have a real-time priority, order.c */
    uint64_t last_interrupt_ns;
    struct control *control; /* control.c; NULL without a control socket */
    struct settle *settle;   /* settle.c; NULL without a terminal */
    bool has_ptys;           /* a guest has opened /dev/ptmx */
    bool never_park;         /* waits.c */
    int terminal_fd;         /* its slave, in init and the program's process only */
    struct subs *subs;       /* sub.c; NULL without cassettes */
    uint64_t outside_since_ns, outside_steps; /* outside.c */
    uint64_t stuck_since_ns, stuck_steps;     /* box.c: everybody waits, and nothing is due */
};

/* box.c: the loop. */
int box_supervise(struct box *box, struct err *err); /* no guest is left; init may be on its way */
void box_leave(struct box *box);                     /* waits for it */
void box_move_clock(struct box *box, int64_t to_ns);
bool box_over_max_time(struct box *box, int64_t due_ns); /* then the box has ended */
void box_end(struct box *box, enum box_outcome outcome, const char *format, ...) PRINTF_LIKE(3, 4);

/* events.c */
void events_handle(struct box *box, pid_t tid, int status); /* as of wait(2) */
void events_interrupt(struct box *box);                     /* Ctrl-C was pressed */

/* task.c */
struct task *task_find(struct box *box, pid_t tid);
struct task *task_add(struct box *box, pid_t tid);
void task_remove(struct box *box, struct task *task);
struct process *process_add(struct box *box, struct process *parent, pid_t pid);
void process_release(struct box *box, struct process *process);
#define FOR_EACH_TASK(box, item) /* the body may remove the item */                                \
    for (struct task * (item) = (box)->first_task, *next_ = NULL;                                  \
         (item) && ((next_ = (item)->next), true); (item) = next_)
pid_t process_pid_inside(struct process *process); /* its pid in the box's numbers */
struct task_status {                               /* /proc/TID/status */
    char text[8192];
};
bool task_status_read(pid_t tid, struct task_status *ret);
/* What stands behind "NAME:" there; NULL: no such line. */
const char *task_status_of(const struct task_status *status, const char *name);
uint64_t task_status_mask(const struct task_status *status, const char *name); /* of signals */
pid_t task_tid_inside(struct task *task);
struct task *task_named(struct box *box, pid_t tid_inside); /* NULL: none */
void task_name(const struct task *task, struct buf *buf);   /* "1.2 (curl)" */

/* guest.c: registers, memory and calls of a stopped task. */
struct user_regs_struct *task_regs(struct task *task); /* NULL if it is gone */
void task_set_regs(struct task *task);                 /* marks them changed */
void task_set_arg(struct task *task, int index, uint64_t value);
int guest_read(struct task *task, uint64_t address, void *bytes, size_t length);
int guest_write(struct task *task, uint64_t address, const void *bytes, size_t length);
enum { GUEST_WRITES_MAX = 8 };
struct guest_writes { /* to several places at once; the bytes are borrowed */
    struct iovec local[GUEST_WRITES_MAX], remote[GUEST_WRITES_MAX];
    size_t count, length;
};
void guest_writes_add(struct guest_writes *writes, uint64_t address, const void *bytes,
                      size_t length);
int guest_writes_do(struct task *task, const struct guest_writes *writes);
/* Into text, which the guest itself may not write; up to 16 bytes. */
int guest_write_text(struct task *task, uint64_t address, const void *code, size_t length);
/* Reads a NUL-terminated text; -ENAMETOOLONG if it does not end within the buffer. */
int guest_read_text(struct task *task, uint64_t address, char *text, size_t size);
/* Some of the guest's memory for an argument of ours, good until its next stop; 0: none is left. */
enum { SCRATCH_BYTES = 32 };
uint64_t task_scratch(struct task *task);
void task_scratch_done(struct task *task);
int task_borrow_fd(const struct task *task,
                   int fd); /* for the same open file, the caller's; or -1 */
void task_resume(struct box *box, struct task *task, int signal);
void task_skip(struct task *task, long result); /* the call is not made; this is its result */
/* exec.c */
/* At the event of an exec; false if the task died meanwhile, with its status as of wait(2). */
bool exec_happened(struct box *box, struct task *task, int *status);
struct exec_stack {              /* what the kernel left on the stack of a new program; 0: absent */
    uint64_t vdso, vdso_address; /* AT_SYSINFO_EHDR, and where that value stands */
    uint64_t random;             /* AT_RANDOM */
    uint64_t loader;             /* AT_BASE: the dynamic loader */
    uint64_t environment, names; /* the first text of envp; AT_EXECFN, which lies behind them all */
};
void counter_renounce(struct box *box);
/* Patches the text of the program's loader through `memory`, its /proc/PID/mem, and adds what has
 * to stand in the patch page. */
void loader_prepare(struct box *box, struct task *task, const struct exec_stack *stack, int memory,
                    struct guest_writes *writes);
/* A call was patched here: where it is in the loader, the next program has it patched from the
 * start. */
void loader_learn(const struct process *process, uint64_t at, long call);
void loader_expect(struct box *box); /* looks at the machine's own before anybody needs it */
void loader_done(struct box *box);

/* loader_cpuid.c: whether a `mov; cpuid` here can be answered; and the patch that does, which takes
 * two places of the page. */
enum { LOADER_CPUID_SLOTS = 2 };
bool loader_cpuid_at(const unsigned char *code, size_t left);
bool loader_cpuid_patch(unsigned number, uint64_t at, unsigned char *site, unsigned char *patch);
void listings_done(struct box *box);
void exec_expect(void); /* looks at the kernel's vDSO before anybody needs it */
uint64_t exec_vdso_symbol(const char *image, const char *name); /* its offset, or 0 */
int exec_find_kernel_vdso(struct box *box, struct err *err);

/* sys_files.c: whether a relative path of this task may lead to a special file. */
bool files_in_special_directory(const struct task *task);
void files_touch(struct box *box, struct task *task, int directory, uint64_t address);
enum { FULL_PATH_MAX = 8300 };
/* The absolute path that a call means, as the guest names it; false if it cannot be told. */
bool files_full_path(struct task *task, int directory, uint64_t address, char full[FULL_PATH_MAX]);
/* The file that a call named (by its fd: path_address 0), as the supervisor can open it, O_PATH. */
int files_open_named(struct task *task, int directory, uint64_t path_address, int flags);

/* sys_ptrace.c */
void trace_call(struct box *box, struct task *task);
void trace_ended(struct box *box, struct process *process);

/* sys_sched.c: the thread that such a call names by its first argument; NULL: none. */
struct task *sched_named(struct box *box, struct task *task);

/* sys_socket.c */
void socket_call(struct box *box, struct task *task);
void sockets_done(struct box *box);

/* fast.c */
void fast_init(void);
uint64_t fast_passed_ip(long number); /* where a fast path calls from; 0 if there is none */
void fast_patch(struct box *box, struct task *task); /* at the entry stop of such a call */
enum { FAST_MOV_BYTES = 5 };                         /* mov $NUMBER, %eax */
/* The number of such a call as compilers write it, or -1; so many bytes are before and behind. */
long fast_call_at(const unsigned char *code, size_t before, size_t left);
enum { FAST_SITE_BYTES = 7, FAST_PATCH_BYTES = 24, FAST_PATCHES_MAX = BOX_PAGE / FAST_PATCH_BYTES };
/* Makes the patch with this number for such a call at `at`, whose bytes are at `site`: changes
 * those, and puts what stands in the patch page into `patch`. False if there is no reaching it. */
bool fast_make_patch(long call, unsigned number, uint64_t at, unsigned char *site,
                     unsigned char *patch);
bool fast_in_reach(uint64_t from, uint64_t to); /* of a jump */
void fast_put_jump(unsigned char *code, uint64_t at, uint64_t to);
bool fast_fault(struct task *task); /* a SIGSEGV of a fast path's own: it goes on slowly */

/* vclock.c */
void vclock_init(struct vclock *clock, const struct box_options *options);
int64_t vclock_now(const struct vclock *clock); /* virtual monotonic */
int64_t vclock_realtime(const struct vclock *clock);
int64_t vclock_of(const struct vclock *clock, clockid_t id); /* any wall or monotonic id */
bool vclock_is_realtime(clockid_t id);
void vclock_move(struct vclock *clock, int64_t monotonic_ns); /* forward only */
void vclock_set_realtime(struct vclock *clock, int64_t realtime_ns);
uint64_t vclock_real_delay(const struct vclock *clock, int64_t due_ns); /* real ns until due */
bool vclock_held(const struct vclock *clock);    /* stands still unless moved */
bool vclock_virtual(const struct vclock *clock); /* anything but the plain real clock */

/* sys_time.c */
void clock_read_counted(struct box *box, struct task *task);
uint64_t clock_counter(struct box *box, struct task *task); /* the time stamp counter */
/* A wait was over at once; `only_looks`: of the kind that is also made to have a look. */
void clock_wait_counted(struct box *box, struct task *task, bool only_looks);
void clock_look(struct box *box, struct task *task);
void clock_spin_over(struct process *process);

/* control.c: the socket of a controller. */
int control_open(struct box *box, struct err *err);
void control_serve(struct box *box, int fd);
/* The box is idle and the clock manual: goes one step of what the controller asked for. */
bool control_idle(struct box *box, struct deadline *next);
void control_close(struct box *box);
void control_add_pending(struct box *box, struct buf *buf, size_t max); /* a JSON array */

/* idle.c */
enum idle { IDLE_NO, IDLE_YES, IDLE_OUTSIDE };
enum idle idle_check(struct box *box);
bool idle_cpu_ns(struct task *task, uint64_t *ret); /* what the thread has used of the CPU */

/* still.c */
bool still_is(struct box *box, const struct task *task); /* where it was when all were blocked */
void still_remember(struct box *box);                    /* all are blocked */
void still_moved(struct task *task);                     /* we let it go on */
void still_forget(struct task *task);                    /* it is gone */
bool idle_blocked_on_output(struct box *box);
int idle_state_letter(struct task *task); /* of /proc/TID/stat; 0 when it is gone */
bool idle_blocked_call(struct task *task, struct blocked_call *ret); /* false while it runs */

/* waits.c: the life of a timed wait. */
void wait_begin(struct box *box, struct task *task, int64_t due_ns, long timed_out);
/* Replaces the timeout argument of a wait that began, so that the guest finds its own again. */
void wait_replace(struct box *box, struct task *task, int argument, uint64_t value);
bool wait_again(struct box *box, struct task *task, uint64_t value); /* our own call, restarted */
/* The kernel goes on with a call that was cut short for nothing: a signal woke this thread and was
 * taken by another. It becomes the endless call again. */
bool wait_restart(struct task *task);
bool wait_is_current(const struct task *task); /* it is still blocked in its wait (task->blocked) */
bool wait_ends_at_once(
    const struct blocked_call *call); /* a wait whose time had come, sys_wait.c */
void wait_end(struct box *box, struct task *task);
void wait_fire(struct box *box, struct deadline *deadline);
struct task *wait_task(struct deadline *deadline);    /* of a deadline whose fire is wait_fire */
bool wait_was_interrupted(struct task *task);         /* its registers show a wait cut short */
void wait_settle(struct box *box, struct task *task); /* at an exit, event or signal stop */
void wait_signal(struct box *box, struct task *task, int signal);
void wait_unpark(struct box *box, struct task *task);
void wait_never_park(struct box *box);
void wait_check_signals(struct box *box, struct process *process); /* of parked tasks; NULL: all */

/* hold.c: a wait that began is held at its entry for one look, if that may be the end of it.
 * Otherwise, or if the look says no, `argument` becomes `value` and the kernel has it. */
bool hold_wait(struct box *box, struct task *task, bool expired, int argument, uint64_t value);
bool hold_lasts(struct box *box, struct task *task); /* the kernel would block it */
void hold_release(struct box *box);
void hold_forget(struct box *box, const struct task *task); /* it ends */

/* What an entry handler decides. */
enum verdict {
    VERDICT_GO,   /* let the kernel do it, perhaps with changed registers */
    VERDICT_EXIT, /* the same, and call task->on_exit behind it */
    VERDICT_DONE, /* skipped; the result is set */
    VERDICT_PARK, /* hold the task where it is */
};
typedef enum verdict (*sys_handler)(struct box *box, struct task *task);

/* policy.c, filter.c */
sys_handler policy_handler(long number);
const char *policy_name(long number); /* "nanosleep", or NULL */
struct sock_fprog;
/* Calls on descriptors from this one on are never judged by their number. */
enum { FILTER_DESCRIPTORS = 12 };
int filter_build(const struct box_options *options, struct sock_fprog *ret);

/* spawn.c */
int spawn_box(struct box *box, struct err *err);
int spawn_failure(struct box *box, struct err *err); /* why the program did not start */

/* audit.c */
void leak_add(struct box *box, const struct process *process, const char *capability);
void leak_note(struct box *box, const char *format, ...) PRINTF_LIKE(2, 3);

/* box_tape.c: the bundle that --record asks for. */
int box_tape_open(struct box *box, struct err *err);
/* One record; `members` is the inside of a JSON object, its names sorted. Records of one virtual
 * instant are written in the order of (process path, thread, sequence), never of arrival. */
void tape_event(struct box *box, const struct process *process, unsigned thread,
                enum tape_kind kind, const char *members, ...) PRINTF_LIKE(5, 6);
struct tape_data;
void tape_event_data(struct box *box, const struct process *process, unsigned thread,
                     enum tape_kind kind, const struct tape_data *data);
void tape_exec(struct box *box, struct task *task);
/* The recording of a subprocess, as JSON objects. */
void tape_subprocess(struct box *box, const char *process, const char *data, const char *host);
struct tape_writer *box_tape_writer(struct box *box); /* NULL without --record */
void box_tape_moved(struct box *box);                 /* the clock is about to move */
/* A file that was put into the bundle. */
int box_tape_add_file(struct box *box, const char *name, const char *role, struct err *err);
int box_tape_close(struct box *box, struct err *err);

/* computing.c: somebody runs. True if a deadline came although. */
bool computing_step(struct box *box, uint64_t now_ns, bool any_event);
void computing_over(struct box *box); /* the box is idle */
void computing_ended(struct box *box, const struct process *process);
bool computing_is_long(const struct box *box); /* nobody was idle for seconds, and no time passed */

/* outside.c: all are idle, but somebody outside may answer before `next` (or at all). */
bool outside_pending(struct box *box, const struct deadline *next);

/* report.c */
void report_blocked(struct box *box, struct buf *buf);
bool report_waits_outside(struct box *box);

/* sys_timer.c */
void timers_release(struct box *box, struct process *process);
/* sys_timerfd.c: drops it if it is a timerfd and nobody has it any more. */
bool timers_collect(struct box *box, struct deadline *first);
void timers_exec(struct box *box, struct process *process);
void timers_signal(struct box *box, struct task *task, int signal); /* at its delivery stop */

static inline uint64_t sys_arg(const struct user_regs_struct *regs, int index)
{
    switch (index) {
    case 0:
        return regs->rdi;
    case 1:
        return regs->rsi;
    case 2:
        return regs->rdx;
    case 3:
        return regs->r10;
    case 4:
        return regs->r8;
    default:
        return regs->r9;
    }
}
