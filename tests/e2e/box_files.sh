# vitro run and files: nothing reaches the disk, everything is shown, and a person may keep it.
. "$TOP/tests/lib/tap.sh"
export HOME=$tap_dir/home XDG_STATE_HOME=$tap_dir/state
mkdir -p "$HOME"

tree() { (cd "$1" && find . -path ./.git -prune -o -printf "%p %m %y %l\n" -type f -exec sha256sum {} + | sort); }
repo() { # repo DIR: a checkout with a README
    git init -q "$1"; (cd "$1"; printf "one\ntwo\n" >README.md; mkdir src; echo int >src/a.c; git add -A
        git -c user.name=a -c user.email=b commit -qm first)
}

test_that "a run leaves the checkout as it was, and the diff tells all of it" '
    repo one; cp -a one two; cp -a one three; tree one >before
    cd one
    run "$VITRO" run -- sh -c "mkdir a; touch a/f; mv a b; rm README.md; mv src lib; echo 1 >>lib/a.c; ln -s lib link; chmod +x lib/a.c"
    status_is 0; err_has "(vitro diff)"
    tree . >../after; same ../before ../after
    "$VITRO" diff >../patch 2>/dev/null
    grep -q "deleted file mode" ../patch && grep -q "b/f" ../patch || fail "the patch lacks something"
    (cd ../two && git apply ../patch)
    run "$VITRO" apply --worktree ../three; status_is 0
    (cd ../two && find . -name .git -prune -o -type f -print | sort | xargs sha256sum) >../x
    (cd ../three && find . -name .git -prune -o -type f -print | sort | xargs sha256sum) >../y
    same ../x ../y
    [ ! -e ../three/src ] && [ -L ../three/link ] && [ -x ../three/lib/a.c ] || fail "three is not right"'

test_that "removing everything is harmless" '
    mkdir keep; echo 1 >keep/f; echo 2 >"$HOME/precious"
    run "$VITRO" run -- sh -c "rm -rf ~ /tmp/* keep ./* 2>/dev/null; ls keep" 
    [ "$(cat keep/f)" = 1 ] && [ "$(cat "$HOME/precious")" = 2 ] || fail "something is gone"'

test_that "--diff prints the patch, --apply on-success keeps it, a failed run keeps nothing" '
    echo a >f
    run "$VITRO" run --diff -- sh -c "echo b >>f"; status_is 0; out_has "+b"; [ "$(cat f)" = a ]
    run "$VITRO" run --apply on-success -- sh -c "echo b >>f; exit 3"; status_is 3; [ "$(cat f)" = a ]
    run "$VITRO" run --apply on-success -- sh -c "echo b >>f"; status_is 0; [ "$(wc -l <f)" = 2 ] || fail "not applied"
    run "$VITRO" run --apply always -- true; status_is 2; err_has "on-success"'

test_that "real, read-only, writable and hidden files are what they say" '
    mkdir out; echo 1 >f; echo secret >h
    run "$VITRO" run --fs ro -- sh -c "echo 2 >f"; [ "$status" != 0 ]; err_has "Read-only"
    run "$VITRO" run --fs real -- sh -c "echo 2 >f"; status_is 0; [ "$(cat f)" = 2 ] || fail "not real"
    run "$VITRO" run --writable "$PWD/out" -- sh -c "echo 3 >out/g; echo 3 >f"; status_is 0
    [ "$(cat out/g)" = 3 ] && [ "$(cat f)" = 2 ] || fail "writable"
    run "$VITRO" run --hide "$PWD/h" -- sh -c "wc -c <h"; out_is 0
    run "$VITRO" run --fs maybe -- true; status_is 2; err_has "--fs overlay"
    run "$VITRO" run --size-limit many -- true; status_is 2; err_has "64m"
    run "$VITRO" run --size-limit 4m -- sh -c "head -c 20000000 /dev/zero >big"; [ "$status" != 0 ]; err_has "No space left"'

test_that "a recording holds the changes, on the tape as well" '
    echo 1 >f
    run "$VITRO" run --record ../bundle -- sh -c "echo 2 >f; echo 3 >g"; status_is 0
    run "$VITRO" tape show ../bundle --kind file_write; out_has "g"
    run "$VITRO" diff ../bundle; out_has "+2"; out_has "+3"
    rm -rf ../bundle'

