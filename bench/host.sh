# Clocks: reading a paused one, libc's through the interposer, and a million who sleep on it. Event logs: appending, subscribing, being told. COUNT=N changes the number (1,000,000).
set -euo pipefail
. bench/lib/figures.sh
bench=$O/bench/host_bench
count=${COUNT:-1000000}

best_of() { # best_of TASK COUNT: the least of five runs, in ns
    local best= ns
    for _ in 1 2 3 4 5; do
        ns=$("$bench" "$@" | awk '{ print $1 }')
        [ -n "$best" ] && [ "$ns" -ge "$best" ] || best=$ns
    done
    echo "$best"
}

each=$(awk -v ns="$(best_of read 100000000)" 'BEGIN { printf "%.2f", ns / 100000000 }')
row "paused clock, one read, of CPU time" "$each ns" "< 5 ns" "$each < 5"

# Both in turns: the machine is the same for both then.
plain= through=
for _ in 1 2 3 4 5 6 7; do
    ns=$("$bench" time 20000000 | awk '{ print $1 }')
    [ -n "$plain" ] && [ "$ns" -ge "$plain" ] || plain=$ns
    ns=$(LD_PRELOAD=$PWD/$O/libvitro_interpose.so "$bench" time 20000000 | awk '{ print $1 }')
    [ -n "$through" ] && [ "$ns" -ge "$through" ] || through=$ns
done
ratio=$(awk -v a="$through" -v b="$plain" 'BEGIN { printf "%.3f", a / b }')
each=$(awk -v a="$through" 'BEGIN { printf "%.1f", a / 20000000 }')
row "interposed clock_gettime, no bench, to libc's ($each ns)" "${ratio}x" "< 1.1x" "$ratio < 1.1"

seconds=$(awk -v ns="$(best_of sleepers "$count")" 'BEGIN { printf "%.3f", ns / 1e9 }')
row "$count paused sleepers armed, woken in order, CPU time" "$seconds s" "< 1 s" "$seconds < 1"

rate=$(awk -v n="$count" -v ns="$(best_of append "$count")" 'BEGIN { printf "%.2f", n * 1000 / ns }')
row "event log in memory, appends, of CPU time" "$rate M/s" "> 1 M/s" "$rate > 1"

each=$(awk -v ns="$(best_of subscribe 100000)" 'BEGIN { printf "%.3f", ns / 100000 / 1000 }')
row "subscribe and receive from history, of CPU time" "$each us" "< 5 us" "$each < 5"

each=$(awk -v ns="$(best_of wake 20000)" 'BEGIN { printf "%.2f", ns / 1000 }')
row "append to reception in a thread that waits, median" "$each us" "< 5 us" "$each < 5"

# The same through a file and a database, in memory-backed files where there are: no disk decides the figure.
bench=$(realpath "$bench")
scratch=$(mktemp -d "$([ -w /dev/shm ] && echo /dev/shm || echo /tmp)/vitro-bench.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
for store in file sqlite; do
    rate=$(awk -v ns="$(best_of append-$store 20000)" 'BEGIN { printf "%.0f", 20000 * 1e6 / ns }')
    row "event log in a $store, appends, of CPU time" "$rate k/s" "> 20 k/s" "$rate > 20"
    each=$(awk -v ns="$(best_of wake-$store 5000)" 'BEGIN { printf "%.2f", ns / 1000 }')
    row "append to reception through a $store, median" "$each us" "< 100 us" "$each < 100"
done
