/* SPDX-License-Identifier: MIT */
/* Files of a worktree under a bench: libc changes them in memory, and the diff says what. */
#include "lib/check.h"
#include "vitro/bench.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

static struct vitro_bench_error error;
static char worktree[4096];

/* A fresh worktree with a.txt and sub/b.txt. */
static vitro_bench *bench_over_tree(const char *name)
{
    (void)snprintf(worktree, sizeof worktree, "%s", tmp_path(name));
    CLEANUP(mem_free) char *sub = mem_format("%s/sub", worktree);
    CLEANUP(mem_free) char *a = mem_format("%s/a.txt", name), *b = mem_format("%s/sub/b.txt", name);

    CHECK_INT(mkdir(worktree, 0755), 0);
    CHECK_INT(mkdir(sub, 0755), 0);
    (void)tmp_file(a, "alpha\n");
    (void)tmp_file(b, "beta\n");
    vitro_bench *bench = vitro_bench_activate(
        (&(struct vitro_bench_options){.clock = "2026-01-01", .fs = worktree, .seed = 3}), &error);
    if (!bench)
        check_fail(__FILE__, __LINE__, "%s", error.text);
    return bench;
}

static const char *in_tree(const char *name)
{
    static char paths[4][4200];
    static int turn;
    char *path = paths[turn++ % 4];

    (void)snprintf(path, sizeof paths[0], "%s/%s", worktree, name);
    return path;
}

static const char *content(const char *path)
{
    static char text[256];
    FILE *file = fopen(path, "r");

    if (!file)
        return strerror(errno);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    (void)fclose(file);
    return text;
}

static void put(const char *path, const char *mode, const char *text)
{
    FILE *file = fopen(path, mode);

    CHECK_TRUE(file != NULL);
    CHECK_TRUE(fputs(text, file) >= 0);
    CHECK_INT(fclose(file), 0);
}

static char *listing(const char *path)
{
    struct buf text = {0};
    DIR *dir = opendir(path);
    struct dirent *entry;

    if (!dir)
        return mem_dup(strerror(errno));
    while ((entry = readdir(dir)))
        buf_addf(&text, "%s%s ", entry->d_name, entry->d_type == DT_DIR ? "/" : "");
    CHECK_INT(closedir(dir), 0);
    return buf_take(&text);
}

TEST(writes_stay_in_memory_and_the_diff_has_them)
{
    vitro_bench *bench = bench_over_tree("writes");
    struct vitro_bench_findings found;

    put(in_tree("a.txt"), "a", "more\n");
    put(in_tree("new.txt"), "w", "new\n");
    CHECK_INT(unlink(in_tree("sub/b.txt")), 0);
    CHECK_TEXT(content(in_tree("a.txt")), "alpha\nmore\n");
    CHECK_TEXT(content(in_tree("new.txt")), "new\n");
    CHECK_TEXT(content(in_tree("sub/b.txt")), "No such file or directory");
    CHECK_OK(vitro_bench_finalize(bench, &found, &error), error);
    CHECK_HAS(found.diff, " alpha\n+more\n");
    CHECK_HAS(found.diff, "+++ b/new.txt\n");
    CHECK_HAS(found.diff, "deleted file mode 100644");
    vitro_bench_findings_done(&found);

    CHECK_TEXT(content(in_tree("a.txt")), "alpha\n"); /* the disk never knew */
    CHECK_TEXT(content(in_tree("new.txt")), "No such file or directory");
    CHECK_TEXT(content(in_tree("sub/b.txt")), "beta\n");
}

TEST(two_who_have_a_file_open_see_each_other)
{
    VITRO_BENCH bench = bench_over_tree("shared");
    int writer = open(in_tree("a.txt"), O_RDWR | O_CLOEXEC);
    int reader = open(in_tree("a.txt"), O_RDONLY | O_CLOEXEC);
    char bytes[16] = "";
    struct stat st;

    CHECK_INT(pwrite(writer, "ALPHA", 5, 0), 5);
    CHECK_INT(read(reader, bytes, sizeof bytes), 6);
    CHECK_TEXT(bytes, "ALPHA\n");
    char *mapped = mmap(NULL, 6, PROT_READ, MAP_SHARED, reader, 0);
    CHECK_INT(pwrite(writer, "x", 1, 0), 1);
    CHECK_INT(mapped[0], 'x');
    (void)munmap(mapped, 6);
    CHECK_INT(ftruncate(writer, 2), 0);
    CHECK_INT(fstat(reader, &st), 0);
    CHECK_INT(st.st_size, 2);
    CHECK_INT(st.st_nlink, 1);
    CHECK_INT(stat(in_tree("a.txt"), &st), 0);
    CHECK_INT(st.st_size, 2);
    CHECK_INT(unlink(in_tree("a.txt")), 0);
    CHECK_INT(pread(reader, bytes, sizeof bytes, 0), 2); /* open files stay */
    (void)close(writer);
    (void)close(reader);
}

