/* SPDX-License-Identifier: MIT */
#include "tape/store.h"
#include "lib/check.h"
#include "tape/bundle.h"
#include "tape/tape.h"
#include "tape/tape_refs.h"
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

static struct store *store_at(const char *path)
{
    struct store *store = NULL;
    struct err err = {0};

    CHECK_OK(store_open(&(struct store_options){.path = path}, &store, &err), err);
    return store;
}

static size_t entries_in(struct store *store)
{
    CLEANUP(store_list_done) struct store_list list = {0};
    struct err err = {0};

    CHECK_OK(store_list(store, &list, &err), err);
    return list.count;
}

TEST(what_is_put_comes_back_whole_and_is_kept_once)
{
    const char *path = tmp_path("s.cas");
    CLEANUP(store_free) struct store *store = store_at(path);
    CLEANUP(mem_free) char *large = mem_alloc(100000);
    struct err err = {0};
    struct hash hash, again;
    struct stat st;

    CHECK_INT(entries_in(store), 0);
    CHECK_TRUE(!file_exists(path));
    static const char small[] = "a\0b\xff";
    CHECK_OK(store_put(store, small, sizeof small, &hash, &err), err);
    CHECK_OK(store_put(store, small, sizeof small, &again, &err), err);
    CHECK_INT(memcmp(&hash, &again, sizeof hash), 0);
    CHECK_INT(entries_in(store), 1);
    CLEANUP(buf_done) struct buf got = {0};
    CHECK_OK(store_get(store, &hash, 0, &got, &err), err);
    CHECK_INT(got.length, sizeof small);
    CHECK_INT(memcmp(got.data, small, sizeof small), 0);

    CHECK_OK(store_put(store, large, 100000, &hash, &err), err);
    CLEANUP(mem_free) char *file = mem_format("%s/%s.zst", path, hash_to_text(&hash).text);
    CHECK_INT(stat(file, &st), 0);
    CHECK_TRUE(st.st_size < 1000);
    CHECK_OK(store_get(store, &hash, 0, &got, &err), err);
    CHECK_INT(got.length, sizeof small + 100000);
    CHECK_INT(store_get(store, &hash, 99999, &got, &err), -EFBIG);
}

TEST(a_missing_content_is_named)
{
    CLEANUP(store_free) struct store *store = store_at(tmp_path("none.cas"));
    CLEANUP(buf_done) struct buf got = {0};
    struct hash hash = hash_of("x", 1);
    struct err err = {0};

    CHECK_INT(store_get(store, &hash, 0, &got, &err), -ENOENT);
    CHECK_HAS(err.text, hash_to_text(&hash).text);
    CHECK_HAS(err.text, "none.cas");
}

TEST(damaged_contents_are_refused)
{
    const char *path = tmp_path("d.cas");
    CLEANUP(store_free) struct store *store = store_at(path);
    CLEANUP(buf_done) struct buf got = {0};
    struct err err = {0};
    struct hash hash;

    CHECK_OK(store_put(store, "hello", 5, &hash, &err), err);
    CLEANUP(mem_free) char *file = mem_format("%s/%s", path, hash_to_text(&hash).text);
    CHECK_OK(file_write(file, "hellp", 5, &err), err);
    CHECK_INT(store_get(store, &hash, 0, &got, &err), -EBADMSG);
    CHECK_HAS(err.text, "is damaged: its bytes have the hash");
    CHECK_INT(got.length, 0);
    CLEANUP(mem_free) char *packed = mem_format("%s.zst", file);
    CHECK_INT(rename(file, packed), 0);
    CHECK_INT(store_get(store, &hash, 0, &got, &err), -EBADMSG);
    CHECK_HAS(err.text, "not what the store writes");
}

TEST(a_store_or_content_that_is_a_symbolic_link_is_refused)
{
    const char *real = tmp_path("real.cas"), *link_path = tmp_path("link.cas");
    CLEANUP(store_free) struct store *store = store_at(real);
    CLEANUP(store_free) struct store *linked = store_at(link_path);
    CLEANUP(buf_done) struct buf got = {0};
    struct err err = {0};
    struct hash hash;

    CHECK_OK(store_put(store, "hello", 5, &hash, &err), err);
    CHECK_INT(symlink(real, link_path), 0);
    CHECK_INT(store_get(linked, &hash, 0, &got, &err), -ELOOP);
    CHECK_HAS(err.text, "link.cas': it is a symbolic link");
    CHECK_INT(store_put(linked, "other", 5, &hash, &err), -ELOOP);
    CHECK_INT(entries_in(store), 1);

    hash = hash_of("secret", 6);
    CLEANUP(mem_free) char *file = mem_format("%s/%s", real, hash_to_text(&hash).text);
    CHECK_INT(symlink(tmp_file("outside", "secret"), file), 0);
    CHECK_INT(store_get(store, &hash, 0, &got, &err), -ELOOP);
    CHECK_HAS(err.text, "it is a symbolic link");
}

