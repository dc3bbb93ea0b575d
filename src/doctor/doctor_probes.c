/* SPDX-License-Identifier: MIT */
/* The probes. Each tries the thing itself rather than asking whether it should work. */
#include "base/fd.h"
#include "base/text.h"
#include "base/tool.h"
#include "doctor/doctor.h"
#include "fs/fs.h"
#include "fs/fs_unmapped.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/magic.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

static const unsigned long box_flags =
    CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS;

static const char docker_remedy[] =
    "docker run --cap-add SYS_ADMIN --security-opt seccomp=unconfined "
    "--security-opt apparmor=unconfined --security-opt systempaths=unconfined ...";
static const char ubuntu_remedy[] = "sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0";
static const char debian_remedy[] = "sudo sysctl -w kernel.unprivileged_userns_clone=1";
static const char limit_remedy[] = "sudo sysctl -w user.max_user_namespaces=10000";

static bool read_number(const char *path, long *ret)
{
    CLEANUP(buf_done) struct buf text = {0};

    if (file_read(path, 64, &text, NULL) < 0)
        return false;
    *ret = strtol(buf_text(&text), NULL, 10);
    return true;
}

static bool is_set_to(const char *path, long wanted)
{
    long value;

    return read_number(path, &value) && value == wanted;
}

static bool in_container(void)
{
    return access("/.dockerenv", F_OK) == 0 || access("/run/.containerenv", F_OK) == 0;
}

static void set_from(struct doctor_answer *ret, int r, const struct err *err)
{
    ret->works = r >= 0;
    if (r < 0)
        (void)snprintf(ret->detail, sizeof ret->detail, "%.*s", (int)strcspn(err->text, "\n"),
                       err->text);
}

static void probe_kernel(struct doctor_answer *ret)
{
    struct utsname name;
    unsigned major = 0, minor = 0;

    (void)uname(&name);
    (void)sscanf(name.release, "%u.%u", &major, &minor);
    ret->works = major > 5 || (major == 5 && minor >= 12);
    (void)snprintf(ret->detail, sizeof ret->detail, "%.64s", name.release);
}

static int try_ptrace(struct err *err)
{
    int status;
    pid_t pid = fork();

    if (pid == 0)
        for (;;)
            (void)pause();
    int r = pid < 0 ? -errno : 0;
    if (r == 0 && ptrace(PTRACE_SEIZE, pid, 0, PTRACE_O_EXITKILL) < 0)
        r = -errno;
    if (r == 0 && ptrace(PTRACE_INTERRUPT, pid, 0, 0) < 0)
        r = -errno;
    if (r == 0 && (waitpid(pid, &status, __WALL) != pid || !WIFSTOPPED(status)))
        r = -EIO;
    if (pid > 0) {
        (void)kill(pid, SIGKILL);
        (void)waitpid(pid, &status, __WALL);
    }
    return r < 0 ? err_set(err, r, "PTRACE_SEIZE: %s", strerror(-r)) : 0;
}

static void probe_ptrace(struct doctor_answer *ret)
{
    struct err err = {0};
    long scope;

    set_from(ret, doctor_in_child(0, try_ptrace, &err), &err);
    if (!ret->works && read_number("/proc/sys/kernel/yama/ptrace_scope", &scope) && scope > 1)
        ret->remedy = "sudo sysctl -w kernel.yama.ptrace_scope=1";
}

static void probe_yama(struct doctor_answer *ret)
{
    long scope = 0;
    bool there = read_number("/proc/sys/kernel/yama/ptrace_scope", &scope);

    ret->works = scope < 2 || (scope == 2 && geteuid() == 0);
    (void)snprintf(ret->detail, sizeof ret->detail, there ? "scope %ld" : "not in this kernel",
                   scope);
}

static int try_seccomp(struct err *err)
{
    struct sock_filter code[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog program = {ARRAY_LENGTH(code), code};

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0)
        return err_set(err, -errno, "seccomp filter: %m");
    unsigned action = SECCOMP_RET_TRACE;
    if (syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) < 0)
        return err_set(err, -errno, "seccomp SECCOMP_RET_TRACE: %m");
    return 0;
}

static void probe_seccomp(struct doctor_answer *ret)
{
    struct err err = {0};

    set_from(ret, doctor_in_child(0, try_seccomp, &err), &err);
}

static int try_nothing(struct err *err)
{
    (void)err;
    return 0;
}

