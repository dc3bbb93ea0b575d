# vitro test, killed: the next one clears away what it left. In shell, because the test kills the runner while its scenario plays;
# the rest is in tests/vt/scenario*.vt.
. "$(dirname "$0")/../lib/tap.sh"
export TMPDIR=$tap_dir # sandboxes of these tests are their own

file() { cat >"$1"; }

test_that "a killed player leaves nothing: the next one clears it away" '
    file a.vt <<VT
plain
exec ./wait
-- wait --
#!/bin/sh
echo \$\$ >$PWD/pid
exec sleep 1000
VT
    "$VITRO" test a.vt >/dev/null 2>&1 &
    runner=$!
    until [ -s pid ]; do :; done
    kill -9 $runner; wait $runner 2>/dev/null || true
    until "$VITRO" test --sweep --dry-run | grep -q /a-; do :; done
    run "$VITRO" test --sweep; status_is 0; out_has "/a-"
    [ ! -s /proc/$(cat pid)/environ ] || fail "the program still runs"
    run "$VITRO" test --sweep; out_is ""'
tap_done
