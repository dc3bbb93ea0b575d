# Every C guest, dynamic, static and with musl, does in a box what its EXPECT says, the same way in
# every run and under load.
# In shell: its tests are the files of tests/guests, and the load beside them is its own.
. "$TOP/tests/lib/tap.sh"

expected() { sed -n '/^EXPECT$/,/^\*\/$/p' "$TOP/tests/guests/$1.c" | sed '1d;$d'; }

for source in "$TOP"/tests/guests/*.c; do
    name=$(basename "$source" .c)
    grep -q '^EXPECT$' "$source" || continue
    for kind in "" .static .musl; do
        test_that "$name$kind behaves in a box as its comment says" '
            [ -x "$GUESTS/'"$name$kind"'" ] || skip "no musl-gcc"
            run "$VITRO" run --timeout 60s -- "$GUESTS/'"$name$kind"'"
            status_is 0
            expected '"$name"' >"$RUN/wanted"
            same "$RUN/wanted" "$RUN/out"'
    done
    ! grep -q '^RACES' "$source" || continue
    test_that "$name gives the same tape and output in 5 runs" '
        run "$VITRO" verify -n 5 --timeout 60s -- "$GUESTS/'"$name"'"
        status_is 0; out_has "ok  5 runs, equal"'
done

test_that "tapes are the same while the machine is under load" '
    (while :; do :; done) & load1=$!
    (while :; do :; done) & load2=$!
    trap "kill $load1 $load2" EXIT
    for guest in sleeps ready interrupted timers cond jobs; do
        run "$VITRO" verify -n 4 --timeout 60s -- "$GUESTS/$guest"
        status_is 0
    done'

test_that "a program alone with the clock stops once for a wait" '
    run "$VITRO" run --max-steps 1500 -- "$GUESTS/alone" 1000
    status_is 0'

test_that "a seed changes what is random, and nothing else does" '
    need python3
    run "$VITRO" run -- /usr/bin/python3 "$TOP/tests/guests/randoms.py"; status_is 0
    cp "$RUN/out" one
    run "$VITRO" run -- /usr/bin/python3 "$TOP/tests/guests/randoms.py"; status_is 0
    same one "$RUN/out"
    run "$VITRO" run --seed 2 -- /usr/bin/python3 "$TOP/tests/guests/randoms.py"; status_is 0
    ! cmp -s one "$RUN/out" || fail "another seed gave the same"
    run "$VITRO" run --random real -- /usr/bin/python3 "$TOP/tests/guests/randoms.py"; status_is 0
    ! cmp -s one "$RUN/out" || fail "real randomness gave the same"'
tap_done
