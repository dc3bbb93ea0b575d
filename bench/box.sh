# The box beside the machine itself and beside others that stand between a program and the kernel. Every row's
# commands run in turn, several times, and medians are compared. GO_SLEEPS=N (100,000) and GUESTS=N (10,000)
# change the rows that take longest.
set -euo pipefail
. bench/lib/figures.sh
bench=$O/bench/box_bench vitro=$O/vitro
go_sleeps=${GO_SLEEPS:-100000} guests=${GUESTS:-10000}
mkdir -p "$PWD/$O/bench"
dir=$(mktemp -d "$PWD/$O/bench/work.XXXXXX") # not in /tmp, which a box has of its own
trap 'rm -rf "$dir"' EXIT

have() { command -v "$1" >/dev/null 2>&1; }
box() { echo "$vitro run -q --max-procs 20000 --"; }

echo "load of the machine while this runs (1 minute)|$(cut -d' ' -f1 /proc/loadavg)||"

n=3000000
fake=$(have faketime && echo "faketime 2024-01-01" || echo "")
medians 7 "$bench" clock $n :: "$bench" clock 0 :: $(box) "$bench" clock $n :: $(box) "$bench" clock 0 \
    ${fake:+:: $fake "$bench" clock $((n / 10)) :: $fake "$bench" clock 0}
native=$(calc %.1f "($m1 - $m2) / $n") boxed=$(calc %.1f "($m3 - $m4) / $n")
ratio=$(calc %.2f "$boxed / $native")
row "clock read: box $boxed ns, native vDSO $native ns" "${ratio}x" "<= 0.5x" "$ratio <= 0.5"
[ -z "$fake" ] || echo "clock read: faketime|$(calc %.0f "($m5 - $m6) / ($n / 10)") ns||"

# CPU time, supervisor included: in real time a box with a real-time priority would win on a busy machine.
n=150000000
medians 7 "$bench" cpu $n :: "$bench" cpu 0 :: $(box) "$bench" cpu $n :: $(box) "$bench" cpu 0
ratio=$(calc %.3f "($c3 - $c4) / ($c1 - $c2)")
row "CPU-bound loop beside native, CPU time ($(calc %.0f "($c1 - $c2) / 1e6") ms)" "${ratio}x" "<= 1.02x" "$ratio <= 1.02"

# bwrap twice: on the machine's own files, to compare with a box on those (--fs real), and with directories of its own as a
# box has, but without an overlay. Nothing that is compared comes behind a bwrap, which returns while the kernel still takes its
# namespaces down.
medians 60 true :: $(box) true :: "$vitro" run -q --fs real -- true :: bwrap --dev-bind / / --unshare-all true \
    :: strace -f -o /dev/null true :: proot true \
    :: bwrap --unshare-all --bind / / --dev /dev --proc /proc --tmpfs /tmp --tmpfs /run true
ratio=$(calc %.2f "$m3 / $m4")
row "true on the machine's files: box $(calc %.1f "$m3 / 1e6") ms beside bwrap $(calc %.1f "$m4 / 1e6") ms" "${ratio}x" "<= 1x" "$ratio <= 1"
ratio=$(calc %.2f "$m2 / $m4")
row "true on files of its own: box $(calc %.1f "$m2 / 1e6") ms beside that bwrap" "${ratio}x" "<= 1.5x" "$ratio <= 1.5"
echo "true: beside bwrap with /dev, /proc, /tmp and /run of its own, $(calc %.1f "$m7 / 1e6") ms|$(calc %.2f "$m2 / $m7")x||"
echo "true: native $(calc %.1f "$m1 / 1e6"), strace -f $(calc %.1f "$m5 / 1e6"), proot $(calc %.1f "$m6 / 1e6") ms|||"

medians 5 $(box) "$bench" sleep 10000 :: $(box) "$bench" sleep 0
hop=$(calc %.1f "($m1 - $m2) / 10000 / 1000")
row "idle hop: 10,000 sleeps of an hour" "$hop us each" "<= 40 us" "$hop <= 40"
medians 3 $(box) "$bench" crowd 2000 :: $(box) "$bench" crowd 0
hop=$(calc %.1f "($m1 - $m2) / 2000 / 1000")
echo "idle hop beside 200 threads that are blocked|$hop us each||"

medians 3 $(box) sh -c 'for i in $(seq 1000); do sleep 1; done' :: sh -c 'for i in $(seq 1000); do /bin/true; done'
ratio=$(calc %.2f "$m1 / $m2")
row "1,000 x sleep 1 in a shell ($(calc %.2f "$m1 / 1e9") s) beside /bin/true native" "${ratio}x" "<= 2x" "$ratio <= 2"

if [ -x build/guests/many_sleeps_go ]; then
    medians 3 $(box) build/guests/many_sleeps_go "$go_sleeps" :: $(box) build/guests/many_sleeps_go 1
    million=$(calc %.1f "($m1 - $m2) / 1e9 / $go_sleeps * 1e6")
    row "static Go, 1,000,000 x 1 ms (scaled from $go_sleeps)" "$million s" "< 60 s" "$million < 60"
fi

medians 1 $(box) "$bench" guests "$guests" :: $(box) true
echo "$guests processes that sleep for an hour side by side|$(calc %.2f "($m1 - $m2) / 1e9") s||"

for i in $(seq 50); do
    printf '#include <stdio.h>\n#include <stdlib.h>\nint f%d(int n)\n{\n    return n ? f%d(n - 1) + printf("%%d", n) : abs(n);\n}\n' \
        "$i" "$i" >"$dir/f$i.c"
done
compile="cd $dir; for f in f*.c; do cc -O1 -c \$f -o \${f%.c}.o; done"
medians 2 sh -c "$compile" :: $(box) sh -c "$compile" :: strace -f -o /dev/null sh -c "$compile" :: proot sh -c "$compile"
ratio=$(calc %.2f "$c2 / $c1")
row "cc of 50 files, CPU time ($(calc %.2f "$c1 / 1e9") s native)" "${ratio}x" "<= 1.3x" "$ratio <= 1.3"
echo "cc of 50 files, CPU time: strace -f $(calc %.2f "$c3 / $c1")x, proot $(calc %.2f "$c4 / $c1")x|||"
