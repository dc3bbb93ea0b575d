/* SPDX-License-Identifier: MIT */
/* A plain old file, legacy/backup.c, tested as it is. It is linked with libvitro_interpose, and a
 * bench gives it a clock that jumps, a seed, a directory it may write to, and an rsync that fails
 * twice, where there is no rsync and no network. */
#include "legacy/backup.h"
#include "tap.h"
#include "vitro/bench.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char rsync[] =
    "[{\"program\":\"sh\",\"args\":[\"-c\",\"rsync -a data/ vault:backup/\"],\"exit_code\":12,"
    "\"duration_ms\":60000},"
    "{\"program\":\"sh\",\"args\":[\"-c\",\"rsync -a data/ vault:backup/\"],\"exit_code\":12,"
    "\"duration_ms\":60000},"
    "{\"program\":\"sh\",\"args\":[\"-c\",\"rsync -a data/ vault:backup/\"],\"exit_code\":0,"
    "\"duration_ms\":900000}]";

int main(void)
{
    char work[] = "/tmp/vitro-example-XXXXXX", tape[64];
    struct vitro_bench_error error;
    struct vitro_bench_findings found;

    if (!mkdtemp(work) || chdir(work) < 0)
        return 1;
    (void)snprintf(tape, sizeof tape, "%s.json", work);
    FILE *file = fopen(tape, "w");
    (void)fputs(rsync, file);
    (void)fclose(file);

    vitro_bench *bench =
        vitro_bench_activate((&(struct vitro_bench_options){.clock = "2026-01-01T03:00:00Z",
                                                            .seed = 7,
                                                            .fs = work,
                                                            .proc_replay = tape,
                                                            .net = "deny"}),
                             &error);
    if (!bench) {
        tap_note(error.text);
        return 1;
    }
    time_t began = time(NULL);
    tap(backup_run("vault") == 3, "the third try helps");
    long took = (long)(time(NULL) - began);
    tap(took >= 1020 + 30 + 60 && took < 1020 + 30 + 60 + 20,
        "it took three calls and two delays of virtual time");
    tap(access("backup.lock", F_OK) < 0, "the lock is gone");
    int r = vitro_bench_finalize(bench, &found, &error);
    tap(r == 0, "no leaks, no unknown calls, no unused recordings");
    if (r < 0)
        tap_note(error.text);
    tap(strstr(found.diff, "+2026-01-01 03:01:00 failed, trying again\n") != NULL,
        "the log says when, in the time of the bench");
    tap_note(found.diff);
    vitro_bench_findings_done(&found);
    tap(access("backup.log", F_OK) < 0, "and the disk never saw it");
    (void)unlink(tape);
    (void)rmdir(work);
    return tap_end();
}
