/* SPDX-License-Identifier: MIT */
#include "tape/bundle.h"
#include "base/fd.h"
#include "base/json.h"
#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

enum { BUNDLE_VERSION = 1 };

struct bundle {
    char *path;
    json_t *files; /* name to role */
};

struct bundle *bundle_free(struct bundle *bundle)
{
    if (bundle) {
        free(bundle->path);
        json_decref(bundle->files);
    }
    free(bundle);
    return NULL;
}

char *bundle_path(const struct bundle *bundle, const char *name)
{
    return mem_format("%s/%s", bundle->path, name);
}

const json_t *bundle_files(const struct bundle *bundle)
{
    return bundle->files;
}

char *tape_path_resolve(const char *path)
{
    struct stat st;

    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return mem_format("%s/tape", path);
    return mem_dup(path);
}

static bool is_empty(const char *path)
{
    DIR *dir = opendir(path);
    bool empty = true;

    for (struct dirent *entry; dir && empty && (entry = readdir(dir));)
        empty = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
    if (dir)
        (void)closedir(dir);
    return empty;
}

static int write_manifest(const struct bundle *bundle, struct err *err)
{
    CLEANUP(mem_free) char *path = bundle_path(bundle, "manifest.json");
    CLEANUP(buf_done) struct buf text = {0};
    CLEANUP(json_free) json_t *manifest = json_object();

    json_object_set(manifest, "files", bundle->files);
    json_object_set_new(manifest, "format", json_string("vitro-bundle"));
    json_object_set_new(manifest, "version", json_integer(BUNDLE_VERSION));
    json_add_canonical(&text, manifest);
    buf_addc(&text, '\n');
    return file_write(path, text.data, text.length, err);
}

int bundle_create(const char *path, struct bundle **ret, struct err *err)
{
    CLEANUP(bundle_free) struct bundle *bundle = mem_alloc(sizeof *bundle);

    bundle->path = mem_dup(path);
    bundle->files = json_object();
    int r = dir_make_all(path, err);
    if (r < 0)
        return r;
    if (!is_empty(path)) {
        err_set(err, -EEXIST, "create bundle '%s': the directory is not empty", path);
        return err_hint(err, "choose another directory, or remove it first");
    }
    r = write_manifest(bundle, err);
    if (r < 0)
        return r;
    *ret = take_ptr(&bundle);
    return 0;
}

static int check_manifest(const char *path, const json_t *manifest, struct err *err)
{
    const char *format = json_string_value(json_object_get(manifest, "format"));
    json_t *version = json_object_get(manifest, "version");

    if (!format || strcmp(format, "vitro-bundle") != 0 || !json_is_integer(version) ||
        !json_is_object(json_object_get(manifest, "files")))
        return err_set(err, -EBADMSG, "%s: not the manifest of a bundle", path);
    if (json_integer_value(version) > BUNDLE_VERSION)
        return err_set(err, -EPROTO, "%s: bundle version %lld, but this vitro reads up to %d", path,
                       (long long)json_integer_value(version), BUNDLE_VERSION);
    return 0;
}

int bundle_open(const char *path, struct bundle **ret, struct err *err)
{
    CLEANUP(mem_free) char *manifest_path = mem_format("%s/manifest.json", path);
    CLEANUP(buf_done) struct buf text = {0};
    CLEANUP(json_free) json_t *manifest = NULL;
    int r = file_read(manifest_path, 1 << 20, &text, err);

    if (r == 0)
        r = json_parse(buf_text(&text), text.length, manifest_path, &manifest, err);
    if (r == 0)
        r = check_manifest(manifest_path, manifest, err);
    if (r < 0)
        return err_wrap(err, "open bundle '%s'", path);
    struct bundle *bundle = mem_alloc(sizeof *bundle);
    bundle->path = mem_dup(path);
    bundle->files = json_incref(json_object_get(manifest, "files"));
    *ret = bundle;
    return 0;
}

int bundle_add(struct bundle *bundle, const char *name, const char *role, struct err *err)
{
    if (!*name || *name == '.' || strchr(name, '/'))
        return err_set(err, -EINVAL, "add '%s' to bundle '%s': not a plain file name", name,
                       bundle->path);
    json_object_set_new(bundle->files, name, json_string(role));
    return write_manifest(bundle, err);
}
