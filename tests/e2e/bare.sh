# Boxes where the machine permits no namespaces, as in a container with Docker's default profile. In shell, because it
# takes a user namespace whose limits are zero.
. "$TOP/tests/lib/tap.sh"

limits='for n in user mnt pid net ipc uts; do echo 0 >/proc/sys/user/max_${n}_namespaces; done'
bare() { unshare -Ur sh -c "$limits"'; exec "$@"' sh "$@"; }
bare_test() { # bare_test SENTENCE BODY
    test_that "$1" 'unshare -Ur true 2>/dev/null || skip "no user namespaces to make this in"
'"$2"
}
real="--fs real --net real"

bare_test "an axis that cannot be had is named, with its cause and what to type" '
    run bare "$VITRO" run -- touch made; status_is 125
    err_has "files of its own (--fs): make a user namespace: "
    err_has "remedy: "; err_has "makes do with the clock, chance and recorded programs"
    [ ! -e made ]
    run bare "$VITRO" run --fs real -- true; status_is 125; err_has "a network of its own (--net): "
    run bare "$VITRO" run $real --hide /etc/passwd -- true; status_is 125; err_has "files that are hidden or put over others: "
    run bare "$VITRO" doctor; status_is 0; out_has "tier B"; out_has "--fs real does without"'

bare_test "clock, chance and identity are virtual there" '
    run bare "$VITRO" run $real -- sh -c "date; sleep 86400; date; cat /proc/uptime; uname -n"; status_is 0
    printf "%s\n" "Thu Jan  1 00:00:00 UTC 2026" "Fri Jan  2 00:00:00 UTC 2026" "172800.00 172800.00" vitro >wanted
    same wanted "$RUN/out"
    err_has "note: no namespaces here (vitro doctor): files, network and process numbers are the machine'\''s"
    run bare "$VITRO" run -q $real -- head -c 16 /dev/urandom; cp "$RUN/out" one
    run bare "$VITRO" run -q $real -- head -c 16 /dev/urandom; same one "$RUN/out"
    run "$VITRO" run -q -- head -c 16 /dev/urandom; same one "$RUN/out"
    run bare "$VITRO" verify -n 3 $real -- sh -c "sleep 5; date; (sleep 2; echo a) & sleep 1; echo b; wait"; status_is 0'

bare_test "subprocesses are recorded and played there" '
    printf "#!/bin/sh\necho from the tool \$1\n" >tool; chmod +x tool
    run bare "$VITRO" run $real --record kept -- sh -c "PATH=$PWD:\$PATH; tool 7; tool 8"; status_is 0
    rm tool
    run bare "$VITRO" replay kept; status_is 0; out_has "from the tool 7"; out_has "from the tool 8"
    run "$VITRO" replay kept; status_is 0; out_has "from the tool 8"'

bare_test "nobody is left there: orphans, forks without end, a killed supervisor" '
    run bare "$VITRO" run $real -- sh -c "(setsid sleep 4004 &); exit 0"; status_is 121; err_has "process/orphan"
    run bare "$VITRO" run $real --max-procs 40 -- sh -c "f() { f | f & }; f 4004"; status_is 124; err_has "more than 40 processes"
    mkfifo started
    bare "$VITRO" run $real -- sh -c "echo >started; sleep 4004; while :; do :; done" & box=$!
    read -r line <started
    supervisor=$(cat /proc/$box/task/$box/children)
    kill -9 $supervisor
    wait $box || :
    TMPDIR=${PWD%/*} run sh "$TOP/tests/lib/left.sh" "sleep 4004" "sh -c"; out_is ""
    run bare "$VITRO" run -q $real -- head -c 4 /dev/urandom; status_is 0'

tap_done
