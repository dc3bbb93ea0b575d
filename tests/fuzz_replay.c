/* SPDX-License-Identifier: MIT */
/* The main of a fuzz target where no fuzzer drives it: feeds it each file of a corpus directory, in
 * the order of their names, and prints TAP. `make fuzz` links the same targets with libFuzzer. */
#include "base/fd.h"
#include <dirent.h>
#include <stdio.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

int main(int argc, char **argv)
{
    struct dirent **names;

    if (argc != 2)
        return fprintf(stderr, "usage: %s CORPUS\n", argv[0]), 2;
    int count = scandir(argv[1], &names, visible, alphasort);
    if (count <= 0)
        return printf("1..1\nnot ok 1 - no corpus in %s\n", argv[1]), 1;
    printf("1..%d\n", count);
    for (int i = 0; i < count; i++) {
        CLEANUP(mem_free) char *path = mem_format("%s/%s", argv[1], names[i]->d_name);
        CLEANUP(buf_done) struct buf buf = {0};
        struct err err = {0};
        if (file_read(path, 64 << 20, &buf, &err) < 0)
            return printf("not ok %d - %s\n", i + 1, err.text), 1;
        /* A copy of its exact size, so that a sanitizer sees a read behind the end. */
        CLEANUP(mem_free) char *exact = malloc(buf.length ? buf.length : 1);
        if (exact && buf.length)
            memcpy(exact, buf.data, buf.length);
        (void)LLVMFuzzerTestOneInput((const uint8_t *)exact, buf.length);
        printf("ok %d - %s\n", i + 1, names[i]->d_name);
        free(names[i]);
    }
    free(names);
    return 0;
}
