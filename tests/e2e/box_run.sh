# vitro run: nothing is left when it is killed. In shell, because the test kills the very process that starts the box and looks at
# its children in /proc; more in tests/vt/run.vt.
. "$TOP/tests/lib/tap.sh"

test_that "nothing is left when the caller is killed" '
    mkfifo ready
    "$VITRO" run --fs real --clock 2026-01-01,manual --control "$PWD/box" -- sh -c "echo up >ready; sleep 987654321 & sleep 987654321" >/dev/null 2>&1 &
    box=$!
    read line <ready
    supervisor=$(cat /proc/$box/task/$box/children)
    init=$(cat /proc/${supervisor% }/task/${supervisor% }/children)
    kill -9 $box
    wait $box 2>/dev/null || :
    # Both go by themselves; the loop ends when they have.
    n=0
    while [ -e "/proc/${supervisor% }" ] || [ -e "/proc/${init% }" ]; do
        n=$((n + 1)); [ $n -lt 200000 ] || fail "still there"
    done'

test_that "a guest in another root directory sees the machine and not nothing, and that is said" '
    need python3
    run "$VITRO" run --allow leak -- unshare -r /usr/bin/python3 -c "
import os
proc, dev = os.open(\"/proc\", os.O_PATH), os.open(\"/dev\", os.O_PATH)
os.mkdir(\"/tmp/empty\")
os.chroot(\"/tmp/empty\")
print(len(os.read(os.open(\"uptime\", os.O_RDONLY, dir_fd=proc), 99)) > 3)
print(len(os.read(os.open(\"urandom\", os.O_RDONLY, dir_fd=dev), 9)))"
    status_is 0
    out_is "True
9"
    err_has "proc/special"; err_has "dev/urandom"'
tap_done
