/* SPDX-License-Identifier: MIT */
/* exec_killed: a program that is killed at any moment of its exec is gone, and its parent hears of
it. RACES: how far each had come is up to the kernel, and so is the tape EXPECT killed at any
moment: 40 of 40
*/
#include "guest.h"
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int ended = 0;

    if (argc > 1)
        for (;;)
            pause();
    for (int i = 0; i < 40; i++) {
        int ends[2], status = 0;
        char byte;
        if (pipe(ends) < 0)
            return 1;
        pid_t child = fork();
        if (child == 0) {
            close(ends[0]);
            if (write(ends[1], "", 1) == 1)
                execl(argv[0], argv[0], "wait", (char *)NULL);
            _exit(99);
        }
        close(ends[1]);
        (void)!read(ends[0], &byte, 1);
        for (volatile int spin = 0; spin < i * 2000; spin++)
            ;
        kill(child, SIGKILL);
        waitpid(child, &status, 0);
        ended += WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
        close(ends[0]);
    }
    printf("killed at any moment: %d of 40\n", ended);
    return 0;
}
