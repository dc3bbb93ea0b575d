/* SPDX-License-Identifier: MIT */
#include "box/file_times.h"
#include "lib/check.h"
#include "base/when.h"
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static const int64_t SEC = (int64_t)NS_PER_SEC;
static const int64_t DAY = 86400 * INT64_C(1000000000);
static const int64_t VIRTUAL_START = INT64_C(1767225600) * INT64_C(1000000000);
static const int64_t REAL_START = INT64_C(1800000000) * INT64_C(1000000000);

DEFINE_CLEANUP(struct file_times *, file_times_free)

static int64_t show(struct file_times *times, struct file_stamp stamp, int64_t now_ns)
{
    return file_times_show(times, &stamp, now_ns, false);
}

static int64_t show_age(struct file_times *times, int64_t ns)
{
    return file_times_show(times, &(struct file_stamp){1, 2, 0, ns}, VIRTUAL_START, true);
}

TEST(what_was_written_in_the_box_shows_when_it_was_first_seen)
{
    CLEANUP(file_times_free)
    struct file_times *times = file_times_new(REAL_START, VIRTUAL_START);
    struct file_stamp stamp = {1, 2, 0, REAL_START};

    CHECK_INT(show(times, stamp, VIRTUAL_START), VIRTUAL_START);
    CHECK_INT(show(times, stamp, VIRTUAL_START + 60 * SEC), VIRTUAL_START);
    CHECK_INT(file_times_show(times, &stamp, VIRTUAL_START + 60 * SEC, true), VIRTUAL_START);
    stamp.ns++; /* written again */
    CHECK_INT(show(times, stamp, VIRTUAL_START + 60 * SEC), VIRTUAL_START + 60 * SEC);
    CHECK_INT(show(times, stamp, VIRTUAL_START + 90 * SEC), VIRTUAL_START + 60 * SEC);
}

TEST(each_time_of_each_file_is_noted_by_itself)
{
    CLEANUP(file_times_free)
    struct file_times *times = file_times_new(REAL_START, VIRTUAL_START);

    for (int again = 0; again < 2; again++)
        for (unsigned i = 0; i < 24; i++) {
            /* numbers that fall into the same bucket */
            struct file_stamp stamp = {i % 2 * 4096, i / 2 % 3 * 4096, i / 6, REAL_START};
            CHECK_INT(show(times, stamp, again ? VIRTUAL_START + DAY : VIRTUAL_START + i),
                      VIRTUAL_START + i);
        }
}

TEST(files_from_before_keep_their_times_for_who_recognises_them)
{
    CLEANUP(file_times_free)
    struct file_times *times = file_times_new(REAL_START, VIRTUAL_START);
    static const int64_t before[] = {1, 1000, 1000000000};

    for (size_t i = 0; i < ARRAY_LENGTH(before); i++)
        CHECK_INT(show(times, (struct file_stamp){1, 2, 0, REAL_START - before[i]}, VIRTUAL_START),
                  REAL_START - before[i]);
    CHECK_INT(show(times, (struct file_stamp){1, 2, 0, 0}, VIRTUAL_START), 0);
}

TEST(who_asks_for_the_age_sees_nothing_from_the_future)
{
    CLEANUP(file_times_free)
    struct file_times *times = file_times_new(REAL_START, VIRTUAL_START);

    CHECK_INT(show_age(times, 0), 0);
    CHECK_INT(show_age(times, VIRTUAL_START - DAY), VIRTUAL_START - DAY);
    CHECK_TRUE(show_age(times, VIRTUAL_START - DAY + 1) >= VIRTUAL_START - DAY);
    CHECK_TRUE(show_age(times, REAL_START - 1) < VIRTUAL_START);
    CHECK_TRUE(show_age(times, REAL_START - 1) > VIRTUAL_START - DAY);
    CHECK_INT(file_times_age_limit(times), VIRTUAL_START - DAY);
    CHECK_INT(file_times_start(times), REAL_START);
}

TEST(a_box_in_the_future_moves_no_file)
{
    CLEANUP(file_times_free)
    struct file_times *times = file_times_new(REAL_START, REAL_START + 30 * DAY);

    CHECK_INT(show_age(times, REAL_START - 1), REAL_START - 1);
    CHECK_INT(file_times_age_limit(times), REAL_START);
}

