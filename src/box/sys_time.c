/* SPDX-License-Identifier: MIT */
/* sys_time: clock reads that come as system calls, and what else tells time.
 *
 * A program that spins on a clock that stands still would never end. Reads are counted, by the vDSO
 * and here; when a process has read READS_A_TICK times with nothing else in between, the clock
 * moves by a tick that grows with the time already spun, so that a spin of any length ends after
 * some hundred ticks and is at most one part in 64 too long. A tick never passes a deadline; it
 * goes as far as the next one, if so many reads take at least that long on any machine: who spins
 * may hold up somebody whose time would have come (a thread that is to be given the lock of an
 * interpreter, which is asked for after 5 ms). Ticks are the only CPU time a process is seen to
 * use.
 *
 * Others wait again and again until a time that has come, because they go on only when it is past.
 * On a machine it is past as soon as they look; here the clock stands where their deadline was.
 * Such waits move it by a nanosecond, and then by more and more, up to what such calls take. */
#include "box/policy.h"
#include "box/sub.h"
#include "base/trace.h"
#include "base/when.h"
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/msg.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/times.h>
#include <sys/timex.h>
#include <time.h>

enum { READS_A_TICK = 1024 }; /* reads by system call; the vDSO's own limit is in vclock.c */
enum { WAITS_A_TICK = 4, LOOKS_A_TICK = 64, COUNTER_STEP = 64 };
static const int64_t TICK_NS_MIN = 100 * 1000, WAIT_TICK_NS_MAX = 50 * 1000;
static const uint64_t READ_NS = 40; /* a read and the loop around it: 28 ns are the kernel's vDSO */

static int64_t between(int64_t least, int64_t value, int64_t most)
{
    return value < least ? least : value > most ? most : value;
}

static void tick(struct box *box, struct task *task, int64_t step)
{
    struct process *process = task->process;
    int64_t now = vclock_now(&box->clock);
    struct deadline *first = deadline_first(&box->deadlines);

    if (first && first->due_ns < now + step)
        step = first->due_ns > now ? first->due_ns - now : 0;
    if (box_over_max_time(box, now + step))
        return;
    if (step > 0) {
        box_move_clock(box, now + step);
        subs_woke(box, process);
    }
    process->spun_ns += (uint64_t)step;
    process->spin_ns += (uint64_t)step;
    box->clock.ticks++;
    trace(TRACE_CLOCK, "%s spins: tick of %lld ns", process->path, (long long)step);
    tape_event(box, process, task->ordinal, TAPE_CLOCK_ADVANCE, "\"by_ns\":%lld,\"cause\":\"spin\"",
               (long long)step);
    if (first && first->due_ns <= now + step)
        first->fire(box, first);
}

static void reset_page_reads(struct task *task)
{
    static const uint64_t zero;

    if (task->process->vdso_ready)
        (void)guest_write(task, BOX_BASE, &zero, sizeof zero);
}

/* How long it is until the next deadline. */
static int64_t deadline_distance(struct box *box)
{
    const struct deadline *first = deadline_first(&box->deadlines);

    return first ? first->due_ns - vclock_now(&box->clock) : INT64_MAX;
}

void clock_read_counted(struct box *box, struct task *task)
{
    struct process *process = task->process;
    uint64_t reads = 0;

    if (!vclock_held(&box->clock) || box->clock.mode == BOX_CLOCK_MANUAL)
        return;
    if (process->vdso_ready)
        (void)guest_read(task, BOX_BASE, &reads, sizeof reads);
    bool page_is_full = box->clock.page && reads >= box->clock.page->read_limit;
    if (!page_is_full && ++process->raw_reads < READS_A_TICK)
        return;
    process->spun_reads += page_is_full ? reads : process->raw_reads;
    process->raw_reads = 0;
    reset_page_reads(task);
    int64_t step = between(TICK_NS_MIN, (int64_t)process->spun_ns / 64, INT64_MAX);
    int64_t far = deadline_distance(box), took = (int64_t)(process->spun_reads * READ_NS);
    tick(box, task, far <= took - (int64_t)process->spun_ns && far > step ? far : step);
}

