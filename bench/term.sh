# Terminal sessions, with pexpect and expect beside them. Peers run without a box and on real time.
set -euo pipefail
bench=$O/bench/term_bench
work=$(mktemp -d "${TMPDIR:-/tmp}/vitro-bench.XXXXXX")
trap 'rm -rf "$work"' EXIT
python=
for candidate in python3 /usr/bin/python3; do
    if "$candidate" -c 'import pexpect' 2>/dev/null; then python=$candidate; break; fi
done
verdict() { awk -v a="$1" -v b="$2" 'BEGIN { print a <= b ? "ok" : "MISSED" }'; }

cat >"$work/latency.py" <<'PY'
import pexpect, sys, time
n = int(sys.argv[1])
t = pexpect.spawn("sh", ["-c", "stty -echo; echo ready; exec cat"])
t.delaybeforesend = None
t.expect_exact("ready")
start = time.monotonic()
for i in range(n):
    t.send("line %d\n" % i)
    t.expect_exact("line %d\r\n" % i)
print("%.1f" % ((time.monotonic() - start) * 1e6 / n))
PY
cat >"$work/stream.py" <<'PY'
import pexpect, sys, time
start = time.monotonic()
t = pexpect.spawn("sh", ["-c", r"head -c %s000000 /dev/zero | tr '\0' x; printf 'the END'; read y" % sys.argv[1]], timeout=600)
t.expect("the END")
print("%.1f" % ((time.monotonic() - start) * 1e3))
PY
cat >"$work/latency.exp" <<'TCL'
log_user 0
set n [lindex $argv 0]
spawn -noecho sh -c {stty -echo; echo ready; exec cat}
expect ready
set start [clock microseconds]
for {set i 0} {$i < $n} {incr i} {
    send "line $i\n"
    expect "line $i\r\n"
}
puts [format %.1f [expr {([clock microseconds] - $start) / double($n)}]]
TCL

ours=$("$bench" latency 1000)
echo "expect, from a typed line to its echo and a settled cat|$ours us|below 2000 us|$(verdict "$ours" 2000)"
[ -z "$python" ] || echo "  pexpect, without its delay, nothing settled|$("$python" "$work/latency.py" 1000) us||"
! command -v expect >/dev/null || echo "  expect (Tcl), nothing settled|$(expect -f "$work/latency.exp" 1000) us||"
ours=$("$bench" search 50)
echo "50 MB searched by an expression|$ours ms|below 1000 ms|$(verdict "$ours" 1000)"
ours=$("$bench" growth 50)
echo "  50 MB against 5 MB, 10 when linear|$ours x|at most 15 x|$(verdict "$ours" 15)"
ours=$("$bench" stream 50)
echo "50 MB through a terminal in a box, expected at its end|$ours ms||"
ours=$("$bench" stream 4)
echo "  4 MB|$ours ms||"
[ -z "$python" ] || echo "  pexpect, 4 MB|$("$python" "$work/stream.py" 4) ms||"
ours=$("$bench" parallel 100)
echo "100 sessions at once: prompt, answer, a minute, exit|$ours ms||"
