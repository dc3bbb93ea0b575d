# Subprocesses: recording beside not recording, playing beside running, finding one of many recordings.
set -euo pipefail
. bench/lib/figures.sh
bench=$O/bench/box_bench proc=$O/bench/proc_bench vitro=$PWD/$O/vitro
mkdir -p "$PWD/$O/bench"
dir=$(mktemp -d "$PWD/$O/bench/work.XXXXXX") # not in /tmp, which a box has of its own
trap 'rm -rf "$dir"' EXIT
bench=$PWD/$bench proc=$PWD/$proc

few=$("$proc" lookup 10) many=$("$proc" lookup 100000)
row "lookup: $few ns among 10 recordings, $many ns among 100,000 (caches)" "$(calc %.1f "$many / 1000") us" "<= 5 us" "$many <= 5000"

n=1000
loop="i=0; while [ \$i -lt $n ]; do /bin/true; i=\$((i+1)); done"
"$proc" list $n >"$dir/list"
echo "[]" >"$dir/none"
cd "$dir"
medians 7 sh -c "$loop" :: sh -c : :: "$vitro" run -q --process-replay list -- sh -c "$loop" :: \
    "$vitro" run -q --process-replay none -- sh -c : :: "$vitro" run -q -- sh -c "$loop"
# CPU time, supervisor included: in real time a box with a real-time priority would win on a busy machine.
native=$(calc %.0f "($c1 - $c2) / $n / 1000") played=$(calc %.0f "($c3 - $c4) / $n / 1000")
ratio=$(calc %.2f "$played / $native")
row "/bin/true, CPU time: played $played us, native $native us (in a box $(calc %.0f "($c5 - $c4) / $n / 1000") us)" "${ratio}x" "<= 1.5x" "$ratio <= 1.5"

mkdir make
cd make
for i in $(seq 200); do echo "#include <stdio.h>
int f$i(int x) { printf(\"%d\\n\", x + $i); return x * $i; }" >f$i.c; done
printf 'all: $(patsubst %%.c,%%.o,$(wildcard *.c))\n%%.o: %%.c\n\tgcc -O1 -c -o $@ $<\n' >Makefile
cat >record.sh <<SH
rm -rf ../bundle; exec "$vitro" run -q --record ../bundle -- make -s
SH
medians 5 "$vitro" run -q -- make -s :: sh record.sh :: sh -c "make -s; rm -f *.o"
ratio=$(calc %.2f "$c2 / $c1")
row "make of 200 files: recorded $(calc %.1f "$c2 / 1e9") s CPU, not recorded $(calc %.1f "$c1 / 1e9") s (native $(calc %.1f "$c3 / 1e9") s)" "${ratio}x" "<= 1.15x" "$ratio <= 1.15"
medians 3 "$vitro" replay -q ../bundle
echo "make of 200 files, replayed|$(calc %.2f "$m1 / 1e9") s||"

cd "$dir"
size=500000000
"$vitro" run -q --record big -- sh -c "head -c $size /dev/zero; :" >/dev/null
peak() { /usr/bin/time -f %M "$@" 2>&1 >/dev/null | tail -1; }
for what in "run -q --record again" "run -q --cassette big"; do
    kb=$(peak "$vitro" $what -- sh -c "head -c $size /dev/zero; :")
    row "peak memory with 500 MB of output: $what" "$((kb / 1024)) MiB" "<= 64 MiB" "$kb <= 65536"
done
