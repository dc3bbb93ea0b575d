/* SPDX-License-Identifier: MIT */
#include "proc/wasi_glue.h"
#include "base/text.h"
#include <errno.h>
#include <string.h>

static const char *const calls[] = {
    "args_get",
    "args_sizes_get",
    "clock_res_get",
    "clock_time_get",
    "environ_get",
    "environ_sizes_get",
    "fd_advise",
    "fd_allocate",
    "fd_close",
    "fd_datasync",
    "fd_fdstat_get",
    "fd_fdstat_set_flags",
    "fd_fdstat_set_rights",
    "fd_filestat_get",
    "fd_filestat_set_size",
    "fd_filestat_set_times",
    "fd_pread",
    "fd_prestat_dir_name",
    "fd_prestat_get",
    "fd_pwrite",
    "fd_read",
    "fd_readdir",
    "fd_renumber",
    "fd_seek",
    "fd_sync",
    "fd_tell",
    "fd_write",
    "path_create_directory",
    "path_filestat_get",
    "path_filestat_set_times",
    "path_link",
    "path_open",
    "path_readlink",
    "path_remove_directory",
    "path_rename",
    "path_symlink",
    "path_unlink_file",
    "poll_oneoff",
    "proc_exit",
    "proc_raise",
    "random_get",
    "sched_yield",
    "sock_accept",
    "sock_recv",
    "sock_send",
    "sock_shutdown",
};

struct glue {
    struct buf code;          /* a function for each import */
    char *instance;           /* the type of the module's instance */
    char *memory, *start;     /* functions: its memory, its beginning */
    char *instantiate, *init; /* functions; init may be NULL */
    size_t modules;           /* that instantiate wants instances of */
};

static void glue_done(struct glue *glue)
{
    buf_done(&glue->code);
    free(glue->instance);
    free(glue->memory);
    free(glue->start);
    free(glue->instantiate);
    free(glue->init);
}

/* "TYPE NAME(A, B);": the name, and what stands between the parentheses. */
static bool split(const char *line, size_t length, char **ret_type, char **ret_name,
                  char **ret_args)
{
    const char *open = memchr(line, '(', length), *end = open;

    if (!open)
        return false;
    while (end < line + length && *end != ')')
        end++;
    const char *name = open;
    while (name > line && name[-1] != ' ' && name[-1] != '*')
        name--;
    if (name == line || end == line + length)
        return false;
    *ret_type = mem_dupn(line, (size_t)(name - line));
    *ret_name = mem_dupn(name, (size_t)(open - name));
    *ret_args = mem_dupn(open + 1, (size_t)(end - open) - 1);
    return true;
}

static bool is_known(const char *name)
{
    for (size_t i = 0; i < ARRAY_LENGTH(calls); i++)
        if (strcmp(calls[i], name) == 0)
            return true;
    return false;
}

/* 'A' 'B' of a comment. */
static bool quoted(const char *line, size_t length, char **ret_a, char **ret_b)
{
    const char *at[4], *from = line;

    for (int i = 0; i < 4; i++) {
        at[i] = memchr(from, '\'', (size_t)(line + length - from));
        if (!at[i] && i == 2) { /* an export has one name */
            *ret_a = mem_dupn(at[0] + 1, (size_t)(at[1] - at[0]) - 1);
            *ret_b = mem_dup("");
            return true;
        }
        if (!at[i])
            return false;
        from = at[i] + 1;
    }
    *ret_a = mem_dupn(at[0] + 1, (size_t)(at[1] - at[0]) - 1);
    *ret_b = mem_dupn(at[2] + 1, (size_t)(at[3] - at[2]) - 1);
    return true;
}

static int add_import(struct glue *glue, const char *module, const char *call, const char *line,
                      size_t length, struct err *err)
{
    CLEANUP(mem_free) char *type = NULL;
    CLEANUP(mem_free) char *name = NULL;
    CLEANUP(mem_free) char *args = NULL;

    bool ours = strcmp(module, "wasi_snapshot_preview1") == 0;
    if (!ours || !is_known(call) || !split(line, length, &type, &name, &args))
        return err_set(
            err, -ENOTSUP,
            "it imports '%s' of '%s', which WASI preview 1 does not have\nhint: build it "
            "for wasm32-wasi (preview 1), as a command",
            call, module);
    buf_addf(&glue->code, "%s%s(", type, name);
    size_t count = 0;
    const char *at = args;
    for (; *at; count++) {
        size_t piece = strcspn(at, ",");
        buf_addf(&glue->code, "%s%.*s a%zu", count ? ", " : "", (int)piece, at, count);
        at += piece + (at[piece] == ',');
    }
    bool gives = !text_starts(type, "void");
    buf_addf(&glue->code, ")\n{\n    (void)a0;\n    %swasi_%s(", gives ? "return " : "", call);
    for (size_t i = 1; i < count; i++)
        buf_addf(&glue->code, "%sa%zu", i > 1 ? ", " : "", i);
    buf_adds(&glue->code, ");\n}\n");
    return 0;
}