TEST(squashing_keeps_the_order_of_files)
{
    struct rng rng;

    rng_seed(&rng, 1);
    for (int round = 0; round < 20; round++) {
        int64_t span = (int64_t)rng_below(&rng, (uint64_t)(80 * 365 * DAY)) + 1;
        CLEANUP(file_times_free)
        struct file_times *times = file_times_new(VIRTUAL_START + span, VIRTUAL_START);
        for (int i = 0; i < 1000; i++) {
            int64_t a =
                VIRTUAL_START - 2 * DAY + (int64_t)rng_below(&rng, (uint64_t)(span + 2 * DAY));
            int64_t b = a + (int64_t)rng_below(&rng, (uint64_t)SEC);
            int64_t shown_a = show_age(times, a);
            CHECK_TRUE(shown_a < VIRTUAL_START);
            CHECK_TRUE(shown_a <= a);
            if (b >= VIRTUAL_START + span)
                continue;
            CHECK_TRUE(shown_a <= show_age(times, b));
            if (b > a + SEC / 10) /* far enough apart to be told apart */
                CHECK_TRUE(shown_a < show_age(times, b));
        }
    }
}

TEST(a_time_that_a_guest_set_is_shown_until_the_file_is_written_again)
{
    CLEANUP(file_times_free)
    struct file_times *times = file_times_new(REAL_START, VIRTUAL_START);
    struct file_stamp stamp = {1, 2, 0, REAL_START + 5 * DAY};

    CHECK_INT(show(times, stamp, VIRTUAL_START), VIRTUAL_START);
    file_times_keep(times, &stamp);
    CHECK_INT(show(times, stamp, VIRTUAL_START), REAL_START + 5 * DAY);
    CHECK_INT(file_times_show(times, &stamp, VIRTUAL_START, true), REAL_START + 5 * DAY);
    stamp.ns++;
    CHECK_INT(show(times, stamp, VIRTUAL_START + 3), VIRTUAL_START + 3);
}

TEST(what_was_written_before_a_move_that_parted_stamps_has_the_time_before_it)
{
    CLEANUP(file_times_free)
    struct file_times *times = file_times_new(REAL_START, VIRTUAL_START);
    int64_t now = VIRTUAL_START + 9 * SEC;

    file_times_part(times, REAL_START + 10, VIRTUAL_START + 1);
    file_times_part(times, REAL_START + 20, VIRTUAL_START + 2);
    CHECK_INT(show(times, (struct file_stamp){1, 1, 0, REAL_START}, now), VIRTUAL_START + 1);
    CHECK_INT(show(times, (struct file_stamp){1, 2, 0, REAL_START + 10}, now), VIRTUAL_START + 1);
    CHECK_INT(show(times, (struct file_stamp){1, 3, 0, REAL_START + 11}, now), VIRTUAL_START + 2);
    CHECK_INT(show(times, (struct file_stamp){1, 4, 0, REAL_START + 20}, now), VIRTUAL_START + 2);
    CHECK_INT(show(times, (struct file_stamp){1, 5, 0, REAL_START + 21}, now), now);
    CHECK_INT(show(times, (struct file_stamp){1, 5, 0, REAL_START + 21}, now + 1), now);
    CHECK_INT(show(times, (struct file_stamp){1, 6, 0, REAL_START - 1}, now), REAL_START - 1);
}

/* ---- with files: everything since 1970 counts as written in the box ------------------------ */

struct files {
    struct file_times *times;
    int root_fd;
};

static void files_done_cleanup(struct files *files)
{
    file_times_free(files->times);
    fd_close(files->root_fd);
}

static struct files files_start(void)
{
    return (struct files){file_times_new(1, VIRTUAL_START),
                          open("/", O_PATH | O_DIRECTORY | O_CLOEXEC)};
}

/* Stamps a file by hand, as the kernel would on a write. */
static void stamp_file(const char *path, int64_t seconds)
{
    const struct timespec times[2] = {{seconds, 0}, {seconds, 0}};

    CHECK_INT(utimensat(AT_FDCWD, path, times, 0), 0);
}

static int64_t shown_mtime(struct files *files, const char *path, int64_t now_ns)
{
    struct stat st;

    CHECK_INT(stat(path, &st), 0);
    return show(
        files->times,
        (struct file_stamp){st.st_dev, st.st_ino, 0, st.st_mtim.tv_sec * SEC + st.st_mtim.tv_nsec},
        now_ns);
}

