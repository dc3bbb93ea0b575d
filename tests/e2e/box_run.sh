# vitro run: status, bad input, budgets, what cannot be done inside, nothing left behind.
. "$TOP/tests/lib/tap.sh"

test_that "the program's status passes through" '
    run "$VITRO" run -- sh -c "exit 7"; status_is 7
    run "$VITRO" run -- sh -c "kill -TERM \$\$"; status_is 143
    run "$VITRO" run -q -- true; status_is 0; [ ! -s "$RUN/err" ] || fail "quiet is not quiet"'

test_that "a program that is not there is 127, one that cannot run is 126" '
    run "$VITRO" run -- no-such-program; status_is 127; err_has "start '"'no-such-program'"': no such program in PATH"
    run "$VITRO" run -- ./none; status_is 127
    echo x >plain; run "$VITRO" run -- ./plain; status_is 126; err_has "Permission denied"
    printf "\001\002garbage" >garbage; chmod +x garbage; run "$VITRO" run -- ./garbage
    status_is 126; err_has "Exec format error"
    run "$VITRO" run -- /; status_is 126'

test_that "options that make no sense are named with the right form" '
    run "$VITRO" run --clock 2026-13-01 -- true; status_is 2; err_has "hint: write real, 2026-01-31T12:00:00Z"
    run "$VITRO" run --clok real -- true; status_is 2; err_has "did you mean --clock?"
    run "$VITRO" run --net maybe -- true; status_is 2; err_has "--net deny or --net real"
    run "$VITRO" run --timeout 5 -- true; status_is 2; err_has "a number and a unit"
    run "$VITRO" run --allow leek -- true; status_is 2; err_has "write --allow leak"
    run "$VITRO" run; status_is 2; err_has "needs"
    run "$VITRO" run -- ""; status_is 2; err_has "empty"'

test_that "budgets end the box with 124 and say which" '
    run "$VITRO" run --max-time 1h -- sh -c "while :; do sleep 60; done"; status_is 124; err_has "--max-time"
    run "$VITRO" run --max-steps 500 -- sh -c "while :; do sleep 1; done"; status_is 124; err_has "--max-steps"
    run "$VITRO" run --timeout 1s -- sh -c "while :; do :; done"; status_is 124; err_has "--timeout"; err_has "1 (sh): runs"
    run "$VITRO" run --max-procs 50 -- sh -c "f() { f | f & }; f"; status_is 124; err_has "--max-procs"'

test_that "a deadlock is 123 and names who waits for whom" '
    run "$VITRO" run -- "$GUESTS/deadlock"; status_is 123
    err_has "1 (deadlock): waits in futex"; err_has "held by 1/2 (deadlock)"
    mkfifo fifo
    run "$VITRO" run -- sh -c "cat fifo"; status_is 123; err_has "waits in"'

test_that "what outlives the program is an orphan, and fails the run" '
    run "$VITRO" run -- sh -c "sleep 100 & echo done"; status_is 121
    err_has "process/orphan"; err_has "1.1 (sleep)"; out_is done
    run "$VITRO" run --allow orphan -- sh -c "sleep 100 & echo done"; status_is 0'

test_that "a box in a box and a tracer in a box are refused in words" '
    # Under sanitizers the inner one would look for leaks at its end, with ptrace.
    run "$VITRO" run -- env ASAN_OPTIONS=detect_leaks=0 "$VITRO" run -- true; status_is 125; err_has "a box cannot hold another"
    need strace
    run "$VITRO" run -- strace true; err_has "asked to trace a program, which cannot be done inside a box"'

test_that "guests that install a filter, close every descriptor or kill pid 1 get along" '
    run "$VITRO" run -- sh -c "kill -9 1; echo alive"; status_is 0; out_is alive
    run "$VITRO" run -- /usr/bin/python3 -c "
