#!/usr/bin/env bash
# bench/fs: what the view costs programs that work on files, as ratios to native, beside its peers.
#
#     O=build bench/fs/fs.sh [FILES]        FILES: size of the repository, 10000 unless given
#
# The tree is in memory (/dev/shm), so that the disk of the day does not decide. Every figure is the best of
# ROUNDS runs on one CPU, natives too; a peer that is not installed is left out. "view" is the namespaces and the overlay
# alone (tests/tools/fs_run.c), without a supervisor and a list of changes; "vitro" is all of `vitro run`. What the figures
# are made of: bench/fs/README.md.
set -euo pipefail
cd "$(dirname "$0")/../.."
O=${O:-build} FILES=${1:-10000} ROUNDS=${ROUNDS:-5}
FS_RUN=$PWD/$O/tools/fs-run VITRO=$PWD/$O/vitro
base=/dev/shm
[ "$(stat -f -c %T $base 2>/dev/null)" = tmpfs ] || base=${TMPDIR:-/tmp}
top=$(mktemp -d "$base/vitro-bench-fs.XXXXXX")
trap 'rm -rf "$top"' EXIT
export HOME=$top GIT_CONFIG_NOSYSTEM=1 LC_ALL=C
git config --global user.email bench@vitro.test
git config --global user.name bench
git config --global gc.auto 0
cpu=$(taskset -pc $$ | sed 's/.*: //; s/[,-].*//')

fill() { # a repository of FILES small files in 100 directories
    mkdir "$top/repo" && cd "$top/repo"
    for d in $(seq 1 100); do
        mkdir "d$d"
        (cd "d$d" && seq 1 $((FILES / 100)) | awk -v d="$d" '{ f = "f" $1 ".c"; print "int f" d "_" $1 "(int x) { return x + " $1 "; }" >f; close(f) }')
    done
    git init -q . && git add -A && git commit -qm one
    git checkout -q -b other
    for d in $(seq 1 100); do echo "/* other */" | tee -a "d$d"/f1*.c >/dev/null; done
    git commit -qam two && git checkout -q master 2>/dev/null || git checkout -q main
    tar cf .git/repo.tar --exclude .git .
    git status >/dev/null
}

native() { taskset -c "$cpu" "$@"; }
view() { taskset -c "$cpu" "$FS_RUN" -- "$@"; }
vitro() { "$VITRO" run -q -- "$@"; }
bubblewrap() { taskset -c "$cpu" bwrap --dev-bind / / --unshare-all "$@"; }
peer_proot() { taskset -c "$cpu" proot -r / -w "$PWD" "$@"; }
fuse_overlayfs() {
    rm -rf "$top/fuse" && mkdir -p "$top/fuse/u" "$top/fuse/w" "$top/fuse/m"
    fuse-overlayfs -o "lowerdir=$top/repo,upperdir=$top/fuse/u,workdir=$top/fuse/w" "$top/fuse/m"
    (cd "$top/fuse/m" && taskset -c "$cpu" "$@")
    umount "$top/fuse/m"
}

best() { # best RUNNER COMMAND...: least microseconds of ROUNDS
    local least=0 start end i
    for i in $(seq 1 "$ROUNDS"); do
        start=$(date +%s%N)
        "$@" >/dev/null 2>&1
        end=$(date +%s%N)
        if [ "$least" = 0 ] || [ $((end - start)) -lt "$least" ]; then least=$((end - start)); fi
        restore
    done
    echo $((least / 1000))
}
# Native runs change the repository for real: back to where it was before the next.
restore() { (cd "$top/repo" && rm -rf out && git checkout -q -f "$main" && git clean -qfd) >/dev/null 2>&1; }

runners=(native view vitro)
command -v bwrap >/dev/null && runners+=(bubblewrap)
command -v proot >/dev/null && runners+=(peer_proot)
command -v fuse-overlayfs >/dev/null && [ -w /dev/fuse ] && [ "$(id -u)" = 0 ] && runners+=(fuse_overlayfs)

row() { # row NAME COMMAND...
    local name=$1 runner us base_us=0 line
    shift
    line=$(printf '%-22s' "$name")
    for runner in "${runners[@]}"; do
        us=$(best "$runner" "$@")
        [ "$runner" != native ] || base_us=$us
        line+=$(awk -v us="$us" -v base="$base_us" 'BEGIN { printf "  %9.2f ms %5.2fx", us / 1000, us / base }')
    done
    echo "$line"
}

fill
main=$(git symbolic-ref --short HEAD)
printf '%-22s' "$FILES files"
for runner in "${runners[@]}"; do printf '  %19s' "${runner#peer_}"; done
echo
row "start (true)" true
row "git status" git status
row "git status, twice" sh -c "git status; git status"
row "git checkout" git checkout -q other
row "tar" tar cf /dev/null --exclude .git .
row "untar" sh -c "mkdir out && tar xf .git/repo.tar --warning=no-timestamp -C out"
row "rm -rf" sh -c "rm -rf d*"
row "cc of 200 files" sh -c 'for f in $(ls d1/*.c d2/*.c d3/*.c | head -n 200); do cc -c -o /dev/null $f; done'

# The price of a diff goes by what was touched, not by the tree: a thousand files, ten in each of a hundred directories, of
# two trees of different size. The same bytes are touched in both.
plain_tree() { # plain_tree FILES
    mkdir "$top/tree$1"
    for d in $(seq 1 100); do
        mkdir "$top/tree$1/d$d"
        (cd "$top/tree$1/d$d" && seq 1 $(($1 / 100)) | awk -v d="$d" '{ f = "f" $1; print d, $1 >f; close(f) }')
    done
}
touch_thousand() {
    rm -rf "$top/bundle"
    "$FS_RUN" --bundle "$top/bundle" -- sh -c 'for d in d*; do for i in 1 2 3 4 5 6 7 8 9 10; do echo more >>$d/f$i; done; done'
}
show() { "$VITRO" diff "$top/bundle"; }
echo
printf '%-22s  %19s  %19s\n' "1000 files touched" "run and gather" "vitro diff"
for size in 10000 100000; do
    plain_tree "$size"
    cd "$top/tree$size"
    ran=$(best touch_thousand) shown=$(best show)
    touched=$(($(wc -l <"$top/bundle/fs/changes.jsonl") - 1))
    [ "$touched" = 1000 ] || { echo "$touched files are in the list, not 1000" >&2; exit 1; }
    awk -v size="$size" -v ran="$ran" -v shown="$shown" 'BEGIN { printf "%-22s  %16.2f ms  %16.2f ms\n", "of " size, ran / 1000, shown / 1000 }'
done