TEST(a_file_opened_for_writing_is_noted_before_the_clock_moves_on)
{
    CLEANUP(files_done) struct files files = files_start();
    const char *path = tmp_file("noted", "text"), *other = tmp_file("unnoted", "text");

    CHECK_TRUE(!file_times_any_touched(files.times));
    file_times_touch(files.times, path);
    file_times_touch(files.times, path);
    CHECK_TRUE(file_times_any_touched(files.times));
    file_times_settle(files.times, files.root_fd, VIRTUAL_START + 10 * SEC);
    CHECK_INT(shown_mtime(&files, path, VIRTUAL_START + DAY), VIRTUAL_START + 10 * SEC);
    CHECK_INT(shown_mtime(&files, other, VIRTUAL_START + DAY), VIRTUAL_START + DAY);
}

TEST(a_symlink_is_noted_itself_and_so_is_what_it_leads_to)
{
    CLEANUP(files_done) struct files files = files_start();
    const char *path = tmp_file("target", "text"), *link = tmp_path("link");
    struct stat st;

    CHECK_INT(symlink("target", link), 0);
    file_times_touch(files.times, link);
    file_times_settle(files.times, files.root_fd, VIRTUAL_START + 10 * SEC);
    CHECK_INT(lstat(link, &st), 0);
    struct file_stamp stamp = {st.st_dev, st.st_ino, 0,
                               st.st_mtim.tv_sec * SEC + st.st_mtim.tv_nsec};
    CHECK_INT(show(files.times, stamp, VIRTUAL_START + DAY), VIRTUAL_START + 10 * SEC);
    CHECK_INT(shown_mtime(&files, path, VIRTUAL_START + DAY), VIRTUAL_START + 10 * SEC);
}

TEST(the_directory_of_a_noted_file_is_noted_with_it)
{
    CLEANUP(files_done) struct files files = files_start();
    const char *path = tmp_file("child", "text");
    CLEANUP(mem_free) char *parent = mem_dup(path);

    *strrchr(parent, '/') = '\0';
    file_times_touch(files.times, path);
    file_times_settle(files.times, files.root_fd, VIRTUAL_START + 10 * SEC);
    CHECK_INT(shown_mtime(&files, parent, VIRTUAL_START + DAY), VIRTUAL_START + 10 * SEC);
}

TEST(a_file_that_stays_open_is_noted_again_at_later_moves)
{
    CLEANUP(files_done) struct files files = files_start();
    const char *path = tmp_file("log", "one");

    file_times_touch(files.times, path);
    file_times_settle(files.times, files.root_fd, VIRTUAL_START + 10 * SEC);
    stamp_file(path, 1900000000);
    CHECK_TRUE(file_times_any_touched(files.times));
    file_times_settle(files.times, files.root_fd, VIRTUAL_START + 20 * SEC);
    CHECK_INT(shown_mtime(&files, path, VIRTUAL_START + DAY), VIRTUAL_START + 20 * SEC);
}

TEST(files_that_are_gone_do_no_harm)
{
    CLEANUP(files_done) struct files files = files_start();

    file_times_touch(files.times, tmp_path("never-there"));
    file_times_touch(files.times, "/");
    file_times_touch(files.times, "relative");
    file_times_settle(files.times, files.root_fd, VIRTUAL_START);
    file_times_settle(files.times, -1, VIRTUAL_START);
    CHECK_TRUE(file_times_free(NULL) == NULL);
}

TEST(many_files_are_noted_and_the_latest_stay_watched)
{
    enum { MANY = 100 };
    CLEANUP(files_done) struct files files = files_start();
    char name[16], paths[MANY][512];

    for (int i = 0; i < MANY; i++) {
        (void)snprintf(name, sizeof name, "many-%d", i);
        (void)snprintf(paths[i], sizeof paths[i], "%s", tmp_file(name, "text"));
        file_times_touch(files.times, paths[i]);
    }
    file_times_settle(files.times, files.root_fd, VIRTUAL_START + 1);
    for (int i = 0; i < MANY; i++) {
        CHECK_INT(shown_mtime(&files, paths[i], VIRTUAL_START + DAY), VIRTUAL_START + 1);
        stamp_file(paths[i], 1900000000);
    }
    file_times_settle(files.times, files.root_fd, VIRTUAL_START + 2);
    CHECK_INT(shown_mtime(&files, paths[MANY - 1], VIRTUAL_START + DAY), VIRTUAL_START + 2);
    CHECK_INT(shown_mtime(&files, paths[MANY - 32], VIRTUAL_START + DAY), VIRTUAL_START + 2);
    CHECK_INT(shown_mtime(&files, paths[0], VIRTUAL_START + DAY), VIRTUAL_START + DAY);
}