/* The time stamp counter is the monotonic clock in ns; but two readings of it are never the same,
 * and programs count on that (Go's tracer does, in steps of 64). */
uint64_t clock_counter(struct box *box, struct task *task)
{
    struct process *process = task->process;

    clock_read_counted(box, task);
    uint64_t now = (uint64_t)vclock_now(&box->clock), next = process->counter_read + COUNTER_STEP;
    process->counter_read = now > next ? now : next;
    return process->counter_read;
}

void clock_wait_counted(struct box *box, struct task *task, bool only_looks)
{
    struct process *process = task->process;

    process->waits_over_at_once += only_looks ? 1 : LOOKS_A_TICK / WAITS_A_TICK;
    if (!vclock_held(&box->clock) || box->clock.mode == BOX_CLOCK_MANUAL ||
        process->waits_over_at_once < LOOKS_A_TICK)
        return;
    process->waits_over_at_once = 0;
    tick(box, task, between(1, (int64_t)process->spun_ns, WAIT_TICK_NS_MAX));
}

/* A look without waiting counts if the clock was read since the last one. */
void clock_look(struct box *box, struct task *task)
{
    struct process *process = task->process;
    uint64_t reads = process->reads_at_look + 1;

    if (process->vdso_ready)
        (void)guest_read(task, BOX_BASE, &reads, sizeof reads);
    if (reads != process->reads_at_look)
        clock_wait_counted(box, task, true);
    process->reads_at_look = reads;
}

/* Time passed by other means: what was spun so far does not count for the next spin. */
void clock_spin_over(struct process *process)
{
    process->raw_reads = process->waits_over_at_once = 0;
    process->spun_ns = process->spun_reads = 0;
}

static enum verdict done_timespec(struct task *task, uint64_t address, int64_t ns)
{
    int64_t value[2] = {ns / (int64_t)NS_PER_SEC, ns % (int64_t)NS_PER_SEC};

    return verdict_skip(task, guest_write(task, address, value, sizeof value));
}

/* The clock of another process or thread, which the kernel has found. */
static void cpu_clock_exit(struct box *box, struct task *task)
{
    pid_t named = ~((clockid_t)task->note[1] >> 3); /* in the box's numbers; 0 means itself */
    const struct process *process = task->process;

    task->on_exit = NULL;
    if ((long)task_regs(task)->rax != 0)
        return;
    FOR_EACH_TASK(box, other)
    if (named && other->process && task_tid_inside(other) == named)
        process = other->process;
    int64_t spin = (int64_t)process->spin_ns;
    int64_t value[2] = {spin / (int64_t)NS_PER_SEC, spin % (int64_t)NS_PER_SEC};
    (void)guest_write(task, task->note[0], value, sizeof value);
}

enum verdict sys_clock_gettime(struct box *box, struct task *task)
{
    struct user_regs_struct *regs = task_regs(task);
    clockid_t id = (clockid_t)regs->rdi;

    clock_read_counted(box, task);
    if (id < 0) {
        task->note[0] = regs->rsi;
        task->note[1] = (uint64_t)id;
        task->on_exit = cpu_clock_exit;
        return VERDICT_EXIT;
    }
    if (id == CLOCK_PROCESS_CPUTIME_ID || id == CLOCK_THREAD_CPUTIME_ID)
        return done_timespec(task, regs->rsi, (int64_t)task->process->spin_ns);
    if (id > CLOCK_TAI || id == 10)
        return VERDICT_GO; /* EINVAL */
    return done_timespec(task, regs->rsi, vclock_of(&box->clock, id));
}

enum verdict sys_gettimeofday(struct box *box, struct task *task)
{
    struct user_regs_struct *regs = task_regs(task);
    int64_t now = vclock_realtime(&box->clock);
    int64_t value[2] = {now / (int64_t)NS_PER_SEC, now % (int64_t)NS_PER_SEC / 1000};
    static const int zone[2];
    int r = 0;

