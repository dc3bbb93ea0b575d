/* SPDX-License-Identifier: MIT */
/* Makes programs of modules, and keeps them. */
#include "proc/wasi.h"
#include "proc/wasi_glue.h"
#include "base/fd.h"
#include "base/hash.h"
#include "base/scratch.h"
#include "base/text.h"
#include "base/tool.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

extern const char wasi_image[], wasi_image_end[], wasi_image_host[], wasi_image_host_end[],
    wasi_image_calls[], wasi_image_calls_end[];

enum { MODULE_MAX = 1 << 28, OUTPUT_MAX = 1 << 20 };

struct wasi_build {
    const struct wasi_options *options;
    char *cache;        /* owned */
    struct buf version; /* of wabt */
    char *runtime;      /* owned; the directory of wasm-rt-impl.c */
};

static void build_done(struct wasi_build *build)
{
    free(build->cache);
    free(build->runtime);
    buf_done(&build->version);
}

/* ---- tools */

/* -ENOENT when it is not there, -EREMOTEIO when it fails. */
static int run_tool(const char *const *argv, const char *directory, struct buf *output)
{
    int status = 0;
    int r = tool_run(argv, directory, output, &status);

    return r < 0 ? r : status ? -EREMOTEIO : 0;
}

static int tool_failed(int r, const char *const *argv, const struct buf *output,
                       const char *package, struct err *err)
{
    if (r == -ENOENT) {
        err_set(err, -ENOENT, "start '%s': there is no such program", argv[0]);
        return err_hint(err, "apt install %s", package);
    }
    size_t shown = output->length < 600 ? output->length : 600;
    return err_set(err, -EREMOTEIO, "'%s' failed: %.*s", argv[0], (int)shown, buf_text(output));
}

static int find_wabt(struct wasi_build *build, struct err *err)
{
    static const char *const places[] = {"/usr/share/wabt/wasm2c", "/usr/local/share/wabt/wasm2c"};
    const char *const argv[] = {"wasm2c", "--version", NULL};
    int r = run_tool(argv, NULL, &build->version);

    if (r < 0)
        return tool_failed(r, argv, &build->version, "wabt", err);
    for (size_t i = 0; i < ARRAY_LENGTH(places) && !build->runtime; i++) {
        CLEANUP(mem_free) char *file = mem_format("%s/wasm-rt-impl.c", places[i]);
        if (file_exists(file))
            build->runtime = mem_dup(places[i]);
    }
    if (!build->runtime) {
        err_set(err, -ENOENT, "wasm2c is there, but its runtime wasm-rt-impl.c is not");
        return err_hint(err, "apt install wabt");
    }
    return 0;
}

/* ---- one module */

static int check_module(const struct buf *module, struct err *err)
{
    if (module->length < 8 || memcmp(module->data, "\0asm", 4) != 0)
        return err_set(err, -EBADMSG, "it is no WebAssembly module");
    if (memcmp(module->data + 4, "\1\0\0\0", 4) != 0) {
        err_set(err, -ENOTSUP, "it is a component or of another version of WebAssembly");
        return err_hint(err, "build it for wasm32-wasi, preview 1");
    }
    return 0;
}

static struct hash_text key_of(const struct wasi_build *build, const struct buf *module)
{
    struct hash_state *state = hash_begin();
    const char *flags = build->options->steps ? "steps" : "";

    hash_add(state, module->data, module->length);
    hash_add(state, buf_text(&build->version), build->version.length);
    hash_add(state, wasi_image, (size_t)(wasi_image_end - wasi_image));
    hash_add(state, flags, strlen(flags) + 1);
    struct hash hash = hash_end(state);
    return hash_to_text(&hash);
}

static int put_file(const char *directory, const char *name, const char *bytes, size_t length,
                    struct err *err)
{
    CLEANUP(mem_free) char *path = mem_format("%s/%s", directory, name);
    CLEANUP(fd_close) int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    int r = fd < 0 ? -errno : fd_write_full(fd, bytes, length);

    return r < 0 ? err_set(err, r, "write '%s': %s", path, strerror(-r)) : 0;
}

