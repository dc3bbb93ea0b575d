# The guest matrix twenty times: every guest in every form, and the runtimes, with the machine under load.
. "$TOP/tests/lib/tap.sh"
G=$TOP/tests/guests
(while :; do :; done) & load1=$!
(while :; do :; done) & load2=$!
trap 'kill $load1 $load2; rm -rf "$tap_dir"' EXIT

for source in "$G"/*.c; do
    name=$(basename "$source" .c)
    grep -q '^EXPECT$' "$source" && ! grep -q '^RACES' "$source" || continue
    for kind in "" .static .musl; do
        test_that "$name$kind: twenty runs are equal under load" '
            [ -x "$GUESTS/'"$name$kind"'" ] || skip "no musl-gcc"
            run "$VITRO" verify -n 20 --timeout 60s -- "$GUESTS/'"$name$kind"'"
            status_is 0'
    done
done
for what in "/usr/bin/python3 $G/hello_timers.py" "/usr/bin/python3 $G/randoms.py" "node $G/hello_timers.js" \
    "$GUESTS/hello_timers_go" "java -cp $GUESTS HelloTimers"; do
    test_that "twenty runs are equal under load: ${what##*/}" '
        need '"${what%% *}"'
        run "$VITRO" verify -n 20 --timeout 60s -- '"$what"'
        status_is 0'
done
test_that "twenty runs of git are equal under load" '
    run "$VITRO" verify -n 20 -- sh -c "
        mkdir repo; cd repo; git init -q .; echo text >file; git add file
        git -c user.name=a -c user.email=b commit -qm message; git log --format=%H"
    status_is 0'
tap_done
