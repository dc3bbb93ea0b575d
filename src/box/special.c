/* SPDX-License-Identifier: MIT */
#include "box/special.h"
#include "box/pid_files.h"
#include "base/fd.h"
#include "base/text.h"
#include "base/when.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PIPE_BYTES = 1 << 20, CHUNK = 65536, RED_ZONE_BYTES = 128 };

struct random_pipe {
    struct random_pipe *next;
    int fd; /* write end, not blocking; until a guest has opened it, the read end as well */
    uint64_t number;
    uint64_t device, inode;
    struct rng rng;
    unsigned char chunk[CHUNK]; /* drawn but not yet taken by the pipe */
    size_t chunk_at;
};

/* ---- texts --------------------------------------------------------------------------------- */

static void add_uptime(struct box *box, struct task *task, struct buf *buf)
{
    int64_t centis = vclock_now(&box->clock) / (int64_t)(10 * NS_PER_MS);

    (void)task;
    buf_addf(buf, "%lld.%02lld %lld.%02lld\n", (long long)centis / 100, (long long)centis % 100,
             (long long)centis / 100, (long long)centis % 100);
}

static void add_loadavg(struct box *box, struct task *task, struct buf *buf)
{
    (void)task;
    buf_addf(buf, "0.00 0.00 0.00 1/%zu %llu\n", box->task_count,
             (unsigned long long)box->processes_ever + 1);
}

static void add_stat(struct box *box, struct task *task, struct buf *buf)
{
    unsigned cpus = box->options->cpus;

    (void)task;
    buf_adds(buf, "cpu  0 0 0 0 0 0 0 0 0 0\n");
    for (unsigned i = 0; i < cpus; i++)
        buf_addf(buf, "cpu%u 0 0 0 0 0 0 0 0 0 0\n", i);
    buf_addf(
        buf,
        "intr 0\nctxt 0\nbtime %lld\nprocesses %llu\nprocs_running 1\nprocs_blocked 0\nsoftirq 0\n",
        (long long)(box->clock.realtime_offset_ns / (int64_t)NS_PER_SEC),
        (unsigned long long)box->processes_ever + 1);
}

static void add_meminfo(struct box *box, struct task *task, struct buf *buf)
{
    (void)box;
    (void)task;
    buf_adds(buf, "MemTotal:        8388608 kB\nMemFree:         4194304 kB\n"
                  "MemAvailable:    6291456 kB\nBuffers:               0 kB\n"
                  "Cached:          2097152 kB\nSwapCached:            0 kB\n"
                  "Active:          1048576 kB\nInactive:        1048576 kB\n"
                  "SwapTotal:             0 kB\nSwapFree:              0 kB\n"
                  "Dirty:                 0 kB\nWriteback:             0 kB\n"
                  "Mapped:           262144 kB\nShmem:                 0 kB\n"
                  "Slab:             131072 kB\nHugePages_Total:       0\n"
                  "HugePages_Free:        0\nHugepagesize:       2048 kB\n");
}

/* One block a visible CPU, with the real flags: programs choose code by them. */
static void add_cpuinfo(struct box *box, struct task *task, struct buf *buf)
{
    CLEANUP(buf_done) struct buf real = {0};
    struct err err;

    (void)task;
    if (file_read("/proc/cpuinfo", 1 << 20, &real, &err) < 0)
        return;
    const char *flags = strstr(buf_text(&real), "\nflags");
    const char *end = flags ? strchr(flags + 1, '\n') : NULL;
    for (unsigned i = 0; i < box->options->cpus; i++) {
        buf_addf(buf,
                 "processor\t: %u\nvendor_id\t: vitro\nmodel name\t: vitro\ncpu MHz\t\t: 1000.000\n"
                 "physical id\t: 0\nsiblings\t: %u\ncore id\t\t: %u\ncpu cores\t: %u\n",
                 i, box->options->cpus, i, box->options->cpus);
        if (end)
            buf_add(buf, flags + 1, (size_t)(end - flags));
        buf_adds(buf, "bogomips\t: 2000.00\n\n");
    }
}

