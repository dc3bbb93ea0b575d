/* SPDX-License-Identifier: MIT */
#include "cli/cmd_tape.h"
#include "base/json.h"
#include "tape/bundle.h"
#include <stdio.h>

char *cmd_tape_operand(const struct cli_args *args, size_t index)
{
    const char *const *operands;

    (void)cli_operands(args, &operands);
    return tape_path_resolve(operands[index]);
}

int cmd_tape_store(const struct cli_args *args, const char *tape_path, bool has_url, bool read_only,
                   struct store **ret, struct err *err)
{
    CLEANUP(mem_free) char *path = store_path_of(tape_path);

    return store_open(&(struct store_options){.path = path,
                                              .url = has_url ? cli_value(args, "store") : NULL,
                                              .read_only = read_only},
                      ret, err);
}

void cmd_print(const struct buf *text)
{
    (void)fwrite(buf_text(text), 1, text->length, stdout);
}

void cmd_print_json(json_t *value)
{
    CLEANUP(buf_done) struct buf text = {0};

    json_add_canonical(&text, value);
    buf_addc(&text, '\n');
    cmd_print(&text);
    json_decref(value);
}