static void set(char **field, char **value)
{
    free(*field);
    *field = take_ptr(value);
}

static void add_function(struct glue *glue, const char *line, size_t length)
{
    CLEANUP(mem_free) char *type = NULL;
    CLEANUP(mem_free) char *name = NULL;
    CLEANUP(mem_free) char *args = NULL;

    if (!split(line, length, &type, &name, &args))
        return;
    if (text_ends(name, "_init_module")) {
        set(&glue->init, &name);
    } else if (text_ends(name, "_instantiate")) {
        size_t first = strcspn(args, "*");
        glue->modules = 0;
        for (const char *at = args; *at; at++)
            glue->modules += *at == ',';
        free(glue->instance);
        glue->instance = mem_dupn(args, first);
        set(&glue->instantiate, &name);
    }
}

static void add_export(struct glue *glue, const char *export, const char *line, size_t length)
{
    CLEANUP(mem_free) char *type = NULL;
    CLEANUP(mem_free) char *name = NULL;
    CLEANUP(mem_free) char *args = NULL;

    if (!split(line, length, &type, &name, &args))
        return;
    if (strcmp(export, "memory") == 0)
        set(&glue->memory, &name);
    else if (strcmp(export, "_start") == 0)
        set(&glue->start, &name);
}

static int read_header(struct glue *glue, const char *header, struct err *err)
{
    for (const char *line = header; *line;) {
        size_t length = strcspn(line, "\n");
        const char *next = line + length + (line[length] == '\n');
        size_t next_length = strcspn(next, "\n");
        CLEANUP(mem_free) char *a = NULL;
        CLEANUP(mem_free) char *b = NULL;
        int r = 0;
        if (text_starts(line, "/* import: ") && quoted(line, length, &a, &b))
            r = add_import(glue, a, b, next, next_length, err);
        else if (text_starts(line, "/* export: ") && quoted(line, length, &a, &b))
            add_export(glue, a, next, next_length);
        else if (text_starts(line, "void "))
            add_function(glue, line, length);
        if (r < 0)
            return r;
        line = next;
    }
    return 0;
}

static void write_glue(const struct glue *glue, struct buf *ret)
{
    buf_addf(ret,
             "#include \"guest.h\"\n#include \"wasi_calls.h\"\n#include \"wasi_host.h\"\n"
             "#include <stdio.h>\n"
             "static %s instance;\n"
             "uint8_t *wasi_memory(uint64_t *ret_size)\n{\n"
             "    wasm_rt_memory_t *memory = %s(&instance);\n"
             "    *ret_size = memory->size;\n    return memory->data;\n}\n"
             "typedef __typeof__(wasm_rt_grow_memory((wasm_rt_memory_t *)0, 0)) pages_type;\n"
             "pages_type __real_wasm_rt_grow_memory(wasm_rt_memory_t *memory, pages_type more);\n"
             "pages_type __wrap_wasm_rt_grow_memory(wasm_rt_memory_t *memory, pages_type more)\n{\n"
             "    if ((uint64_t)memory->pages + more > wasi_memory_pages_max())\n"
             "        return (pages_type)-1;\n"
             "    return __real_wasm_rt_grow_memory(memory, more);\n}\n",
             glue->instance, glue->memory);
    buf_add(ret, buf_text(&glue->code), glue->code.length);
    buf_addf(ret, "int main(int argc, char **argv)\n{\n    wasm_rt_init();\n");
    if (glue->init)
        buf_addf(ret, "    %s();\n", glue->init);
    buf_addf(ret, "    wasi_begin(argc, argv);\n    %s(&instance", glue->instantiate);
    for (size_t i = 0; i < glue->modules; i++)
        buf_adds(ret, ", NULL");
    buf_addf(ret,
             ");\n    if (%s(&instance)->pages > wasi_memory_pages_max()) {\n"
             "        fprintf(stderr, \"wasi trap: memory limit reached (--wasi-memory)\\n\");\n"
             "        return 134;\n    }\n    %s(&instance);\n    return 0;\n}\n",
             glue->memory, glue->start);
}

int wasi_glue(const char *header, struct buf *ret, struct err *err)
{
    struct glue glue = {0};
    int r = read_header(&glue, header, err);

    if (r == 0 && !glue.start)
        r = err_set(err, -ENOTSUP,
                    "it has no '_start'\nhint: build it as a command, not as a library (reactor)");
    if (r == 0 && !glue.memory)
        r = err_set(err, -ENOTSUP, "it does not export its memory");
    if (r == 0 && !glue.instantiate)
        r = err_set(err, -ENOTSUP,
                    "wasm2c made nothing that can be started; its version is too new");
    if (r == 0)
        write_glue(&glue, ret);
    glue_done(&glue);
    return r;
}