static void add_version(struct box *box, struct task *task, struct buf *buf)
{
    (void)box;
    (void)task;
    buf_adds(buf, "Linux version 6.1.0-vitro (vitro@vitro) (gcc) #1 SMP vitro\n");
}

static void add_uuid_of(struct rng *rng, struct buf *buf)
{
    uint8_t b[16];

    rng_fill(rng, b, sizeof b);
    b[6] = (uint8_t)((b[6] & 0x0f) | 0x40);
    b[8] = (uint8_t)((b[8] & 0x3f) | 0x80);
    for (int i = 0; i < 16; i++)
        buf_addf(buf, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", b[i]);
    buf_addc(buf, '\n');
}

static void add_uuid(struct box *box, struct task *task, struct buf *buf)
{
    (void)box;
    add_uuid_of(&task->process->random, buf);
}

static void add_boot_id(struct box *box, struct task *task, struct buf *buf)
{
    struct rng rng;

    (void)task;
    rng_stream(&rng, box->options->seed, "boot_id", NULL);
    add_uuid_of(&rng, buf);
}

static void add_cpu_list(struct box *box, struct task *task, struct buf *buf)
{
    (void)task;
    if (box->options->cpus > 1)
        buf_addf(buf, "0-%u\n", box->options->cpus - 1);
    else
        buf_adds(buf, "0\n");
}

static void add_osrelease(struct box *box, struct task *task, struct buf *buf)
{
    (void)box;
    (void)task;
    buf_adds(buf, "6.1.0-vitro\n");
}

enum special_axis { OF_TIME, OF_RANDOM, OF_IDENTITY };

static const struct special {
    const char *path;
    void (*add)(struct box *box, struct task *task, struct buf *buf);
    enum special_axis axis;
} specials[] = {
    {"/proc/uptime", add_uptime, OF_TIME},
    {"/proc/loadavg", add_loadavg, OF_TIME},
    {"/proc/stat", add_stat, OF_TIME},
    {"/proc/meminfo", add_meminfo, OF_IDENTITY},
    {"/proc/cpuinfo", add_cpuinfo, OF_IDENTITY},
    {"/proc/version", add_version, OF_IDENTITY},
    {"/proc/sys/kernel/osrelease", add_osrelease, OF_IDENTITY},
    {"/proc/sys/kernel/random/uuid", add_uuid, OF_RANDOM},
    {"/proc/sys/kernel/random/boot_id", add_boot_id, OF_IDENTITY},
    {"/sys/devices/system/cpu/online", add_cpu_list, OF_IDENTITY},
    {"/sys/devices/system/cpu/possible", add_cpu_list, OF_IDENTITY},
    {"/sys/devices/system/cpu/present", add_cpu_list, OF_IDENTITY},
};

static const char *const leaks[] = {
    /* path, capability */
    "/proc/timer_list",
    "proc/timer_list",
    "/proc/interrupts",
    "proc/interrupts",
    "/proc/schedstat",
    "proc/schedstat",
    "/proc/vmstat",
    "proc/vmstat",
    "/proc/diskstats",
    "proc/diskstats",
    "/proc/softirqs",
    "proc/softirqs",
    "/proc/pressure/",
    "proc/pressure",
    "/proc/sys/kernel/random/entropy_avail",
    "proc/entropy",
    "/sys/class/rtc/",
    "sys/rtc",
    "/sys/class/power_supply/",
    "sys/power",
    "/sys/class/thermal/",
    "sys/thermal",
    "/sys/class/hwmon/",
    "sys/hwmon",
    "/dev/rtc",
    "dev/rtc",
    "/dev/hwrng",
    "dev/hwrng",
};

/* ---- putting it in the guest's way --------------------------------------------------------- */

enum { OWN_PATH_MAX = 128 };

/* One of our files, as the supervisor finds it. */
static void own_path(const struct box *box, uint64_t number, char ret[OWN_PATH_MAX])
{
    (void)snprintf(ret, OWN_PATH_MAX, "/proc/%d/root%s/%llu", box->init_pid, box->own_dir,
                   (unsigned long long)number);
}

static void remove_exit(struct box *box, struct task *task)
{
    char path[OWN_PATH_MAX];

    task->on_exit = NULL;
    task_set_arg(task, (int)task->note[1], task->note[0]);
    own_path(box, task->note[2], path);
    (void)unlink(path);
}

/* Room for a path while the call lasts: on the page that this process has of us, or else on its
 * stack, behind what a function may use without saying so. */
static uint64_t room_for_path(struct task *task)
{
    bool has_page = task->process->vdso_ready && !task->process->shares_memory;
    uint64_t scratch = has_page ? task_scratch(task) : 0;

    return scratch ? scratch : (task_regs(task)->rsp - RED_ZONE_BYTES - SCRATCH_BYTES) & ~7ull;
}

/* A guest with another root directory, or other mounts, may not find it. */
static bool is_in_reach(const struct task *task, const char *name)
{
    char path[OWN_PATH_MAX];

    (void)snprintf(path, sizeof path, "/proc/%d/root%s", task->tid, name);
    return access(path, F_OK) == 0;
}

/* Makes the call open `number` in the special directory instead; where that cannot be, the guest
 * sees the machine's own file, which is a leak of that name. */
static enum verdict redirect(struct box *box, struct task *task, int path_argument, uint64_t number,
                             const char *capability)
{
    char name[72] = {0};
    uint64_t room = room_for_path(task);

    int length = snprintf(name, sizeof name, "%s/%llu", box->own_dir, (unsigned long long)number);
    if (length >= SCRATCH_BYTES || !is_in_reach(task, name) ||
        guest_write(task, room, name, SCRATCH_BYTES) < 0) {
        char path[OWN_PATH_MAX];
        own_path(box, number, path);
        (void)unlink(path);
        leak_add(box, task->process, capability);
        return VERDICT_GO;
    }
    task->note[0] = sys_arg(task_regs(task), path_argument);
    task->note[1] = (uint64_t)path_argument;
    task->note[2] = number;
    task_set_arg(task, path_argument, room);
    task->on_exit = remove_exit;
    return VERDICT_EXIT;
}

static enum verdict serve_text(struct box *box, struct task *task, int path_argument,
                               const struct buf *text)
{
    char path[OWN_PATH_MAX];
    uint64_t number = ++box->specials_made;

    own_path(box, number, path);
    CLEANUP(fd_close) int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);
    if (fd < 0 || fd_write_full(fd, buf_text(text), text->length) < 0) {
        leak_add(box, task->process, "proc/special");
        return VERDICT_GO;
    }
    return redirect(box, task, path_argument, number, "proc/special");
}

