# Scenarios: a thousand of them one after the other on one core, with and without a terminal; what the player adds to the box.
# In memory where there is such a place: making files is the disk's speed, not ours.
dir=$(mktemp -d -p /dev/shm vitro-bench.XXXXXX 2>/dev/null || mktemp -d "${TMPDIR:-/tmp}/vitro-bench.XXXXXX")
trap 'rm -rf "$dir"' EXIT
vitro=$PWD/$O/vitro
export TMPDIR=$dir
many() { # many FILE LINES: a thousand scenarios of these lines
    for i in $(seq 1000); do printf "scenario \"n$i\"\n$2" "$i" "$i"; done >"$dir/$1"
}
many exec.vt 'exec echo hello %s\n  stdout is "hello %s"\n'
many run.vt 'run echo hello %s\n  see "hello %s"\n'
many none.vt 'set a %s\nset b %s\n'
seconds() { # seconds COMMAND...
    local start end
    start=$(date +%s%N)
    "$@" >"$dir/out" || { tail -n 3 "$dir/out" >&2; exit 1; }
    end=$(date +%s%N)
    awk "BEGIN { printf \"%.1f\", ($end - $start) / 1e9 }"
}
below() { awk "BEGIN { print ($1 < $2) ? \"ok\" : \"MISSED\" }"; }
boxes() { for i in $(seq 1000); do "$vitro" run -q -- echo hello "$i"; done; }
none=$(seconds taskset -c 0 "$vitro" test -j 1 "$dir/none.vt")
exec=$(seconds taskset -c 0 "$vitro" test -j 1 "$dir/exec.vt")
run=$(seconds taskset -c 0 "$vitro" test -j 1 "$dir/run.vt")
box=$(seconds taskset -c 0 bash -c "$(declare -f boxes); vitro=$vitro; boxes")
echo "1,000 scenarios of echo, one core|$exec s|< 15 s|$(below "$exec" 15)"
echo "the same in terminals|$run s||"
echo "sandbox and process alone, of each|$none ms||"
echo "1,000 times vitro run -- echo, from a shell|$box s||"