test_that "git commits in a box are the same every time, and leave no trace" '
    repo one; cd one; before=$(git rev-parse HEAD)
    commit() { run "$VITRO" run -- sh -c "echo 3 >>README.md; git -c user.name=a -c user.email=b commit -qam second; git rev-parse HEAD"; }
    commit; status_is 0; cp "$RUN/out" ../first; commit; status_is 0; same ../first "$RUN/out"
    [ "$(cat ../first)" != "$before" ] || fail "nothing was committed"
    [ "$(git rev-parse HEAD)" = "$before" ] || fail "the commit is there"'

test_that "an ordinary user renames directories of the lower layer" '
    [ "$(id -u)" = 0 ] || skip "needs root to become somebody else"
    mkdir -p w/d/e; echo 1 >w/d/e/f; cp "$VITRO" vitro; chmod -R a+rX .; chmod a+rwx w; chown -R 65534:65534 w
    chmod a+rx "$tap_dir" "$tap_dir"/*; cd w
    run setpriv --reuid 65534 --regid 65534 --clear-groups env HOME=/nonexistent XDG_STATE_HOME="$PWD/../s" ../vitro run -- /usr/bin/python3 -c "
import os; os.rename(\"d\", \"x\"); print(open(\"x/e/f\").read().strip(), os.path.exists(\"d\"))"
    status_is 0; out_is "1 False"; [ -e d/e/f ] || fail "d is gone"'

test_that "a directory larger than any buffer is listed in order, and can be emptied while it is read" '
    mkdir big; i=0; while [ $i -lt 3000 ]; do : >"big/$(( i * 7919 % 3000 ))-a-name-of-some-length"; i=$((i+1)); done
    run "$VITRO" run -- ls -U big; status_is 0
    LC_ALL=C sort -c "$RUN/out" || fail "not in order"
    [ "$(wc -l <"$RUN/out")" = 3000 ] || fail "not all names"
    run "$VITRO" run -- rm -rf big; status_is 0
    run "$VITRO" run -- perl -e "opendir D, q(big); readdir D for 1..2500; my \$t = telldir D; my \$n = readdir D;
        1 while readdir D; seekdir D, \$t; print readdir(D) eq \$n ? 1 : 0; rewinddir D; my @all = readdir D; print scalar @all"
    out_is 13002'

test_that "--trace-reads puts what was opened and listed on the tape, once with its content" '
    mkdir d; echo one >d/f; : >d/g
    run "$VITRO" run --trace-reads --record b -- sh -c "read x <d/f; echo \$x; cd d; echo *"; status_is 0
    hash=$(sha256sum <d/f); hash=${hash%% *}
    grep -q "\"content_hash\":\"$hash\",\"len_bytes\":4,\"path\":\"d/f\"" b/tape || fail "no file_read of d/f"
    names=$(printf "f\\0g\\0" | sha256sum); names=${names%% *}
    grep -q "\"content_hash\":\"$names\",\"entries\":2,\"path\":\"d\"" b/tape || fail "no dir_list of d"
    run "$VITRO" verify -n 3 --trace-reads -- sh -c "cat d/f; ls d"; status_is 0
    run "$VITRO" run --record c -- sh -c "read x <d/f"; status_is 0
    ! grep -q file_read c/tape || fail "reads are on the tape although nobody asked"'

test_that "names that are no UTF-8 are recorded like others" '
    odd=$(printf "e\\375")
    ln -s /bin/echo "./$odd"
    run "$VITRO" run --record b -- "./$odd" "$odd"; status_is 0
    run "$VITRO" tape verify b; status_is 0
    grep -q "{\"base64\":\"Zf0=\"}" b/tape || fail "the argument is not on the tape"
    run "$VITRO" run --record c -- sh -c "echo x >\"\$1\"" sh "$odd-new"; status_is 0
    grep -q "\"path\":{\"base64\"" c/tape || fail "the file is not on the tape"
    run "$VITRO" tape verify c; status_is 0'
tap_done