/* A step is a call or a branch. */
static int count_steps(const char *work, struct err *err)
{
    static const char mark[] = "  FUNC_PROLOGUE;";
    CLEANUP(mem_free) char *path = mem_format("%s/guest.c", work);
    CLEANUP(buf_done) struct buf code = {0};
    CLEANUP(buf_done) struct buf counted = {0};
    int r = file_read(path, SIZE_MAX / 2, &code, err);

    if (r < 0)
        return r;
    buf_adds(&counted, "#include \"wasi_host.h\"\n#define STEP (wasi_steps_left-- ? (void)0 : "
                       "wasi_out_of_steps())\n#define goto STEP; goto\n");
    const char *from = buf_text(&code), *at;
    while ((at = strstr(from, mark))) {
        at += sizeof mark - 1;
        buf_add(&counted, from, (size_t)(at - from));
        buf_adds(&counted, " STEP;");
        from = at;
    }
    buf_adds(&counted, from);
    return put_file(work, "guest.c", counted.data, counted.length, err);
}

static int compile(const struct wasi_build *build, const char *work, const char *module,
                   struct err *err)
{
    const char *const to_c[] = {"wasm2c", "-n", "guest", "-o", "guest.c", module, NULL};
    CLEANUP(mem_free) char *runtime = mem_format("%s/wasm-rt-impl.c", build->runtime);
    CLEANUP(mem_free) char *include = mem_format("-I%s", build->runtime);
    CLEANUP(mem_free) char *header_path = mem_format("%s/guest.h", work);
    const char *const to_program[] = {"cc",
                                      "-O1",
                                      "-w",
                                      "-std=gnu17",
                                      "-I.",
                                      include,
                                      "-DWASM_RT_TRAP_HANDLER=wasi_trap",
                                      "-Wl,--wrap=wasm_rt_grow_memory",
                                      "-o",
                                      "program",
                                      "guest.c",
                                      "glue.c",
                                      runtime,
                                      "wasi.a",
                                      "-lm",
                                      NULL};
    CLEANUP(buf_done) struct buf output = {0};
    CLEANUP(buf_done) struct buf header = {0};
    CLEANUP(buf_done) struct buf glue = {0};

    int r = run_tool(to_c, work, &output);
    if (r < 0)
        return tool_failed(r, to_c, &output, "wabt", err);
    r = file_read(header_path, OUTPUT_MAX, &header, err);
    if (r == 0)
        r = wasi_glue(buf_text(&header), &glue, err);
    if (r == 0)
        r = put_file(work, "glue.c", glue.data, glue.length, err);
    if (r == 0)
        r = put_file(work, "wasi.a", wasi_image, (size_t)(wasi_image_end - wasi_image), err);
    if (r == 0)
        r = put_file(work, "wasi_host.h", wasi_image_host,
                     (size_t)(wasi_image_host_end - wasi_image_host), err);
    if (r == 0)
        r = put_file(work, "wasi_calls.h", wasi_image_calls,
                     (size_t)(wasi_image_calls_end - wasi_image_calls), err);
    if (r == 0 && build->options->steps)
        r = count_steps(work, err);
    if (r < 0)
        return r;
    buf_clear(&output);
    r = run_tool(to_program, work, &output);
    return r < 0 ? tool_failed(r, to_program, &output, "gcc", err) : 0;
}

/* Makes the program if the cache has none; `ret_path` is where it is, relative to the cache. */
static int make(const struct wasi_build *build, const char *module_path, struct hash_text *ret_key,
                struct err *err)
{
    CLEANUP(buf_done) struct buf module = {0};
    int r = file_read(module_path, MODULE_MAX, &module, err);

    if (r == 0)
        r = check_module(&module, err);
    if (r < 0)
        return r;
    *ret_key = key_of(build, &module);
    CLEANUP(mem_free) char *program = mem_format("%s/%s", build->cache, ret_key->text);
    if (file_exists(program))
        return 0;
    struct scratch scratch = {0};
    if ((r = scratch_make(NULL, "wasi", &scratch, err)) < 0)
        return r;
    CLEANUP(mem_free) char *absolute = realpath(module_path, NULL);
    r = compile(build, scratch.path, absolute ? absolute : module_path, err);
    if (r == 0) { /* copied and renamed: half a program is never found under its name */
        CLEANUP(mem_free) char *made = mem_format("%s/program", scratch.path);
        CLEANUP(buf_done) struct buf bytes = {0};
        r = file_read(made, SIZE_MAX / 2, &bytes, err);
        CLEANUP(mem_free) char *half = mem_format("%s.%d", program, (int)getpid());
        const char *name = strrchr(half, '/') + 1;
        if (r == 0)
            r = put_file(build->cache, name, bytes.data, bytes.length, err);
        if (r == 0 && (chmod(half, 0755) < 0 || rename(half, program) < 0))
            r = err_set(err, -errno, "keep '%s': %m", program);
    }
    scratch_remove(&scratch);
    return r;
}

