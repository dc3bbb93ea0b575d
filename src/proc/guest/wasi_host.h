/* SPDX-License-Identifier: MIT */
/* wasi_host: WASI preview 1 over POSIX, for a module that wasm2c made into C.
 *
 * These files become an archive inside vitro (wasi_image.S), are linked with each module by
 * src/proc/wasi_build.c, and run as an ordinary program in the box: what is virtual there (clock,
 * chance, files, waits) is virtual here without a line about it. They stand alone: POSIX and this
 * header.
 *
 * Every function takes what the module passed, checks each address against its memory, and returns
 * a WASI errno. An address outside is EFAULT (21), never a crash. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

/* Made with each module (wasi_glue.c). */
uint8_t *wasi_memory(uint64_t *ret_size);

/* Called by the made main. */
void wasi_begin(int argc, char **argv);
_Noreturn void wasi_trap(int code); /* as wasm-rt counts them */
extern uint64_t wasi_steps_left;
_Noreturn void wasi_out_of_steps(void);
uint64_t wasi_memory_pages_max(void); /* 65536 without a limit */

/* ---- inside */

enum wasi_errno {
    WASI_OK = 0,
    WASI_ACCES = 2,
    WASI_AGAIN = 6,
    WASI_BADF = 8,
    WASI_EXIST = 20,
    WASI_FAULT = 21,
    WASI_FBIG = 22,
    WASI_ILSEQ = 25,
    WASI_INTR = 27,
    WASI_INVAL = 28,
    WASI_IO = 29,
    WASI_ISDIR = 31,
    WASI_LOOP = 32,
    WASI_MFILE = 33,
    WASI_MLINK = 34,
    WASI_NAMETOOLONG = 37,
    WASI_NFILE = 41,
    WASI_NOENT = 44,
    WASI_NOMEM = 48,
    WASI_NOSPC = 51,
    WASI_NOSYS = 52,
    WASI_NOTCONN = 53,
    WASI_NOTDIR = 54,
    WASI_NOTEMPTY = 55,
    WASI_NOTSOCK = 57,
    WASI_NOTSUP = 58,
    WASI_NXIO = 60,
    WASI_OVERFLOW = 61,
    WASI_PERM = 63,
    WASI_PIPE = 64,
    WASI_RANGE = 68,
    WASI_ROFS = 69,
    WASI_SPIPE = 70,
    WASI_TXTBSY = 74,
    WASI_XDEV = 75,
    WASI_NOTCAPABLE = 76,
};
uint32_t wasi_errno_of(int error); /* of an errno; for 0 WASI_OK */
uint32_t wasi_last(int result);    /* errno's, if result is below 0 */

void *wasi_at(uint32_t address, uint64_t size); /* NULL: outside of the memory */
bool wasi_put32(uint32_t address, uint32_t value);
bool wasi_put64(uint32_t address, uint64_t value);

struct wasi_fd {
    int host;            /* -1: free */
    uint8_t type;        /* WASI filetype */
    const char *preopen; /* its name, for directories given from outside; NULL: none */
    bool append;
};
enum {
    WASI_DIRECTORY = 3,
    WASI_CHARACTER = 2,
    WASI_REGULAR = 4,
    WASI_STREAM = 6,
    WASI_SYMLINK = 7
};
struct wasi_fd *wasi_fd_get(uint32_t fd); /* NULL: not open */
uint32_t wasi_fd_add(int host, uint8_t type, const char *preopen, uint32_t *ret); /* takes host */
uint8_t wasi_type_of(unsigned mode);
struct stat;
uint32_t wasi_put_stat(uint32_t address, const struct stat *st);
/* As utimensat wants them; false when a time is both given and now. */
bool wasi_times(uint64_t accessed, uint64_t modified, uint32_t flags, struct timespec ret[2]);