    clock_read_counted(box, task);
    if (regs->rdi)
        r = guest_write(task, regs->rdi, value, sizeof value);
    if (r == 0 && regs->rsi)
        r = guest_write(task, regs->rsi, zone, sizeof zone);
    return verdict_skip(task, r);
}

enum verdict sys_time(struct box *box, struct task *task)
{
    struct user_regs_struct *regs = task_regs(task);
    int64_t now = vclock_realtime(&box->clock) / (int64_t)NS_PER_SEC;

    clock_read_counted(box, task);
    if (regs->rdi && guest_write(task, regs->rdi, &now, sizeof now) < 0)
        now = -EFAULT;
    return verdict_skip(task, now);
}

enum verdict sys_clock_getres(struct box *box, struct task *task)
{
    struct user_regs_struct *regs = task_regs(task);
    clockid_t id = (clockid_t)regs->rdi;

    (void)box;
    if (id < 0 || id > CLOCK_TAI || id == 10)
        return VERDICT_GO;
    if (!regs->rsi) {
        return verdict_skip(task, 0);
    }
    return done_timespec(task, regs->rsi, 1);
}

enum verdict sys_times(struct box *box, struct task *task)
{
    struct user_regs_struct *regs = task_regs(task);
    const int64_t tick_ns = (int64_t)NS_PER_SEC / 100;
    struct tms value = {.tms_utime = (clock_t)((int64_t)task->process->spin_ns / tick_ns)};
    int64_t result = vclock_now(&box->clock) / tick_ns;

    clock_read_counted(box, task);
    if (regs->rdi && guest_write(task, regs->rdi, &value, sizeof value) < 0)
        result = -EFAULT;
    return verdict_skip(task, result);
}

/* CPU times are virtual; memory and the rest are the kernel's. */
static void write_times(struct task *task, uint64_t address, uint64_t spin_ns)
{
    int64_t times[4] = {(int64_t)(spin_ns / NS_PER_SEC), (int64_t)(spin_ns % NS_PER_SEC / 1000)};

    (void)guest_write(task, address, times, sizeof times);
}

static void getrusage_exit(struct box *box, struct task *task)
{
    bool children = (int)task->note[1] == RUSAGE_CHILDREN;

    (void)box;
    task->on_exit = NULL;
    if ((long)task_regs(task)->rax == 0)
        write_times(task, task->note[0], children ? 0 : task->process->spin_ns);
}

enum verdict sys_getrusage(struct box *box, struct task *task)
{
    struct user_regs_struct *regs = task_regs(task);

    (void)box;
    task->note[0] = regs->rsi;
    task->note[1] = regs->rdi;
    task->on_exit = getrusage_exit;
    return VERDICT_EXIT;
}

/* What a child used, told to who waits for it. */
static void wait4_exit(struct box *box, struct task *task)
{
    (void)box;
    task->on_exit = NULL;
    if ((long)task_regs(task)->rax > 0)
        write_times(task, task->note[0], 0);
}

enum verdict sys_wait4(struct box *box, struct task *task)
{
    (void)box;
    task->note[0] = task_regs(task)->r10;
    task->on_exit = wait4_exit;
    return VERDICT_EXIT;
}

static void waitid_exit(struct box *box, struct task *task)
{
    int signal = 1; /* the first member of siginfo_t: 0 if there was no such child */

    (void)box;
    task->on_exit = NULL;
    if (task->note[1])
        (void)guest_read(task, task->note[1], &signal, sizeof signal);
    if ((long)task_regs(task)->rax == 0 && signal)
        write_times(task, task->note[0], 0);
}

enum verdict sys_waitid(struct box *box, struct task *task)
{
    (void)box;
    task->note[0] = task_regs(task)->r8;
    task->note[1] = task_regs(task)->rdx;
    task->on_exit = waitid_exit;
    return VERDICT_EXIT;
}

