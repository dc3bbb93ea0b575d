/* SPDX-License-Identifier: MIT */
/* include/vitro/child.h: what is asked of a program goes to whoever started it. */
#include "host/host_internal.h"
#include <errno.h>

static int no_processes(struct vitro_host_error *error)
{
    return err_set(host_err(error), -EINVAL,
                   "start a program: this host has no process sub-handle");
}

static int no_program(struct vitro_host_error *error)
{
    return err_set(host_err(error), -EINVAL, "start a program: a call needs a program");
}

static bool is_call(const struct vitro_process_call *call)
{
    return call && call->argv && call->argv[0] && *call->argv[0];
}

int vitro_process_finish(struct vitro_processes *processes, const struct vitro_process_call *call,
                         struct vitro_process_result *ret, struct vitro_host_error *error)
{
    *ret = (struct vitro_process_result){0};
    if (!processes)
        return no_processes(error);
    return is_call(call) ? processes->ops->run(processes, call, ret, error) : no_program(error);
}

int vitro_process_spawn(struct vitro_processes *processes, const struct vitro_process_call *call,
                        vitro_child **ret, struct vitro_host_error *error)
{
    *ret = NULL;
    if (!processes)
        return no_processes(error);
    return is_call(call) ? processes->ops->spawn(processes, call, ret, error) : no_program(error);
}

int vitro_child_pid(vitro_child *child)
{
    return child->ops->pid(child);
}

int vitro_child_group(vitro_child *child)
{
    return child->ops->group(child);
}

int vitro_child_write(vitro_child *child, const void *bytes, size_t length,
                      struct vitro_host_error *error)
{
    return child->ops->write(child, bytes, length, error);
}

int vitro_child_close_input(vitro_child *child)
{
    return child->ops->close_input(child);
}

int64_t vitro_child_read(vitro_child *child, int stream, void *bytes, size_t size,
                         int64_t timeout_ns, struct vitro_host_error *error)
{
    if (stream != 1 && stream != 2)
        return err_set(host_err(error), -EINVAL, "read stream %d of a program: 1 or 2", stream);
    return child->ops->read(child, stream, bytes, size, timeout_ns, error);
}

int vitro_child_wait(vitro_child *child, int64_t timeout_ns, struct vitro_child_end *ret,
                     struct vitro_host_error *error)
{
    return child->ops->wait(child, timeout_ns, ret, error);
}

int vitro_child_signal(vitro_child *child, int signal, struct vitro_host_error *error)
{
    return child->ops->signal(child, signal, error);
}

int vitro_child_kill(vitro_child *child, struct vitro_host_error *error)
{
    return child->ops->kill(child, error);
}

void vitro_child_interrupt(vitro_child *child)
{
    child->ops->interrupt(child);
}

int vitro_child_cleanup(vitro_child *child, char **ret_report, struct vitro_host_error *error)
{
    return child->ops->cleanup(child, ret_report, error);
}

void vitro_child_free(vitro_child *child)
{
    if (child)
        child->ops->free(child);
}