TEST(directories_are_listed_with_what_changed)
{
    VITRO_BENCH bench = bench_over_tree("listed");
    CLEANUP(mem_free) char *before = listing(worktree);

    CHECK_TEXT(before, "./ ../ a.txt sub/ ");
    CHECK_INT(mkdir(in_tree("made"), 0755), 0);
    put(in_tree("made/x"), "wx", "x");
    CHECK_INT(rename(in_tree("a.txt"), in_tree("made/a.txt")), 0);
    CLEANUP(mem_free) char *after = listing(worktree);
    CHECK_TEXT(after, "./ ../ made/ sub/ ");
    CLEANUP(mem_free) char *made = listing(in_tree("made"));
    CHECK_TEXT(made, "./ ../ a.txt x ");
    CHECK_TEXT(content(in_tree("made/a.txt")), "alpha\n");
    CHECK_INT(rmdir(in_tree("made")), -1);
    CHECK_INT(errno, ENOTEMPTY);
    int dir = open(in_tree("made"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int file = openat(dir, "x", O_RDONLY | O_CLOEXEC);
    CHECK_TRUE(dir >= 0 && file >= 0);
    CHECK_INT(faccessat(dir, "nothing", F_OK, 0), -1);
    CHECK_INT(unlinkat(dir, "x", 0), 0);
    (void)close(file);
    (void)close(dir);
}

TEST(a_renamed_directory_takes_open_files_along)
{
    VITRO_BENCH bench = bench_over_tree("renamed");
    int fd = open(in_tree("sub/b.txt"), O_WRONLY | O_APPEND | O_CLOEXEC);

    CHECK_INT(write(fd, "one\n", 4), 4);
    CHECK_INT(rename(in_tree("sub"), in_tree("moved")), 0);
    CHECK_INT(write(fd, "two\n", 4), 4);
    (void)close(fd);
    CHECK_TEXT(content(in_tree("moved/b.txt")), "beta\none\ntwo\n");
    CHECK_TEXT(content(in_tree("sub/b.txt")), "No such file or directory");
}

TEST(system_calls_fail_as_they_do_on_a_disk)
{
    VITRO_BENCH bench = bench_over_tree("errors");
    char text[64];

    CHECK_INT(open(in_tree("nothing"), O_RDONLY), -1);
    CHECK_INT(errno, ENOENT);
    CHECK_INT(open(in_tree("a.txt"), O_WRONLY | O_CREAT | O_EXCL, 0600), -1);
    CHECK_INT(errno, EEXIST);
    CHECK_INT(open(in_tree("sub"), O_WRONLY), -1);
    CHECK_INT(errno, EISDIR);
    CHECK_INT(open(in_tree("a.txt/x"), O_RDONLY), -1);
    CHECK_INT(errno, ENOTDIR);
    CHECK_INT(open(in_tree("no/x"), O_WRONLY | O_CREAT, 0600), -1);
    CHECK_INT(errno, ENOENT);
    CHECK_INT(mkdir(in_tree("sub"), 0700), -1);
    CHECK_INT(errno, EEXIST);
    CHECK_INT(unlink(in_tree("sub")), -1);
    CHECK_INT(errno, EISDIR);
    CHECK_INT(link(in_tree("a.txt"), in_tree("hard")), -1);
    CHECK_INT(errno, EPERM);
    CHECK_INT(rename(in_tree("a.txt"), "/tmp/vitro-elsewhere"), -1);
    CHECK_INT(errno, EXDEV);
    CHECK_INT(symlink("a.txt", in_tree("soft")), 0);
    CHECK_INT(readlink(in_tree("soft"), text, sizeof text), 5);
    CHECK_TEXT(content(in_tree("soft")), "alpha\n");
    CHECK_INT(symlink("/etc", in_tree("out")), 0);
    CHECK_INT(open(in_tree("out/passwd"), O_RDONLY), -1);
    CHECK_INT(errno, EXDEV);
}

TEST(what_libc_writes_has_the_time_of_the_bench)
{
    VITRO_BENCH bench = bench_over_tree("times");
    struct timespec then[2] = {{.tv_sec = 5}, {.tv_sec = 6}};
    struct stat st;

    (void)sleep(100);
    put(in_tree("new.txt"), "w", "new\n");
    CHECK_INT(stat(in_tree("new.txt"), &st), 0);
    CHECK_INT(st.st_mtim.tv_sec, 1767225600 + 100);
    CHECK_INT(utimensat(AT_FDCWD, in_tree("new.txt"), then, 0), 0);
    CHECK_INT(stat(in_tree("new.txt"), &st), 0);
    CHECK_INT(st.st_mtim.tv_sec, 6);
    CHECK_INT(chmod(in_tree("new.txt"), 0600), 0);
    CHECK_INT(stat(in_tree("new.txt"), &st), 0);
    CHECK_INT(st.st_mode, S_IFREG | 0600);
    CHECK_INT(access(in_tree("new.txt"), R_OK | W_OK), 0);
}

TEST(relative_paths_and_detours_lead_to_the_worktree)
{
    vitro_bench *bench = bench_over_tree("paths");
    char here[4096], text[4096];

    CHECK_TRUE(getcwd(here, sizeof here) != NULL);
    CHECK_INT(chdir(in_tree("sub")), 0);
    put("../c.txt", "w", "c");
    CHECK_TEXT(content("./../sub/../c.txt"), "c");
    CHECK_TRUE(realpath("../c.txt", text) != NULL);
    CHECK_TEXT(text, in_tree("c.txt"));
    CHECK_INT(chdir(here), 0);
    vitro_bench_drop(bench);
    CHECK_TEXT(content(in_tree("c.txt")), "No such file or directory");
}

TEST(writing_elsewhere_is_a_leak)
{
    const char *outside = tmp_path("outside.txt");
    vitro_bench *bench = bench_over_tree("leaks");
    struct vitro_bench_findings found;

    put(outside, "w", "x");
    put("/dev/null", "w", "x");
    CHECK_INT(vitro_bench_finalize(bench, &found, &error), -EUCLEAN);
    CHECK_INT(found.leak_count, 1);
    CHECK_TEXT(found.leaks[0].capability, "fs/write-outside");
    vitro_bench_findings_done(&found);
}

TEST(temporary_names_and_random_devices_come_from_the_seed)
{
    char names[2][4200], bytes[2][8];

    for (int i = 0; i < 2; i++) {
        VITRO_BENCH bench = bench_over_tree(i ? "seed-1" : "seed-0");
        (void)snprintf(names[i], sizeof names[i], "%s", in_tree("tmp-XXXXXX"));
        int fd = mkstemp(names[i]);
        CHECK_TRUE(fd >= 0);
        CHECK_INT(access(names[i], F_OK), 0);
        (void)close(fd);
        FILE *file = fopen("/dev/urandom", "r");
        CHECK_INT(fread(bytes[i], 1, 8, file), 8);
        (void)fclose(file);
    }
    CHECK_TEXT(strrchr(names[0], '/'), strrchr(names[1], '/'));
    CHECK_TRUE(memcmp(bytes[0], bytes[1], 8) == 0);
    CHECK_TRUE(access(names[0], F_OK) < 0);
}

/* A whole database, with journal, locks and chance, that never was. */
TEST(sqlite_keeps_a_database_in_the_worktree_that_the_disk_never_sees)
{
    vitro_bench *bench = bench_over_tree("database");
    CLEANUP(mem_free) char *path = mem_dup(in_tree("data.db"));
    sqlite3 *db;
    sqlite3_stmt *statement;
    char *text = NULL;

    for (int i = 0; i < 2; i++) {
        CHECK_INT(sqlite3_open(path, &db), SQLITE_OK);
        CHECK_INT(sqlite3_exec(db,
                               "create table if not exists t(x, at);"
                               "insert into t values(hex(randomblob(4)), datetime('now'));"
                               "begin; insert into t values(1, 2); rollback",
                               NULL, NULL, &text),
                  SQLITE_OK);
        (void)sleep(60);
        sqlite3_close(db);
    }
    CHECK_INT(sqlite3_open(path, &db), SQLITE_OK);
    CHECK_INT(sqlite3_prepare_v2(db, "select count(*), max(at) from t", -1, &statement, NULL),
              SQLITE_OK);
    CHECK_INT(sqlite3_step(statement), SQLITE_ROW);
    CHECK_INT(sqlite3_column_int(statement, 0), 2);
    CHECK_TEXT((const char *)sqlite3_column_text(statement, 1), "2026-01-01 00:01:00");
    sqlite3_finalize(statement);
    sqlite3_close(db);
    vitro_bench_drop(bench);
    CHECK_TRUE(access(path, F_OK) < 0);
}

static int is_over;

static void *look_all_the_time(void *path)
{
    struct stat st;

    while (!__atomic_load_n(&is_over, __ATOMIC_SEQ_CST))
        (void)stat(path, &st);
    return NULL;
}

TEST(a_child_can_use_files_whatever_other_threads_did_at_the_fork)
{
    VITRO_BENCH bench = bench_over_tree("forks");
    CLEANUP(mem_free) char *path = mem_dup(in_tree("a.txt"));
    pthread_t thread;
    int status;

    is_over = 0;
    CHECK_INT(pthread_create(&thread, NULL, look_all_the_time, path), 0);
    for (int i = 0; i < 300; i++) {
        pid_t pid = fork();
        if (pid == 0)
            _exit(access(path, F_OK) == 0 ? 7 : 1);
        CHECK_INT(waitpid(pid, &status, 0), pid);
        CHECK_INT(WEXITSTATUS(status), 7);
    }
    __atomic_store_n(&is_over, 1, __ATOMIC_SEQ_CST);
    CHECK_INT(pthread_join(thread, NULL), 0);
}