static void sysinfo_exit(struct box *box, struct task *task)
{
    struct sysinfo info;

    task->on_exit = NULL;
    if ((long)task_regs(task)->rax != 0 || guest_read(task, task->note[0], &info, sizeof info) < 0)
        return;
    info.uptime = (long)(vclock_now(&box->clock) / (int64_t)NS_PER_SEC);
    memset(info.loads, 0, sizeof info.loads);
    if (!box->options->identity_real) {
        info.procs = (unsigned short)box->process_count;
        info.totalram = UINT64_C(8) << 30;
        info.freeram = UINT64_C(4) << 30;
        info.sharedram = info.bufferram = 0;
        info.totalswap = info.freeswap = info.totalhigh = info.freehigh = 0;
        info.mem_unit = 1;
    }
    (void)guest_write(task, task->note[0], &info, sizeof info);
}

enum verdict sys_sysinfo(struct box *box, struct task *task)
{
    (void)box;
    task->note[0] = task_regs(task)->rdi;
    task->on_exit = sysinfo_exit;
    return VERDICT_EXIT;
}

/* When a segment, a queue or a semaphore was last used is told in real seconds, in which many
 * virtual ones may lie; so whatever has been used was used just now. */
static void ipc_stat_exit(struct box *box, struct task *task)
{
    static const size_t places[][3] = {
        {offsetof(struct shmid_ds, shm_atime), offsetof(struct shmid_ds, shm_dtime),
         offsetof(struct shmid_ds, shm_ctime)},
        {offsetof(struct msqid_ds, msg_stime), offsetof(struct msqid_ds, msg_rtime),
         offsetof(struct msqid_ds, msg_ctime)},
        {offsetof(struct semid_ds, sem_otime), offsetof(struct semid_ds, sem_ctime),
         offsetof(struct semid_ds, sem_ctime)},
    };
    int64_t now = vclock_realtime(&box->clock) / (int64_t)NS_PER_SEC, value;

    task->on_exit = NULL;
    for (int i = 0; i < 3 && (long)task_regs(task)->rax >= 0; i++) {
        uint64_t place = task->note[0] + places[task->note[1]][i];
        if (guest_read(task, place, &value, sizeof value) == 0 && value)
            (void)guest_write(task, place, &now, sizeof now);
    }
}

enum verdict sys_ipc_stat(struct box *box, struct task *task)
{
    const struct user_regs_struct *regs = task_regs(task);
    bool semaphores = regs->orig_rax == SYS_semctl, segment = regs->orig_rax == SYS_shmctl;
    unsigned command = (unsigned)(semaphores ? regs->rdx : regs->rsi);

    (void)box;
    if (segment && command == SHM_LOCK)
        return VERDICT_GO; /* MSG_STAT is the same number */
    task->note[0] = semaphores ? regs->r10 : regs->rdx;
    task->note[1] = semaphores ? 2 : segment ? 0 : 1;
    task->on_exit = ipc_stat_exit;
    return VERDICT_EXIT;
}

/* Reading is answered from the virtual clock; setting is refused like for any ordinary user. */
enum verdict sys_adjtimex(struct box *box, struct task *task)
{
    struct user_regs_struct *regs = task_regs(task);
    bool with_id = (long)regs->orig_rax == SYS_clock_adjtime;
    uint64_t address = with_id ? regs->rsi : regs->rdi;
    struct timex value;

    if (guest_read(task, address, &value, sizeof value) < 0) {
        return verdict_skip(task, -EFAULT);
    }
    if (with_id && regs->rdi != CLOCK_REALTIME)
        return VERDICT_GO; /* no other clock can be set, which the kernel says */
    if (value.modes && (value.modes & ADJ_OFFSET_SS_READ) != ADJ_OFFSET_SS_READ) {
        return verdict_skip(task, -EPERM);
    }
    int64_t now = vclock_realtime(&box->clock);
    value = (struct timex){.modes = value.modes};
    value.tick = 10000;
    value.time.tv_sec = now / (int64_t)NS_PER_SEC;
    value.time.tv_usec = now % (int64_t)NS_PER_SEC / 1000;
    return verdict_skip(task,
                        guest_write(task, address, &value, sizeof value) < 0 ? -EFAULT : TIME_OK);
}
