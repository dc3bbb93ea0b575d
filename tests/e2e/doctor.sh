# vitro doctor on machines that permit less. A user namespace of our own stands for them: what is
# switched off in it is off for everything below.
. "$TOP/tests/lib/tap.sh"
need unshare
unshare -Ur true 2>/dev/null || { echo "ok 1 - doctor # SKIP no user namespaces here"; echo 1..1; exit 0; }

test_that "a machine with everything is of tier A" '
    run "$VITRO" doctor; status_is 0; out_has "tier A"; out_lacks "missing  overlay"
    run "$VITRO" doctor --json; [ "$(jq -r .tier "$RUN/out")" = A ]'

test_that "without user namespaces and without root it is tier B, with the command that helps" '
    run unshare -Ur sh -c "echo 0 >/proc/sys/user/max_user_namespaces
        exec setpriv --bounding-set -all --inh-caps -all --securebits +noroot,+noroot_locked $VITRO doctor"
    status_is 0; out_has "tier B: no namespaces"
    out_has "missing  namespaces"; out_has "remedy: sudo sysctl -w user.max_user_namespaces=10000"
    out_has "clock      virtual"; out_has "files      not here"'

test_that "root of a container is not taken for real root" '
    run unshare -Ur "$VITRO" doctor
    status_is 0; out_has "files, network and processes of its own (in a user namespace)"; out_has "tier A"'

test_that "doctor leaves nothing behind" '
    before=$(cat /proc/self/mountinfo | wc -l)
    "$VITRO" doctor >/dev/null
    [ "$(cat /proc/self/mountinfo | wc -l)" = "$before" ]'

tap_done
