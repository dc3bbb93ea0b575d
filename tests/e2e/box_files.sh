# vitro run and files: checkouts, other users, large directories. More in tests/vt/box_files.vt.
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

# Written in three rounds a day apart: each file has the time of its round, and few calls needed a stop.
test_that "very many files carry the times of the clock, without a stop for each" '
    cat >many.py <<"EOF"
import os, time
start = time.time()
for day in range(3):
    for i in range(200):
        n = f"{day}-{i}"
        open("f" + n, "w").write(n); os.mkdir("d" + n); os.link("f" + n, "l" + n); os.symlink("f" + n, "s" + n)
        fd = os.open("d" + n, os.O_PATH); os.mkdir("sub", dir_fd=fd); os.symlink("x", "y", dir_fd=fd); os.close(fd)
    time.sleep(86400)
wrong = [n for n in os.listdir() if n[0] in "fdls" and n != "many.py" and os.lstat(n).st_mtime - start != 86400 * int(n[1])]
print(len(os.listdir()), wrong[:5])
os.utime("f0-0", ns=(5, 7)); st = os.stat("f0-0"); print(st.st_atime_ns, st.st_mtime_ns, st.st_ctime - start)
os.utime("f0-1"); print(os.stat("f0-1").st_mtime - start)
os.utime("f0-2", ns=(2**62, 2**62)); print(os.stat("f0-2").st_mtime_ns == 2**62, os.lstat("l0-2").st_mtime_ns == 2**62)
EOF
    run "$VITRO" run --json --clock 2030-01-01 -- python3 many.py; status_is 0
    out_is "2401 []
5 7 259200.0
259200.0
True True"
    stops=$(sed "s/.*\"stops\":\([0-9]*\).*/\1/" "$RUN/err"); [ "$stops" -gt 0 ] && [ "$stops" -lt 8500 ] || fail "$stops stops"'

tap_done
