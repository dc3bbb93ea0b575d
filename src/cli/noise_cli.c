/* SPDX-License-Identifier: MIT */
#include "cli/noise_cli.h"

int noise_cli_read(const struct cli_args *args, struct noise *noise, struct err *err)
{
    const char *const *values;
    size_t count = cli_values(args, "ignore", &values);
    int r = 0;

    for (size_t i = 0; r == 0 && i < count; i++)
        r = noise_add(noise, values[i], err);
    count = cli_values(args, "rules", &values);
    for (size_t i = 0; r == 0 && i < count; i++)
        r = noise_add_file(noise, values[i], err);
    return r;
}
