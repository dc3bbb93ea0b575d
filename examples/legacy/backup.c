/* SPDX-License-Identifier: MIT */
/* Old code, as it is found: it asks the system for the time, sleeps, rolls dice, calls programs,
 * keeps a lock file and a log, and knows nothing of tests. legacy_backup.c tests it, unchanged. */
#include "backup.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void note(const char *text)
{
    char stamp[32];
    time_t now = time(NULL);
    FILE *log = fopen("backup.log", "a");

    if (!log)
        return;
    strftime(stamp, sizeof stamp, "%Y-%m-%d %H:%M:%S", gmtime(&now));
    fprintf(log, "%s %s\n", stamp, text);
    fclose(log);
}

int backup_run(const char *host)
{
    char command[256];
    unsigned delay = 30;

    if (access("backup.lock", F_OK) == 0) {
        note("another backup is running");
        return -1;
    }
    fclose(fopen("backup.lock", "w"));
    srand((unsigned)time(NULL));
    snprintf(command, sizeof command, "rsync -a data/ %s:backup/", host);
    for (int i = 1; i <= 5; i++) {
        int status = system(command);
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
            note("done");
            unlink("backup.lock");
            return i;
        }
        note("failed, trying again");
        sleep(delay + (unsigned)rand() % 10);
        delay *= 2;
    }
    note("giving up");
    unlink("backup.lock");
    return 0;
}
