/* SPDX-License-Identifier: MIT */
#include "fs/fs_mounts.h"
#include "lib/check.h"
#include <errno.h>
#include <sys/mount.h>

static const char table[] = "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n"
                            "22 27 0:21 / /proc rw - proc proc rw\n"
                            "26 24 0:24 / /dev/pts rw - devpts devpts rw\n"
                            "24 27 0:6 / /dev rw - devtmpfs devtmpfs rw\n"
                            "29 26 0:26 / /dev/pts rw,nosuid - devpts second rw\n"
                            "30 27 8:1 / /a/hidden rw - ext4 /dev/sda1 rw\n"
                            "31 27 8:2 / /a ro,nosuid,nodev shared:4 master:2 - xfs /dev/sda2 rw\n"
                            "32 31 8:3 / /a/with\\040space rw - fuse.sshfs host rw\n"
                            "33 27 8:4 / /a-b rw - ext4 /dev/sda4 rw\n"
                            "34 27 8:5 / /covered rw - ext4 /dev/sda5 rw\n"
                            "35 34 8:6 / /covered rw - tmpfs t rw\n"
                            "36 34 8:7 / /covered/below rw - ext4 /dev/sda7 rw\n";

TEST(what_other_mounts_cover_is_left_out_and_the_rest_is_sorted)
{
    CLEANUP(fs_mounts_done) struct fs_mounts mounts = {0};
    CLEANUP(buf_done) struct buf text = {0};
    struct err err = {0};

    CHECK_OK(fs_mounts_parse(table, &mounts, &err), err);
    for (size_t i = 0; i < mounts.count; i++)
        buf_addf(&text, "%s %s\n", mounts.items[i].path, mounts.items[i].type);
    CHECK_TEXT(buf_text(&text), "/ ext4\n/a xfs\n/a-b ext4\n/a/with space fuse.sshfs\n"
                                "/covered tmpfs\n/dev devtmpfs\n/dev/pts devpts\n/proc proc\n");
}

TEST(flags_and_kinds_are_read)
{
    CLEANUP(fs_mounts_done) struct fs_mounts mounts = {0};
    struct err err = {0};

    CHECK_OK(fs_mounts_parse(table, &mounts, &err), err);
    CHECK_INT(fs_mounts_at(&mounts, "/a")->flags, MS_RDONLY | MS_NOSUID | MS_NODEV);
    CHECK_INT(fs_mounts_at(&mounts, "/dev/pts")->flags, MS_NOSUID);
    CHECK_TRUE(fs_mounts_at(&mounts, "/proc")->kernel && !fs_mounts_at(&mounts, "/a")->kernel);
    CHECK_TRUE(!fs_mounts_at(&mounts, "/a/hidden"));
}

TEST(the_mount_that_holds_a_path_and_those_below_it_are_found)
{
    CLEANUP(fs_mounts_done) struct fs_mounts mounts = {0};
    struct err err = {0};
    size_t end;

    CHECK_OK(fs_mounts_parse(table, &mounts, &err), err);
    CHECK_TEXT(fs_mounts_of(&mounts, "/a/x/y")->path, "/a");
    CHECK_TEXT(fs_mounts_of(&mounts, "/ab")->path, "/");
    CHECK_TEXT(fs_mounts_of(&mounts, "/a/with space")->path, "/a/with space");
    CHECK_INT(fs_mounts_below(&mounts, "/a", &end), 3);
    CHECK_INT(end, 4);
    size_t start = fs_mounts_below(&mounts, "/proc", &end);
    CHECK_INT(start, end);
}

TEST(a_line_that_is_no_mount_is_named)
{
    CLEANUP(fs_mounts_done) struct fs_mounts mounts = {0};
    struct err err = {0};

    CHECK_INT(fs_mounts_parse("27 1 254:0 / /\n", &mounts, &err), -EBADMSG);
    CHECK_HAS(err.text, "cannot understand '27 1 254:0 / /'");
}
