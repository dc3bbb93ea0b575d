/* SPDX-License-Identifier: MIT */
#include "box/box_internal.h"
int control_open(struct box *box, struct err *err)
{
    (void)box;
    (void)err;
    return 0;
}
void control_serve(struct box *box, int fd)
{
    (void)box;
    (void)fd;
}
bool control_idle(struct box *box, struct deadline *next)
{
    (void)box;
    (void)next;
    return false;
}