TEST(gc_keeps_what_the_tape_speaks_of_and_waits_for_no_writer)
{
    const char *path = tmp_path("gc.tape");
    CLEANUP(mem_free) char *cas = store_path_of(path);
    CLEANUP(store_free) struct store *store = store_at(cas);
    CLEANUP(tape_writer_free) struct tape_writer *writer = NULL;
    CLEANUP(tape_data_done) struct tape_data data = {0};
    struct tape_gc_result result;
    struct err err = {0};
    struct hash hash;

    CHECK_OK(tape_writer_open(&(struct tape_writer_options){.path = path}, &writer, &err), err);
    tape_data_begin(&data);
    CHECK_OK(tape_data_payload(&data, writer, "payload", "\xfe\xff", 2, &err), err);
    tape_data_end(&data);
    CHECK_OK(tape_writer_record(writer,
                                &(struct tape_record){.kind = TAPE_TERM_OUTPUT,
                                                      .data = data.text.data,
                                                      .data_length = data.text.length},
                                &err),
             err);
    CHECK_OK(store_put(store, "nobody wants me", 15, &hash, &err), err);
    CLEANUP(mem_free) char *stray = mem_format("%s/.tmp.1.2", cas);
    CHECK_OK(file_write(stray, "x", 1, &err), err);
    CHECK_INT(tape_gc(path, store, false, &result, &err), -EBUSY);
    CHECK_HAS(err.text, "gc.tape': the tape is being written");
    CHECK_OK(tape_writer_close(writer, &err), err);
    writer = tape_writer_free(writer);
    CHECK_OK(tape_gc(path, store, true, &result, &err), err);
    CHECK_INT(entries_in(store), 2);
    CHECK_OK(tape_gc(path, store, false, &result, &err), err);
    CHECK_INT(result.kept, 1);
    CHECK_INT(result.removed, 1);
    CHECK_INT(result.removed_bytes, 15);
    CHECK_INT(result.strays, 1);
    CHECK_INT(entries_in(store), 1);
    CHECK_TRUE(!file_exists(stray));
}

TEST(a_url_that_is_none_is_refused)
{
    struct store *store = NULL;
    struct err err = {0};

    CHECK_INT(store_open(&(struct store_options){.path = "x", .url = "ftp://h"}, &store, &err),
              -EINVAL);
    CHECK_HAS(err.text, "store 'ftp://h': not an HTTP address\nhint: ");
}

TEST(a_bundle_is_created_once_and_lists_its_files)
{
    const char *path = tmp_path("bundle");
    CLEANUP(bundle_free) struct bundle *bundle = NULL;
    CLEANUP(bundle_free) struct bundle *again = NULL;
    struct err err = {0};

    CHECK_OK(bundle_create(path, &bundle, &err), err);
    CHECK_OK(bundle_add(bundle, "tape", "tape", &err), err);
    CHECK_INT(bundle_add(bundle, "../x", "x", &err), -EINVAL);
    CHECK_INT(bundle_create(path, &again, &err), -EEXIST);
    CHECK_HAS(err.text, "the directory is not empty\nhint: ");
    CHECK_OK(bundle_open(path, &again, &err), err);
    CHECK_TEXT(json_string_value(json_object_get(bundle_files(again), "tape")), "tape");
    CLEANUP(mem_free) char *tape = tape_path_resolve(path);
    CHECK_TRUE(strstr(tape, "bundle/tape") != NULL);
}

TEST(what_is_no_bundle_or_a_newer_one_is_refused)
{
    const char *path = tmp_path("odd");
    CLEANUP(bundle_free) struct bundle *bundle = NULL;
    CLEANUP(mem_free) char *manifest = mem_format("%s/manifest.json", path);
    static const char newer[] = "{\"files\":{},\"format\":\"vitro-bundle\",\"version\":2}";
    struct err err = {0};

    CHECK_INT(bundle_open(path, &bundle, &err), -ENOENT);
    CHECK_HAS(err.text, "open bundle '");
    CHECK_OK(dir_make_all(path, &err), err);
    CHECK_OK(file_write(manifest, "[]", 2, &err), err);
    CHECK_INT(bundle_open(path, &bundle, &err), -EBADMSG);
    CHECK_OK(file_write(manifest, newer, sizeof newer - 1, &err), err);
    CHECK_INT(bundle_open(path, &bundle, &err), -EPROTO);
    CHECK_HAS(err.text, "bundle version 2, but this vitro reads up to 1");
}
