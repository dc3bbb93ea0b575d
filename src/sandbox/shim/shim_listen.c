/* SPDX-License-Identifier: MIT */
/* Listening to a program that a call was passed to: its bytes go on as they come, and are kept with
 * the moments at which they came, for a cassette. */
#include "sandbox/shim/shim_guest.h"
#include "base/fd.h"
#include <errno.h>
#include <poll.h>
#include <unistd.h>

enum { HEARD_MAX = 64 << 20 };

json_t *shim_listen(const int pipes[2])
{
    CLEANUP(buf_done) struct buf out = {0};
    CLEANUP(buf_done) struct buf error = {0};
    struct buf *const texts[] = {&out, &error};
    struct pollfd wait[2] = {{.fd = pipes[0], .events = POLLIN},
                             {.fd = pipes[1], .events = POLLIN}};
    json_int_t start = shim_now_ns();
    json_t *events = json_array();

    while (wait[0].fd >= 0 || wait[1].fd >= 0) {
        if (poll(wait, 2, -1) < 0 && errno != EINTR)
            break;
        for (int i = 0; i < 2; i++) {
            char bytes[65536];
            if (wait[i].fd < 0 || !wait[i].revents)
                continue;
            ssize_t length = read(wait[i].fd, bytes, sizeof bytes);
            if (length <= 0) {
                (void)close(wait[i].fd);
                wait[i].fd = -1;
                continue;
            }
            (void)fd_write_full(i + 1, bytes, (size_t)length);
            if (texts[i]->length + (size_t)length > HEARD_MAX)
                continue;
            buf_add(texts[i], bytes, (size_t)length);
            json_array_append_new(
                events, json_pack("[i, I, I]", i + 1, (json_int_t)length, shim_now_ns() - start));
        }
    }
    return json_pack("{s:o, s:o, s:o, s:I}", "stdout",
                     shim_bytes_to_json(buf_text(&out), out.length), "stderr",
                     shim_bytes_to_json(buf_text(&error), error.length), "events", events,
                     "duration_ns", shim_now_ns() - start);
}
