# One clock for every runtime: Go, Java, Node, Python, shells, git, make.
. "$TOP/tests/lib/tap.sh"
G=$TOP/tests/guests

test_that "a day passes at once in a shell" '
    run "$VITRO" run --clock 2024-02-29T23:59:58Z -- sh -c "date; sleep 86400; date"
    status_is 0
    out_is "Thu Feb 29 23:59:58 UTC 2024
Fri Mar  1 23:59:58 UTC 2024"
    err_has "ok  1 d 00:00:00 virtual"'

test_that "a static Go program lives in virtual time" '
    need go
    run "$VITRO" run -- "$GUESTS/hello_timers_go"
    status_is 0
    out_is "2026-01-01T00:00:00Z
2026-01-02T01:00:00Z
2026-01-02T02:00:00Z
2026-01-02T03:00:00Z
timeout
27h1m30s"'

test_that "a Java program lives in virtual time" '
    need java
    run "$VITRO" run -- java -cp "$GUESTS" HelloTimers
    status_is 0; out_has "2026-01-01T00:00:00Z"; out_has "task 2026-01-01T00:03:00"'

test_that "a Node program lives in virtual time" '
    need node
    run "$VITRO" run -- node "$G/hello_timers.js"
    status_is 0
    out_is "2026-01-01T00:00:00.000Z
2026-01-02T00:00:00.000Z
1 2026-01-02T01:00:00.000Z 90000
2 2026-01-02T02:00:00.000Z 93600
3 2026-01-02T03:00:00.000Z 97200"'

test_that "a Python program lives in virtual time" '
    run "$VITRO" run -- /usr/bin/python3 "$G/hello_timers.py"
    status_is 0
    out_is "2026-01-01T00:00:00+00:00
False
1
2
3
2026-01-02T01:00:03+00:00 176403.0 0.0"'

for what in "/usr/bin/python3 $G/hello_timers.py" "node $G/hello_timers.js" "$GUESTS/hello_timers_go"; do
    test_that "five runs are equal: ${what##*/}" '
        need '"${what%% *}"'
        run "$VITRO" verify -n 5 -- '"$what"'
        status_is 0; out_has "5 runs, equal"'
done

test_that "five runs are equal: java" '
    need java
    [ "$(id -u)" = 0 ] || skip "needs real-time priority, as root has it"
    run "$VITRO" verify -n 5 -- java -cp "$GUESTS" HelloTimers
    status_is 0; out_has "5 runs, equal"'

test_that "git init and commit give the same hash every time" '
    run "$VITRO" verify -n 5 -- sh -c "
        rm -rf repo; mkdir repo; cd repo; git init -q .; echo text >file; git add file
        git -c user.name=a -c user.email=b commit -qm message; git log --format=\"%H %ad\"
        rm -rf ../repo"
    status_is 0; out_has "5 runs, equal"'

test_that "make sees no clock skew, and builds what is new" '
    printf "all: b\na: a.in\n\tsleep 2; cp a.in a\nb: a c\n\tcat a c >b\nc:\n\tsleep 1; echo c >c\n" >Makefile
    echo 1 >a.in
    run "$VITRO" run --fs real -- make -j2; status_is 0
    ! grep -iE "skew|future" "$RUN/out" "$RUN/err" || fail "clock skew"
    run "$VITRO" run --fs real -- make -j2; status_is 0; out_has "Nothing to be done"
    run "$VITRO" run -- sh -c "sleep 5; echo 2 >a.in; sleep 5; make -j2"; status_is 0; out_has "cat a c"
    ! grep -iE "skew|future" "$RUN/out" "$RUN/err" || fail "clock skew"'

test_that "files carry the virtual time of their writing" '
    run "$VITRO" run -- sh -c "echo 1 >a; sleep 10; echo 1 >b; sleep 10; touch c; touch -d 2001-02-03 d
        stat -c \"%n %y\" a b c d; sleep 100; stat -c \"%n %y\" a; ls --full-time -t a b c d | cut -c1-10 | uniq -c"
    status_is 0
    out_has "a 2026-01-01 00:00:00.000000000"
    out_has "b 2026-01-01 00:00:10.000000000"
    out_has "c 2026-01-01 00:00:20.000000000"
    out_has "d 2001-02-03 00:00:00.000000000"'

test_that "a hundred three-stage pipelines run under a timer signal" '
    run "$VITRO" run -- /usr/bin/python3 -c "
import signal, subprocess
signal.signal(signal.SIGALRM, lambda *a: None)
signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
for i in range(100):
    out = subprocess.run([\"dash\", \"-c\", \"echo hello | cat | wc -c\"], capture_output=True, text=True).stdout
    assert out.strip() == \"6\", (i, out)
print(\"done\")"
    status_is 0; out_is "done"'

test_that "a loop like cron runs through thirty days" '
    run "$VITRO" run -- sh -c "n=0; while [ \$n -lt 30 ]; do sleep 86400; n=\$((n+1)); done; date"
    status_is 0; out_is "Sat Jan 31 00:00:00 UTC 2026"'

test_that "a thousand processes wait together" '
    run "$VITRO" run -- sh -c "i=0; while [ \$i -lt 1000 ]; do sleep 3600 & i=\$((i+1)); done; wait; date"
    status_is 0; out_is "Thu Jan  1 01:00:00 UTC 2026"'

test_that "date, uptime and ps agree with the clock" '
    need ps
    run "$VITRO" run -- sh -c "sleep 3600; uptime; ps -eo pid,lstart,args; cat /proc/uptime; cut -d\" \" -f22 /proc/self/stat"
    status_is 0
    out_has "01:00:00 up 1 day,  1:00"
    out_has "vitro-init"; out_has "90000.00"; out_has "9000000"'

test_that "a very long argument list passes" '
    run "$VITRO" run -- sh -c "/bin/echo \$(seq 100000) | wc -c"
    status_is 0; out_is 588895'
tap_done