static const char *userns_remedy(void)
{
    if (is_set_to("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", 1))
        return ubuntu_remedy;
    if (is_set_to("/proc/sys/kernel/unprivileged_userns_clone", 0))
        return debian_remedy;
    if (is_set_to("/proc/sys/user/max_user_namespaces", 0))
        return limit_remedy;
    return in_container() ? docker_remedy : NULL;
}

static void probe_userns(struct doctor_answer *ret)
{
    struct err err = {0};

    set_from(ret, doctor_in_child(CLONE_NEWUSER, try_nothing, &err), &err);
    if (!ret->works)
        ret->remedy = userns_remedy();
}

static void probe_apparmor(struct doctor_answer *ret)
{
    bool restricted = is_set_to("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", 1);

    ret->works = !restricted || geteuid() == 0;
    (void)snprintf(ret->detail, sizeof ret->detail, "%s",
                   restricted ? "user namespaces are restricted" : "no restriction");
}

/* Real root needs no user namespace, unless it lacks the right to make the others. */
static unsigned long namespace_flags(void)
{
    struct err err = {0};

    if (fs_is_real_root() && doctor_in_child(box_flags, try_nothing, &err) == 0)
        return box_flags;
    return box_flags | CLONE_NEWUSER;
}

static void probe_namespaces(struct doctor_answer *ret)
{
    struct err err = {0};
    unsigned long flags = namespace_flags();

    set_from(ret, doctor_in_child(flags, try_nothing, &err), &err);
    if (ret->works)
        (void)snprintf(ret->detail, sizeof ret->detail, "%s",
                       flags & CLONE_NEWUSER ? "in a user namespace" : "as root");
    else
        ret->remedy = in_container() ? docker_remedy : userns_remedy();
}

static int try_view(const struct fs_options *options, struct err *err)
{
    CLEANUP(fd_close) int store = -1;
    int r = fs_view_enter(options, &store, err);

    return r < 0 ? r : fs_view_let_go(err);
}

static int try_view_as_root(struct err *err)
{
    return try_view(&(struct fs_options){.worktree = "/"}, err);
}

static int try_view_in_userns(struct err *err)
{
    return try_view(&(struct fs_options){.worktree = "/", .userns = true}, err);
}

static void probe_overlay(struct doctor_answer *ret)
{
    struct err err = {0};
    unsigned long flags = namespace_flags();

    set_from(
        ret,
        doctor_in_child(flags, flags & CLONE_NEWUSER ? try_view_in_userns : try_view_as_root, &err),
        &err);
    if (!ret->works && in_container())
        ret->remedy = docker_remedy;
}

static void probe_overlay_rootless(struct doctor_answer *ret)
{
    struct err err = {0};

    set_from(ret, doctor_in_child(box_flags | CLONE_NEWUSER, try_view_in_userns, &err), &err);
    if (!ret->works)
        ret->remedy = userns_remedy();
}

static int try_xattr(struct err *err)
{
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount("vitro", "/proc", "tmpfs", 0, NULL) < 0 ||
        setxattr("/proc", "user.overlay.opaque", "y", 1, 0) < 0)
        return err_set(err, -errno, "set user.* attributes on a tmpfs: %m");
    return 0;
}

static void probe_xattr(struct doctor_answer *ret)
{
    struct err err = {0};

    if (namespace_flags() == box_flags) {
        ret->works = true;
        (void)snprintf(ret->detail, sizeof ret->detail, "not needed as root");
        return;
    }
    set_from(ret, doctor_in_child(CLONE_NEWUSER | CLONE_NEWNS, try_xattr, &err), &err);
}

enum { UNMAPPED_LOOK_MAX = 20000 };

/* Files below the current directory, the worktree unless another is named. */
static void probe_owners(struct doctor_answer *ret)
{
    CLEANUP(fs_unmapped_done) struct fs_unmapped unmapped = {0};
    CLEANUP(buf_done) struct buf text = {0};

    ret->works = true;
    if (fs_is_real_root()) {
        (void)snprintf(ret->detail, sizeof ret->detail, "not needed as root");
        return;
    }
    fs_unmapped_find(".", UNMAPPED_LOOK_MAX, &unmapped);
    fs_unmapped_add_text(&text, &unmapped);
    ret->works = unmapped.count == 0;
    if (!ret->works)
        (void)snprintf(ret->detail, sizeof ret->detail, "EOVERFLOW when a guest changes %s",
                       buf_text(&text));
}

static void probe_clone3(struct doctor_answer *ret)
{
    long r = syscall(SYS_clone3, NULL, 0);

    ret->works = !(r < 0 && errno == ENOSYS);
    if (!ret->works)
        (void)snprintf(ret->detail, sizeof ret->detail, "ENOSYS: a container's seccomp profile");
}

