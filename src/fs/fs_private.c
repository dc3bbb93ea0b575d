/* SPDX-License-Identifier: MIT */
/* Private directories: the places whose real content a guest must not see or reach. /run holds the
 * sockets of the host's daemons (dbus, docker, nscd, resolved), /dev its disks, /proc its
 * processes, /sys its network; /tmp is other people's. Each is fresh and the same on every machine.
 */
#include "base/fd.h"
#include "base/text.h"
#include "fs/fs_view_internal.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

static const char *const private_paths[] = {"/dev", "/proc", "/run", "/sys", "/tmp", "/var/run"};

bool fs_private_is(const struct fs_view *view, const char *path)
{
    for (size_t i = 0; i < ARRAY_LENGTH(private_paths); i++)
        if (strcmp(private_paths[i], path) == 0)
            return !(view->options->share_tmp && strcmp(path, "/tmp") == 0);
    return false;
}

bool fs_private_holds(const struct fs_view *view, const char *path)
{
    for (size_t i = 0; i < ARRAY_LENGTH(private_paths); i++)
        if (fs_private_is(view, private_paths[i]) &&
            (strcmp(path, private_paths[i]) == 0 || fs_path_is_below(path, private_paths[i])))
            return true;
    return false;
}

static bool is_directory(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

bool fs_private_below(const struct fs_view *view, const char *path)
{
    for (size_t i = 0; i < ARRAY_LENGTH(private_paths); i++) {
        if (!fs_private_is(view, private_paths[i]) || !fs_path_is_below(private_paths[i], path))
            continue;
        CLEANUP(mem_free) char *real = mem_format("/old%s", private_paths[i]);
        if (is_directory(real)) /* /var/run is mostly a symlink */
            return true;
    }
    return false;
}

int fs_private_proc(const struct fs_view *view, const char *target, struct err *err)
{
    static const char *const guarded[] = {"sys", "sysrq-trigger", "irq", "bus"};

    if (mount("proc", target, "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0) {
        err_set(err, -errno, "mount a fresh /proc: %m");
        return err_hint(err, "in a container, start it with --security-opt systempaths=unconfined");
    }
    for (size_t i = 0; !view->options->userns && i < ARRAY_LENGTH(guarded); i++) {
        CLEANUP(mem_free) char *path = mem_format("%s/%s", target, guarded[i]);
        int r = access(path, F_OK) == 0 ? fs_bind(path, path, false, true, err) : 0;
        if (r < 0)
            return r;
    }
    return 0;
}

/* Shows the network of who mounts it. */
static int mount_sys(const struct fs_view *view, const char *target, struct err *err)
{
    unsigned long flags = MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC;
    const struct fs_options *options = view->options;
    int r = options->enter_namespaces ? options->enter_namespaces(options->enter_data, err) : 0;

    if (r < 0 || !is_directory(target))
        return r;

    if (mount("sysfs", target, "sysfs", flags, NULL) == 0)
        return 0;
    return fs_bind("/old/sys", target, true, true, err); /* ours was refused: parts are masked */
}

static int make_node(const struct fs_view *view, const char *name, unsigned minor_number,
                     unsigned major_number, struct err *err)
{
    CLEANUP(mem_free) char *path = mem_format("/p/dev/%s", name);
    CLEANUP(mem_free) char *real = mem_format("/old/dev/%s", name);

    if (!view->options->userns &&
        mknod(path, S_IFCHR | 0666, makedev(major_number, minor_number)) == 0)
        return 0;
    if (access(real, F_OK) < 0)
        return 0;
    int r = fs_make_point(path, false, 0666, err);
    return r < 0 ? r : fs_bind(real, path, false, false, err);
}

static int fill_dev(const struct fs_view *view, struct err *err)
{
    static const struct {
        const char *name;
        unsigned major_number, minor_number;
    } nodes[] = {{"null", 1, 3},   {"zero", 1, 5},    {"full", 1, 7},
                 {"random", 1, 8}, {"urandom", 1, 9}, {"tty", 5, 0}};
    static const char *const links[][2] = {{"/proc/self/fd", "fd"},
                                           {"/proc/self/fd/0", "stdin"},
                                           {"/proc/self/fd/1", "stdout"},
                                           {"/proc/self/fd/2", "stderr"},
                                           {"pts/ptmx", "ptmx"}};
    int r = 0;

    for (size_t i = 0; r == 0 && i < ARRAY_LENGTH(nodes); i++)
        r = make_node(view, nodes[i].name, nodes[i].minor_number, nodes[i].major_number, err);
    for (size_t i = 0; r == 0 && i < ARRAY_LENGTH(links); i++) {
        CLEANUP(mem_free) char *path = mem_format("/p/dev/%s", links[i][1]);
        if (symlink(links[i][0], path) < 0)
            r = err_set(err, -errno, "create '/dev/%s': %m", links[i][1]);
    }
    if (r == 0 && (mkdir("/p/dev/shm", 01777) < 0 || mkdir("/p/dev/pts", 0755) < 0))
        r = err_set(err, -errno, "fill /dev: %m");
    if (r == 0 && chmod("/p/dev/shm", 01777) < 0)
        r = err_set(err, -errno, "fill /dev: %m");
    return r;
}

static int mount_dev(const struct fs_view *view, const char *target, struct err *err)
{
    CLEANUP(mem_free) char *pts = mem_format("%s/pts", target);
    unsigned long flags = MS_NOSUID | MS_NOEXEC;
    int r = fill_dev(view, err);

    if (r == 0)
        r = fs_bind("/p/dev", target, true, false, err);
    if (r == 0 && mount("devpts", pts, "devpts", flags, "newinstance,ptmxmode=0666,mode=620") < 0)
        r = err_set(err, -errno, "mount a fresh /dev/pts: %m");
    return r;
}

/* /run is empty but for what every machine has, and symlinks that lead elsewhere: NixOS keeps the
 * system's own path there. */
static int fill_run(struct err *err)
{
    CLEANUP(mem_free) char *user = mem_format("/p/run/user/%u", (unsigned)geteuid());

    if (mkdir("/p/run/lock", 01777) < 0 || chmod("/p/run/lock", 01777) < 0 ||
        mkdir("/p/run/user", 0755) < 0 || mkdir(user, 0700) < 0)
        return err_set(err, -errno, "fill /run: %m");
    DIR *dir = opendir("/old/run");
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        char link[4096];
        ssize_t length = -1;
        if (entry->d_type == DT_LNK)
            length = readlinkat(dirfd(dir), entry->d_name, link, sizeof link - 1);
        if (length <= 0)
            continue;
        link[length] = '\0';
        CLEANUP(mem_free) char *copy = mem_format("/p/run/%s", entry->d_name);
        if (link[0] == '/' && !text_starts(link, "/run/") && !text_starts(link, "/var/run/"))
            (void)symlink(link, copy);
    }
    if (dir)
        (void)closedir(dir);
    return 0;
}

/* A directory of the stage as a private one. Where the place is not there it is not made. */
static int mount_plain(const char *path, const char *name, struct err *err)
{
    CLEANUP(mem_free) char *target = mem_format("/root%s", path);
    CLEANUP(mem_free) char *source = mem_format("/p/%s", name);

    return is_directory(target) ? fs_bind(source, target, false, false, err) : 0;
}

int fs_private_mount(struct fs_view *view, struct err *err)
{
    static const struct {
        const char *path;
        mode_t mode;
    } made[] = {{"/p", 0755}, {"/p/dev", 0755}, {"/p/run", 0755}, {"/p/tmp", 01777}};
    int r = 0;

    for (size_t i = 0; i < ARRAY_LENGTH(private_paths); i++)
        if (fs_private_is(view, private_paths[i]))
            fs_layers_add(&view->layers, FS_LAYER_OURS, 0, private_paths[i]);
    for (size_t i = 0; i < ARRAY_LENGTH(made); i++)
        if (mkdir(made[i].path, made[i].mode) < 0 || chmod(made[i].path, made[i].mode) < 0)
            return err_set(err, -errno, "create '%s' on the stage: %m", made[i].path);
    if (is_directory("/root/proc"))
        r = fs_private_proc(view, "/root/proc", err);
    if (r == 0 && is_directory("/root/dev"))
        r = mount_dev(view, "/root/dev", err);
    if (r == 0)
        r = fill_run(err);
    if (r == 0)
        r = mount_plain("/run", "run", err);
    if (r == 0)
        r = mount_plain("/var/run", "run", err);
    if (r == 0 && !view->options->share_tmp)
        r = mount_plain("/tmp", "tmp", err);
    if (r == 0)
        r = mount_sys(view, "/root/sys", err);
    return r;
}