static bool fill(struct random_pipe *pipe)
{
    bool any = false;

    for (;;) {
        if (pipe->chunk_at == CHUNK) {
            rng_fill(&pipe->rng, pipe->chunk, CHUNK);
            pipe->chunk_at = 0;
        }
        ssize_t count = write(pipe->fd, pipe->chunk + pipe->chunk_at, CHUNK - pipe->chunk_at);
        if (count <= 0)
            return any;
        pipe->chunk_at += (size_t)count;
        any = true;
    }
}

/* A pipe in the special directory, full of the next stream of this process. */
static int add_random_pipe(struct box *box, struct task *task, uint64_t number)
{
    char path[OWN_PATH_MAX];
    struct stat st;

    own_path(box, number, path);
    if (mkfifo(path, 0444) < 0)
        return -errno;
    CLEANUP(fd_close) int fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) < 0)
        return -errno;
    (void)fcntl(fd, F_SETPIPE_SZ, PIPE_BYTES);
    CLEANUP(mem_free) char *name = mem_format("%s#%llu", task->process->path,
                                              (unsigned long long)task->process->random_opens++);
    struct random_pipe *pipe = mem_alloc(sizeof *pipe);
    pipe->fd = take_fd(&fd);
    pipe->number = number;
    pipe->device = st.st_dev;
    pipe->inode = st.st_ino;
    pipe->chunk_at = CHUNK;
    rng_stream(&pipe->rng, box->options->seed, "urandom", name);
    pipe->next = box->random_pipes;
    box->random_pipes = pipe;
    (void)fill(pipe);
    return 0;
}

static void drop(struct random_pipe **link)
{
    struct random_pipe *pipe = *link;

    *link = pipe->next;
    fd_close(pipe->fd);
    free(pipe);
}