static int try_tsc(struct err *err)
{
#ifdef PR_SET_TSC
    if (prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0) < 0)
        return err_set(err, -errno, "PR_SET_TSC: %m");
    return 0;
#else
    return err_set(err, -ENOSYS, "not on this processor");
#endif
}

static void probe_tsc(struct doctor_answer *ret)
{
    struct err err = {0};

    set_from(ret, doctor_in_child(0, try_tsc, &err), &err);
}

static void probe_cgroup(struct doctor_answer *ret)
{
    struct statfs st;
    const char *const places[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};

    for (size_t i = 0; i < ARRAY_LENGTH(places) && !ret->works; i++)
        ret->works = statfs(places[i], &st) == 0 && st.f_type == CGROUP2_SUPER_MAGIC;
}

static void probe_fuse(struct doctor_answer *ret)
{
    ret->works = access("/dev/fuse", R_OK | W_OK) == 0;
}

static void find_program(const char *name, struct doctor_answer *ret)
{
    CLEANUP(mem_free) char *file = tool_find(name, NULL, NULL);

    ret->works = file != NULL;
}

static void probe_git(struct doctor_answer *ret)
{
    find_program("git", ret);
}

static void probe_tmux(struct doctor_answer *ret)
{
    find_program("tmux", ret);
}

static void probe_wabt(struct doctor_answer *ret)
{
    find_program("wasm2c", ret);
}

const struct doctor_probe doctor_probes[] = {
    {"kernel", "mounts that can be made read-only at once, overlays for users", DOCTOR_FOR_A,
     probe_kernel, "a Linux kernel of 5.12 or newer"},
    {"ptrace", "every axis: the box follows its guests with it", DOCTOR_FOR_ALL, probe_ptrace,
     "in a container, start it with --cap-add SYS_PTRACE"},
    {"seccomp", "every axis: the box sees system calls through it", DOCTOR_FOR_ALL, probe_seccomp,
     "a kernel with CONFIG_SECCOMP_FILTER"},
    {"yama", "following guests that are our own children", DOCTOR_FOR_ALL, probe_yama,
     "sudo sysctl -w kernel.yama.ptrace_scope=1"},
    {"namespaces", "files, network and processes of its own", DOCTOR_FOR_A, probe_namespaces,
     "run as root, or permit user namespaces: sudo sysctl -w user.max_user_namespaces=10000"},
    {"overlay", "files that guests may write without touching the disk", DOCTOR_FOR_A,
     probe_overlay, "sudo modprobe overlay"},
    {"user namespaces", "a box without root", DOCTOR_FOR_ONE, probe_userns,
     "sudo sysctl -w user.max_user_namespaces=10000"},
    {"rootless overlay", "files in memory without root", DOCTOR_FOR_ONE, probe_overlay_rootless,
     "sudo modprobe overlay"},
    {"tmpfs attributes", "replaced directories in memory without root (Linux 6.6)", DOCTOR_FOR_ONE,
     probe_xattr, "vitro run --upper DIR, with DIR on ext4, xfs or btrfs"},
    {"owners", "changing all files below this directory without root", DOCTOR_FOR_ONE, probe_owners,
     fs_unmapped_remedy},
    {"apparmor", "user namespaces that may mount (Ubuntu 24.04)", DOCTOR_FOR_ONE, probe_apparmor,
     "sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"},
    {"clone3", "threads without a detour", DOCTOR_FOR_ONE, probe_clone3,
     "docker run --security-opt seccomp=unconfined ..."},
    {"rdtsc", "a virtual cycle counter", DOCTOR_FOR_ONE, probe_tsc,
     "an x86 processor and a kernel with PR_SET_TSC"},
    {"cgroup2", "limits on memory and processes", DOCTOR_FOR_ONE, probe_cgroup,
     "boot with systemd.unified_cgroup_hierarchy=1"},
    {"fuse", "overlays where the kernel's are refused", DOCTOR_FOR_ONE, probe_fuse,
     "sudo modprobe fuse; in a container --device /dev/fuse"},
    {"git", "reading our patches", DOCTOR_FOR_ONE, probe_git, "sudo apt-get install git"},
    {"tmux", "scenarios with several terminals", DOCTOR_FOR_ONE, probe_tmux,
     "sudo apt-get install tmux"},
    {"wabt", "programs compiled for WASI (--wasi)", DOCTOR_FOR_ONE, probe_wabt,
     "sudo apt-get install wabt"},
    {0},
};
