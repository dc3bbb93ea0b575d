# vitro run: what cannot be done inside, clocks that run or are moved, nothing left behind. More in tests/vt/run.vt.
. "$TOP/tests/lib/tap.sh"

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
