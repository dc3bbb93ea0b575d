/* SPDX-License-Identifier: MIT */
/* audit: what of the real world a guest could still see. */
#include "box/box_internal.h"
#include "base/trace.h"
#include <stdio.h>
#include <string.h>

void leak_add(struct box *box, const struct process *process, const char *capability)
{
    struct box_findings *findings = box->findings;

    trace(TRACE_BOX, "leak %s by %s", capability, process ? process->path : "?");
    for (size_t i = 0; i < findings->leak_count; i++)
        if (strcmp(findings->leaks[i].capability, capability) == 0) {
            findings->leaks[i].count++;
            return;
        }
    if (findings->leak_count == BOX_LEAKS_MAX)
        return;
    tape_event(box, process, 1, TAPE_LEAK, "\"capability\":\"%s\"", capability);
    struct box_leak *leak = &findings->leaks[findings->leak_count++];
    leak->count = 1;
    (void)snprintf(leak->capability, sizeof leak->capability, "%s", capability);
    (void)snprintf(leak->process, sizeof leak->process, "%s%s%s%s", process ? process->path : "",
                   process ? " (" : "", process ? process->program : "", process ? ")" : "");
}

void leak_note(struct box *box, const char *format, ...)
{
    struct box_findings *findings = box->findings;
    size_t used = strlen(findings->notes);
    va_list args;

    va_start(args, format);
    if (used + 2 < sizeof findings->notes) {
        char *at = findings->notes + used;
        size_t room = sizeof findings->notes - used - 2;
        (void)vsnprintf(at, room, format, args);
        bool known = used >= strlen(at) && memmem(findings->notes, used, at, strlen(at));
        if (known)
            *at = '\0';
        else
            (void)snprintf(at + strlen(at), 2, "\n");
    }
    va_end(args);
}
