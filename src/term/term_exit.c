/* SPDX-License-Identifier: MIT */
/* term_exit: how a program ends. */
#include "term/term_internal.h"
#include <errno.h>
#include <string.h>
#include <sys/wait.h>

static int check_ended(vitro_term *t, void *arg, bool settled)
{
    (void)arg, (void)settled;
    return t->ended;
}

int vitro_term_exit(vitro_term *t, uint64_t within_ns, uint64_t ceiling_ns, int *ret_code,
                    struct vitro_box_findings *ret)
{
    if (!t)
        return -EINVAL;
    struct term_wait wait = term_wait_begin(t, within_ns, ceiling_ns);
    int r = drive_until(t, &wait, false, check_ended, NULL, "the end of the program");

    if (r < 0)
        return r;
    if (ret_code)
        *ret_code = t->exit_code;
    if (ret)
        *ret = t->findings;
    return 0;
}

static void add_how(const vitro_term *t, struct buf *text)
{
    int status = t->findings.wait_status;
    const char *subprocesses = t->findings.subprocesses ? t->findings.subprocesses : "";

    if (t->findings.outcome == VITRO_BOX_EXITED && WIFSIGNALED(status))
        buf_addf(text, "it died of signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
    else if (t->findings.outcome == VITRO_BOX_EXITED && *subprocesses && t->exit_code == 122)
        buf_addf(text, "it exited with %d, and its subprocesses are not as recorded (%d): %.2000s",
                 WEXITSTATUS(status), t->exit_code, subprocesses);
    else if (t->findings.outcome == VITRO_BOX_EXITED && WEXITSTATUS(status) == t->exit_code)
        buf_addf(text, "it exited with %d", t->exit_code);
    else if (t->findings.leak_count)
        buf_addf(text, "it exited with %d, and leaked: %s, by %s (%d)", WEXITSTATUS(status),
                 t->findings.leaks[0].capability, t->findings.leaks[0].process, t->exit_code);
    else
        buf_addf(text, "%.150s (%d)", t->findings.text, t->exit_code);
}

int vitro_term_expect_exit(vitro_term *t, int code, uint64_t within_ns)
{
    if (!t)
        return -EINVAL;
    struct term_wait wait = term_wait_begin(t, within_ns, 0);
    CLEANUP(buf_done) struct buf how = {0};
    int r = vitro_term_exit(t, within_ns, 0, NULL, NULL);

    if (r < 0 || t->exit_code == code)
        return r;
    add_how(t, &how);
    return term_fail(t, VITRO_TERM_WRONG, -EPROTO, &wait, "an exit with %d: %s", code,
                     buf_text(&how));
}