/* Those that every guest has closed again. */
static void drop_closed(struct box *box)
{
    for (struct random_pipe **link = &box->random_pipes; *link;) {
        struct pollfd end = {.fd = (*link)->fd};
        if (poll(&end, 1, 0) > 0 && end.revents & POLLERR)
            drop(link);
        else
            link = &(*link)->next;
    }
}

/* The guest has opened it, or could not; from now on only guests have its read end. */
static void random_exit(struct box *box, struct task *task)
{
    char path[32];
    struct random_pipe *pipe = box->random_pipes;

    remove_exit(box, task);
    while (pipe && pipe->number != task->note[2])
        pipe = pipe->next;
    if (!pipe)
        return;
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", pipe->fd);
    int fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return;
    fd_close(pipe->fd);
    pipe->fd = fd;
}

static enum verdict serve_random(struct box *box, struct task *task, int path_argument)
{
    uint64_t number = ++box->specials_made;

    drop_closed(box);
    if (add_random_pipe(box, task, number) < 0) {
        leak_add(box, task->process, "dev/urandom");
        return VERDICT_GO;
    }
    enum verdict verdict = redirect(box, task, path_argument, number, "dev/urandom");
    if (task->on_exit == remove_exit)
        task->on_exit = random_exit;
    else
        drop(&box->random_pipes); /* the one that was just made */
    return verdict;
}

bool special_refill(struct box *box)
{
    bool any = false;

    drop_closed(box);
    for (struct random_pipe *pipe = box->random_pipes; pipe; pipe = pipe->next)
        any |= fill(pipe);
    return any;
}

bool special_is_random(const struct box *box, uint64_t device, uint64_t inode)
{
    for (struct random_pipe *pipe = box->random_pipes; pipe; pipe = pipe->next)
        if (pipe->inode == inode && pipe->device == device)
            return true;
    return false;
}

void special_done(struct box *box)
{
    while (box->random_pipes)
        drop(&box->random_pipes);
}

static bool is_virtual(const struct box *box, enum special_axis axis)
{
    return axis == OF_TIME     ? vclock_held(&box->clock)
           : axis == OF_RANDOM ? !box->options->random_real
                               : !box->options->identity_real;
}

static bool is_random_device(const char *path)
{
    return strcmp(path, "/dev/urandom") == 0 || strcmp(path, "/dev/random") == 0;
}

void special_opened_both(struct box *box, struct task *task, const char *path)
{
    if (!box->options->random_real && is_random_device(path))
        leak_add(box, task->process, "dev/urandom");
    if (text_ends(path, "/ptmx")) { /* what is typed there comes as signals as well */
        box->has_ptys = true;
        wait_never_park(box);
    }
}

enum verdict special_open(struct box *box, struct task *task, const char *path, int path_argument)
{
    CLEANUP(buf_done) struct buf text = {0};

    if (!text_starts(path, "/proc/") && !text_starts(path, "/dev/") && !text_starts(path, "/sys/"))
        return VERDICT_GO;
    if (is_random_device(path))
        return box->options->random_real ? VERDICT_GO : serve_random(box, task, path_argument);
    for (size_t i = 0; i < ARRAY_LENGTH(specials); i++)
        if (strcmp(path, specials[i].path) == 0) {
            if (!is_virtual(box, specials[i].axis))
                return VERDICT_GO;
            specials[i].add(box, task, &text);
            return serve_text(box, task, path_argument, &text);
        }
    if (text_starts(path, "/sys/fs/cgroup/") && vclock_held(&box->clock) &&
        (text_ends(path, "/cpu.stat") || strstr(path, "/cpuacct.")))
        leak_add(box, task->process, "cgroup/cpu");
    for (size_t i = 0; i < ARRAY_LENGTH(leaks); i += 2)
        if (text_starts(path, leaks[i])) {
            if (vclock_held(&box->clock))
                leak_add(box, task->process, leaks[i + 1]);
            return VERDICT_GO;
        }
    if (pid_file_add(box, task, path, &text))
        return serve_text(box, task, path_argument, &text);
    return VERDICT_GO;
}