/* ---- all of them */

static int open_cache(struct wasi_build *build, struct err *err)
{
    const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");

    if (build->options->cache)
        build->cache = mem_dup(build->options->cache);
    else if (xdg && *xdg == '/')
        build->cache = mem_format("%s/vitro/wasi", xdg);
    else if (home && *home)
        build->cache = mem_format("%s/.cache/vitro/wasi", home);
    if (!build->cache) {
        err_set(err, -ENOENT, "there is no directory to keep made programs in");
        return err_hint(err, "set HOME or XDG_CACHE_HOME");
    }
    return dir_make_all(build->cache, err);
}

static int is_module(const struct dirent *entry)
{
    return entry->d_name[0] != '.' && strlen(entry->d_name) > 5 &&
           text_ends(entry->d_name, ".wasm");
}

/* A directory with a link for each name, named by what it holds. */
static int link_all(const struct wasi_build *build, const struct buf *list, char **ret,
                    struct err *err)
{
    struct hash hash = hash_of(buf_text(list), list->length);
    struct hash_text name = hash_to_text(&hash);
    CLEANUP(mem_free) char *directory = mem_format("%s/bin/%s", build->cache, name.text);
    int r = dir_make_all(directory, err);

    for (const char *at = buf_text(list); r == 0 && *at;) {
        size_t length = strcspn(at, "\n");
        const char *key = at + length - HASH_TEXT_LENGTH;
        CLEANUP(mem_free) char *link = mem_format("%s/%.*s", directory, (int)(key - at) - 1, at);
        CLEANUP(mem_free) char *target = mem_format("../../%.*s", HASH_TEXT_LENGTH, key);
        if (symlink(target, link) < 0 && errno != EEXIST)
            r = err_set(err, -errno, "make link '%s': %m", link);
        at += length + 1;
    }
    if (r == 0)
        *ret = take_ptr(&directory);
    return r;
}

static int make_all(struct wasi_build *build, char **ret_directory, struct err *err)
{
    const struct wasi_options *options = build->options;
    CLEANUP(buf_done) struct buf list = {0};
    struct dirent **entries = NULL;
    int count = scandir(options->directory, &entries, is_module, alphasort);
    int r = 0;

    if (count < 0)
        return err_set(err, -errno, "read '%s': %m", options->directory);
    for (int i = 0; i < count; i++) {
        const char *name = entries[i]->d_name;
        CLEANUP(mem_free) char *path = mem_format("%s/%s", options->directory, name);
        struct hash_text key;
        if (r == 0 && options->progress)
            options->progress(options->context, name, (size_t)i, (size_t)count);
        if (r == 0 && (r = make(build, path, &key, err)) < 0)
            (void)err_wrap(err, "make a program of '%s'", path);
        if (r == 0)
            buf_addf(&list, "%.*s %s\n", (int)strlen(name) - 5, name, key.text);
        free(entries[i]);
    }
    free(entries);
    if (r == 0 && options->progress)
        options->progress(options->context, NULL, (size_t)count, (size_t)count);
    return r < 0 ? r : link_all(build, &list, ret_directory, err);
}

int wasi_prepare(const struct wasi_options *options, char **ret_directory, struct err *err)
{
    struct wasi_build build = {.options = options};
    struct stat st;
    int r = 0;

    if (stat(options->directory, &st) < 0)
        r = err_set(err, -errno, "read '%s': %m", options->directory);
    else if (!S_ISDIR(st.st_mode))
        r = err_set(err, -ENOTDIR, "'%s' is no directory of modules", options->directory);
    if (r == 0)
        r = find_wabt(&build, err);
    if (r == 0)
        r = open_cache(&build, err);
    if (r == 0)
        r = make_all(&build, ret_directory, err);
    build_done(&build);
    return r;
}
