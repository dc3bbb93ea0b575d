# vitro run: clocks that are moved from outside or by computing, nothing left behind. More in tests/vt/run.vt.
. "$TOP/tests/lib/tap.sh"

test_that "a guest that computes until time passes gets there, and is told of" '
    run "$VITRO" run -- /usr/bin/python3 -c "
import signal, time
rung = []
signal.signal(signal.SIGALRM, lambda *a: rung.append(1)); signal.alarm(1)
while not rung: pass
print(time.clock_gettime(time.CLOCK_REALTIME) - 1767225600, time.process_time())"
    status_is 0; out_is "1.0 1.0"; err_has "guests were busy for seconds while another waited"
    run "$VITRO" run -- sh -c "(sleep 1; kill \$\$) & while :; do /bin/true; done"; status_is 143
    need go
    cat >spin.go <<GO
package main
import ("fmt"; "time")
func main() { x := 0; go func() { for { x++ } }(); time.Sleep(time.Millisecond); fmt.Println("preempted") }
GO
    GO111MODULE=off GOCACHE="$PWD/cache" CGO_ENABLED=0 go build -o spin spin.go
    run "$VITRO" run -- ./spin; status_is 0; out_is preempted'

test_that "a program in a place that a box has for itself is missed with a hint" '
    run "$VITRO" run -- /dev/shm/no-such-program; status_is 127; err_has "give --worktree with the directory it is in"
    run "$VITRO" run -- /no-such-program; status_is 127; err_lacks hint'

test_that "timers on CPU time fire, as leaks" '
    script="
import signal
rung = []
signal.signal(signal.SIGPROF, lambda *a: rung.append(1)); signal.setitimer(signal.ITIMER_PROF, 0.02)
while not rung: pass
print(len(rung))"
    run "$VITRO" run -- /usr/bin/python3 -c "$script"; status_is 121; out_is 1; err_has "timer/cpu"
    run "$VITRO" run --allow leak -- /usr/bin/python3 -c "$script"; status_is 0
    run "$VITRO" run -- /usr/bin/python3 -c "import signal; signal.setitimer(signal.ITIMER_PROF, 1000)"; status_is 0'

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