import os, time
os.closerange(3, 65536); time.sleep(5); os.execvp(\"date\", [\"date\"])"
    status_is 0; out_is "Thu Jan  1 00:00:05 UTC 2026"
    run "$VITRO" run -- /usr/bin/python3 -c "
import ctypes, time
libc = ctypes.CDLL(None); print(libc.prctl(38, 1, 0, 0, 0), libc.prctl(22, 2, 0)); time.sleep(3600); print(int(time.time()))"
    status_is 0; out_has 1767229200'

test_that "the network is loopback only" '
    run "$VITRO" run -- /usr/bin/python3 -c "
import socket
try: socket.create_connection((\"192.0.2.1\", 80), 5)
except OSError as e: print(e.strerror)"
    status_is 0; out_is "Network is unreachable"'

test_that "shifted, scaled and real clocks run" '
    run "$VITRO" run --clock +7d -- date +%s; status_is 0
    [ $(($(cat "$RUN/out") - $(date +%s))) -ge 604790 ] || fail "not shifted"
    run "$VITRO" run --clock x1000 -- sh -c "a=\$(date +%s); sleep 100; b=\$(date +%s); [ \$((b-a)) -ge 100 ] && echo scaled"
    status_is 0; out_is scaled
    run "$VITRO" run --clock real -- sh -c "exit 3"; status_is 3'

test_that "a recording is a bundle with a tape that reads" '
    run "$VITRO" run --record out -- sh -c "sleep 5; exit 3"; status_is 3
    run "$VITRO" tape verify out; status_is 0
    run "$VITRO" tape show out; out_has "process_spawn"; out_has "subprocess"; out_has "exit_code=3"
    run "$VITRO" run --record plain --proc off -- sh -c "sleep 5; exit 3"; run "$VITRO" tape show plain; out_has "clock_sleep"; out_lacks "subprocess"
    run "$VITRO" run --record out -- true; status_is 125; err_has "out"
    CI=1 run "$VITRO" run --record other -- true; status_is 2; err_has "CI"'

test_that "--json tells all of it to programs" '
    need jq
    run "$VITRO" run --json -- sleep 3600; status_is 0
    [ "$(jq -c "[.exit_code, .virtual_ns, .outcome]" "$RUN/err")" = "[0,3600000000000,\"ok\"]" ] || fail json'

test_that "a manual clock moves by command, from deadline to deadline" '
    "$VITRO" run --clock 2026-01-01,manual --control "$PWD/box" -- sh -c "sleep 10; date; sleep 10; date" >"$RUN/guest" 2>&1 &
    box=$!
    until run "$VITRO" clock pending "$PWD/box" && grep -q "00:00:10" "$RUN/out"; do :; done
    run "$VITRO" clock now "$PWD/box"; out_is "2026-01-01T00:00:00Z"
    run "$VITRO" clock advance "$PWD/box" 15s; status_is 0; out_is "2026-01-01T00:00:15Z"
    run "$VITRO" clock pending "$PWD/box"; out_has "00:00:05  1.3 (sleep)"
    run "$VITRO" clock advance "$PWD/box" 1h; status_is 0; out_is "2026-01-01T00:00:20Z"
    wait $box
    grep -q "00:00:10 UTC 2026" "$RUN/guest" && grep -q "00:00:20 UTC 2026" "$RUN/guest" || fail guest
    run "$VITRO" clock now "$PWD/box"; status_is 2; err_has "is it still running?"'

test_that "nothing is left when the caller is killed" '
    mkfifo ready
    "$VITRO" run --fs real --clock 2026-01-01,manual --control "$PWD/box" -- sh -c "echo up >ready; sleep 987654321 & sleep 987654321" >/dev/null 2>&1 &
    box=$!
    read line <ready
    supervisor=$(cat /proc/$box/task/$box/children)
    init=$(cat /proc/${supervisor% }/task/${supervisor% }/children)
    kill -9 $box
    wait $box 2>/dev/null || :
    # Both go by themselves; the loop ends when they have.
    n=0
    while [ -e "/proc/${supervisor% }" ] || [ -e "/proc/${init% }" ]; do
        n=$((n + 1)); [ $n -lt 200000 ] || fail "still there"
    done'
tap_done
