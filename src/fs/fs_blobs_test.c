/* SPDX-License-Identifier: MIT */
#include "fs/fs_blobs.h"
#include "lib/check.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LARGE = 3 * 1000 * 1000 };

static struct fs_node put(struct fs_blobs *blobs, const char *bytes, size_t length)
{
    struct fs_node node = {.type = FS_FILE};
    struct err err = {0};

    CHECK_OK(fs_content_put_bytes(blobs, bytes, length, &node, &err), err);
    return node;
}

static void check_content(struct fs_blobs *blobs, const struct fs_node *node, const char *bytes,
                          size_t length)
{
    CLEANUP(buf_done) struct buf found = {0};
    struct err err = {0};

    CHECK_OK(fs_content_load(blobs, node, LARGE, &found, &err), err);
    CHECK_INT(found.length, length);
    CHECK_TRUE(memcmp(found.data, bytes, length) == 0);
}

static uint64_t size_of(const char *path)
{
    struct stat st;

    CHECK_INT(stat(path, &st), 0);
    return (uint64_t)st.st_size;
}

/* A pack with two small contents and a large one, each put twice. */
static void make_pack(const char *path, struct fs_node nodes[3], char *large)
{
    CLEANUP(fs_blobs_free) struct fs_blobs *blobs = fs_blobs_new(path);
    struct err err = {0};

    for (size_t i = 0; i < LARGE; i++)
        large[i] = (char)(i * 7 + i / 1000);
    for (int i = 0; i < 2; i++) {
        nodes[0] = put(blobs, "first", 5);
        nodes[1] = put(blobs, large, LARGE);
        nodes[2] = put(blobs, "", 0);
    }
    CHECK_OK(fs_blobs_finish(blobs, &err), err);
}

TEST(contents_come_back_from_a_pack_and_equal_ones_are_kept_once)
{
    CLEANUP(mem_free) char *large = mem_alloc(LARGE);
    CLEANUP(fs_blobs_free) struct fs_blobs *blobs = NULL;
    const char *path = tmp_path("deep/er/contents.pack");
    struct fs_node nodes[3];
    struct err err = {0};

    make_pack(path, nodes, large);
    CHECK_INT(size_of(path), 8 + 5 + LARGE + 3 * 48 + 16);
    CHECK_OK(fs_blobs_open(path, &blobs, &err), err);
    check_content(blobs, &nodes[1], large, LARGE);
    check_content(blobs, &nodes[0], "first", 5);
    check_content(blobs, &nodes[2], "", 0);
}

TEST(contents_in_memory_come_back_between_puts)
{
    CLEANUP(fs_blobs_free) struct fs_blobs *blobs = fs_blobs_in_memory();
    struct fs_node empty = put(blobs, "", 0);

    check_content(blobs, &empty, "", 0);
    struct fs_node one = put(blobs, "one", 3);
    check_content(blobs, &one, "one", 3);
    struct fs_node two = put(blobs, "two", 3);
    check_content(blobs, &two, "two", 3);
    check_content(blobs, &one, "one", 3);
}

TEST(without_contents_no_pack_is_made_and_an_older_one_goes)
{
    const char *path = tmp_file("contents.pack", "of an earlier run");
    CLEANUP(fs_blobs_free) struct fs_blobs *blobs = fs_blobs_new(path);
    CLEANUP(fs_blobs_free) struct fs_blobs *none = NULL;
    struct fs_blob blob;
    struct hash hash = hash_of("x", 1);
    struct err err = {0};

    CHECK_OK(fs_blobs_finish(blobs, &err), err);
    CHECK_TRUE(!file_exists(path));
    CHECK_OK(fs_blobs_open(path, &none, &err), err);
    CHECK_INT(fs_blobs_get(none, &hash, &blob, &err), -ENOENT);
    CHECK_HAS(err.text, "was not kept");
}

static void write_at(const char *path, uint64_t offset, const void *bytes, size_t length)
{
    CLEANUP(fd_close) int fd = open(path, O_WRONLY | O_CLOEXEC);

    CHECK_INT(pwrite(fd, bytes, length, (off_t)offset), length);
}

TEST(a_changed_content_is_refused)
{
    CLEANUP(mem_free) char *large = mem_alloc(LARGE);
    CLEANUP(fs_blobs_free) struct fs_blobs *blobs = NULL;
    const char *path = tmp_path("contents.pack");
    struct fs_node nodes[3];
    struct fs_blob blob;
    struct err err = {0};

    make_pack(path, nodes, large);
    write_at(path, 9, "o", 1);
    CHECK_OK(fs_blobs_open(path, &blobs, &err), err);
    CHECK_INT(fs_blobs_get(blobs, &nodes[0].hash, &blob, &err), -EBADMSG);
    CHECK_HAS(err.text, "its bytes have another hash");
    check_content(blobs, &nodes[1], large, LARGE);
}

TEST(a_pack_that_says_what_cannot_be_is_refused)
{
    CLEANUP(mem_free) char *large = mem_alloc(LARGE);
    const char *path = tmp_path("contents.pack");
    const uint64_t end = 8 + 5 + LARGE + 3 * 48 + 16, huge = UINT64_MAX;
    const struct {
        uint64_t offset;
        const void *bytes;
        size_t length;
        uint64_t size;
    } damages[] = {
        {0, "X", 1, end},                    /* the first bytes */
        {end - 1, "X", 1, end},              /* the last */
        {end - 16, &huge, 8, end},           /* the number of rows */
        {end - 16 - 8, &huge, 8, end},       /* a length */
        {end - 16 - 16, &huge, 8, end},      /* an offset */
        {end - 16 - 48, "\0\0\0\0", 4, end}, /* the order of the rows */
        {0, "V", 1, end - 1},                /* cut short */
        {0, "V", 1, 10},
        {0, "V", 1, 0},
    };

    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
        CLEANUP(fs_blobs_free) struct fs_blobs *blobs = NULL;
        struct fs_node nodes[3];
        struct err err = {0};
        make_pack(path, nodes, large);
        write_at(path, damages[i].offset, damages[i].bytes, damages[i].length);
        CHECK_INT(truncate(path, (off_t)damages[i].size), 0);
        CHECK_INT(fs_blobs_open(path, &blobs, &err), -EBADMSG);
        CHECK_HAS(err.text, "is not a pack of contents, or is damaged");
    }
}
