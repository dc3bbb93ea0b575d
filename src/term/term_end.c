/* SPDX-License-Identifier: MIT */
/* term_end: the end of a session, and what it leaves behind: a cast, and a bundle whose tape is
 * closed. */
#include "term/term_internal.h"
#include "term/plain.h"
#include "base/fd.h"
#include "base/when.h"
#include <errno.h>
#include <poll.h>
#include <signal.h>

/* A tape is whole when its program has ended: it is told, as by a terminal that goes away. */
static int hang_up(vitro_term *t, struct err *err)
{
    if (!t->ended)
        (void)vitro_term_signal(t, SIGHUP);
    if (!t->ended && vitro_term_exit(t, 0, 5 * NS_PER_SEC, NULL, NULL) < 0) {
        (void)err_set(err, -ECANCELED,
                      "the program did not end when its terminal was hung up: the tape of its "
                      "bundle is not closed");
        return err_hint(err, "let the program end before the session is closed");
    }
    return 0;
}

static int leave(vitro_term *t, struct err *err)
{
    size_t length;
    int r = t->records ? hang_up(t, err) : 0;

    if (!t->cast_path)
        return r;
    CLEANUP(mem_free) char *cast = vitro_term_cast(t, t->cast_version, &length);
    int written = cast ? file_write(t->cast_path, cast, length, r < 0 ? NULL : err) : -EINVAL;
    return r < 0 ? r : written;
}

static void end(vitro_term *t)
{
    if (t->box)
        vitro_box_free(t->box);
    if (t->init_fd >= 0) /* the last of the box: it goes when nobody else is left */
        (void)poll(&(struct pollfd){.fd = t->init_fd, .events = POLLIN}, 1, 10000);
    fd_close(t->init_fd);
    if (t->plain)
        plain_stop(t->plain);
    fd_close(t->master);
    fd_close(t->slave);
    fd_close(t->socket);
    screen_free(t->screen);
    log_done(&t->log);
    words_done(&t->words);
    buf_done(&t->failure_summary);
    buf_done(&t->failure_text);
    free(t->cast_path);
    free(t);
}

int vitro_term_end(vitro_term *t, struct vitro_box_error *error)
{
    int r = t && t->opened ? leave(t, (struct err *)error) : 0;

    if (t)
        end(t);
    return r;
}

void vitro_term_close(vitro_term *t)
{
    (void)vitro_term_end(t, NULL);
}
