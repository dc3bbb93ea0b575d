# Programs that are started in every way, and recorded. Cassettes that are damaged are in tests/vt/proc_bad.vt.
. "$TOP/tests/lib/tap.sh"

record() { # record SCRIPT: to bundle c
    echo "$1" >job.sh
    run "$VITRO" run --record c -- sh job.sh; status_is 0
}

test_that "scripts, env -S, execveat, memfd and posix_spawn are played" '
    need gcc
    printf "#!/bin/sh\necho script \$1\n" >script; printf "#!/usr/bin/env -S sh -e\necho split\n" >split; chmod +x script split
    cat >ways.c <<C
#define _GNU_SOURCE
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
extern char **environ;
static char *args[] = {"echo", "by", "way", NULL};
static int copy(void) { int in = open("/bin/echo", O_RDONLY), out = memfd_create("m", 0); while (sendfile(out, in, NULL, 1 << 20) > 0); return out; }
int main(void)
{
    pid_t pid; int st;
    for (int way = 0; way < 6; way++) {
        char n[4]; sprintf(n, "%d", way); args[1] = n;
        if (way == 0) posix_spawn(&pid, "/bin/echo", NULL, NULL, args, environ);
        else if (way == 1) posix_spawnp(&pid, "echo", NULL, NULL, args, environ);
        else if (way == 5) { pid = vfork(); if (!pid) { execvp("echo", args); _exit(9); } }
        else {
            pid = fork();
            if (!pid) {
                int fd = way == 2 ? open("/bin/echo", O_PATH) : way == 3 ? copy() : open("/bin", O_PATH);
                if (way == 4) syscall(SYS_execveat, fd, "echo", args, environ, 0);
                else syscall(SYS_execveat, fd, "", args, environ, AT_EMPTY_PATH);
                _exit(8);
            }
        }
        waitpid(pid, &st, 0); printf("%d\n", WEXITSTATUS(st)); fflush(stdout);
    }
}
C
    gcc -o ways ways.c
    echo "./script one; ./split" >job.sh
    run "$VITRO" run --record a -- sh job.sh; status_is 0; out_is "script one
split"
    run "$VITRO" replay --keep a2 a; status_is 0; out_is "script one
split"; same a/tape a2/tape
    run "$VITRO" run --record b -- ./ways; status_is 0; cp "$RUN/out" expected; [ "$(grep -c way expected)" = 6 ] || fail "ways"
    run "$VITRO" replay --hide "$(readlink -f /bin/echo)" --keep b2 b; status_is 0; same expected "$RUN/out"; same b/tape b2/tape'

test_that "a search of PATH with many misses finds what was recorded" '
    cat >search.py <<PY
import os, subprocess
os.environ["PATH"] = ":".join("/nowhere/%d" % i for i in range(50)) + ":" + os.environ["PATH"]
print(subprocess.run(["uname", "-s"], capture_output=True, text=True).stdout.strip())
try: subprocess.run(["there-is-no-such-thing"])
except FileNotFoundError: print("not found")
PY
    run "$VITRO" run --record c -- /usr/bin/python3 search.py; status_is 0; out_is "Linux
not found"
    run "$VITRO" replay c; status_is 0; out_is "Linux
not found"'

test_that "a thousand spawns at once are recorded and played" '
    cat >many.py <<PY
import subprocess
ps = [subprocess.Popen(["echo", str(i % 100)], stdout=subprocess.PIPE) for i in range(1000)]
print(sum(int(p.communicate()[0]) for p in ps), sum(p.returncode for p in ps))
PY
    ulimit -n 4096
    run "$VITRO" run --record c -- /usr/bin/python3 many.py; status_is 0; out_is "49500 0"; err_has "1000 recorded"
    run "$VITRO" replay --hide "$(readlink -f "$(command -v echo || echo /bin/echo)")" c; status_is 0; out_is "49500 0"'

test_that "what outlives its parent goes on when it is played" '
    record "sh -c \"(sleep 60; echo late >late) & echo early\"; cat late 2>/dev/null; sleep 120; cat late"
    run "$VITRO" run --record d -- sh job.sh; status_is 0; out_is "early
late"
    run "$VITRO" replay --keep d2 d; status_is 0; out_is "early
late"; same d/tape d2/tape'

test_that "a program in a terminal is recorded with its terminal" '
    need script
    cat >ask.sh <<SH
printf "name? "; read name; echo "hello \$name"
SH
    echo "sh ask.sh" >job.sh
    run script -qec "$VITRO run -q --record c -- sh job.sh" /dev/null </dev/null
    grep -q "\"terminal\":\[0,1,2\]" c/tape || fail "no terminal on the tape"'

test_that "verify reads the files that recorded subprocesses left" '
    seq 5000 >numbers
    run "$VITRO" run --record b -- sh -c "cp numbers copy; wc -l copy"; status_is 0
    run "$VITRO" tape verify b; status_is 0; out_has "1 contents read"
    find b/tape.cas -type f -exec rm {} +
    run "$VITRO" tape verify b; status_is 1
    grep -q "content" "$RUN/out" "$RUN/err" || fail "nothing is said of the content that is gone"'
tap_done
