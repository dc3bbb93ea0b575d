# tap.sh: shell tests in sentences. Source it first; it makes an empty directory and goes there.
#
#     . "$TOP/tests/lib/tap.sh"
#     test_that "a missing tape is named" '
#         run "$VITRO" tape show none.tape
#         status_is 2; err_has "none.tape"'
#     tap_done
#
# A test body runs in a subshell of its own in a fresh directory with `set -e`; `run` leaves the
# exit status in $status and the output in files out and err of $RUN.
TOP=${TOP:-$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)}
O=${O:-build}
VITRO=${VITRO:-$TOP/$O/vitro}
GUESTS=$TOP/build/guests # never sanitised
tap_dir=$(mktemp -d "${TMPDIR:-/tmp}/vitro-e2e.XXXXXX")
trap 'rm -rf "$tap_dir"' EXIT
tap_count=0 tap_failed=0
RUN=

test_that() { # test_that SENTENCE BODY
    tap_count=$((tap_count + 1))
    local dir=$tap_dir/$tap_count log=$tap_dir/$tap_count.log st
    mkdir -p "$dir/run"
    (
        RUN=$dir/run
        mkdir -p "$dir/work"
        cd "$dir/work"
        trap 'kill $(jobs -p) 2>/dev/null || :' EXIT # what a body left in the background would hold our files open
        set -e
        eval "$2"
    ) >"$log" 2>&1
    st=$?
    if [ $st = 0 ]; then
        echo "ok $tap_count - $1"
    elif [ $st = 77 ]; then
        echo "ok $tap_count - $1 # SKIP $(tail -n 1 "$log")"
    else
        echo "not ok $tap_count - $1"
        sed 's/^/#   /' "$log"
        tap_failed=$((tap_failed + 1))
    fi
    rm -rf "$dir" "$log"
}
skip() { echo "$*"; exit 77; }
need() { command -v "$1" >/dev/null 2>&1 || skip "$1 is not installed (tools/deps test)"; }
run() { # run COMMAND...: never fails; status, $RUN/out, $RUN/err
    status=0
    "$@" >"$RUN/out" 2>"$RUN/err" || status=$?
}
fail() { echo "FAIL: $*"; [ ! -e "$RUN/out" ] || { echo "--- out"; tail -n 40 "$RUN/out"; echo "--- err"; tail -n 40 "$RUN/err"; }; exit 1; }
status_is() { [ "$status" = "$1" ] || fail "status is $status, not $1"; }
out_is() { [ "$(cat "$RUN/out")" = "$1" ] || fail "output is not «$1»"; }
out_has() { grep -qF -- "$1" "$RUN/out" || fail "output lacks «$1»"; }
out_lacks() { ! grep -qF -- "$1" "$RUN/out" || fail "output has «$1»"; }
err_has() { grep -qF -- "$1" "$RUN/err" || fail "error output lacks «$1»"; }
err_lacks() { ! grep -qF -- "$1" "$RUN/err" || fail "error output has «$1»"; }
same() { cmp "$1" "$2" || fail "$1 and $2 differ: $(diff "$1" "$2" | head -20)"; }
tap_done() { echo "1..$tap_count"; [ $tap_failed = 0 ]; }
