# Keeping what a run did: vitro apply gives the tree the program would have left.
# In shell: bodies run twice, as root and as a user, on trees and in namespaces that tests/lib/fs.sh makes.
. "$TOP/tests/lib/tap.sh"
. "$TOP/tests/lib/fs.sh"
need git
export HOME=$tap_dir GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_DATE=2026-01-01T00:00:00Z GIT_COMMITTER_DATE=2026-01-01T00:00:00Z
git config --global user.email guest@vitro.test
git config --global user.name guest
git config --global safe.directory "*"
git config --global init.defaultBranch main

# names, types, modes, links and contents, but no times
shape_of() {
    (cd "$1" && find . -printf '%p %y %m %l\n' | LC_ALL=C sort &&
        find . -type f -print0 | LC_ALL=C sort -z | xargs -0r sha256sum)
}
apply_agrees() { # apply_agrees SCRIPT: box and apply, against native
    cp -a . ../native
    ready
    box -- sh -c "$1"
    untouched
    (cd ../native && as_guest sh -c "$1")
    as_guest "$VITRO" apply --dry-run "$BUNDLE" >/dev/null
    untouched
    as_guest "$VITRO" apply "$BUNDLE" >/dev/null
    shape_of ../native >../native.list; shape_of . >../applied.list
    diff ../native.list ../applied.list
}

both_ways "apply gives the tree the program would have left" '
    seq 1 100 >a; echo gone >b; mkdir -p d/e old; echo 1 >d/e/f; echo 2 >d/g; echo 3 >old/o; ln -s a l
    printf "\000\001" >bin; echo m >m; chmod 640 m; echo "odd" >"$(printf "o\"d\\\\\nd\351")"
    chown -hR 1000:1000 . 2>/dev/null || true
    apply_agrees "sed -i s/50/fifty/ a; rm b; mv d dd; rm -r old; mkdir old; echo p >old/p; ln -sfn b l; mkdir -p empty/er
        printf \"\\000\\002\" >bin; chmod 750 m; mkfifo pipe; for f in o*d*; do [ -d \"\$f\" ] || echo x >>\"\$f\"; done
        mkdir closed; echo c >closed/c; chmod 500 closed; umask 077; echo s >secret"'

both_ways "a second apply of the same run is a conflict" '
    echo a >a; ready; box -- sh -c "echo b >>a; echo n >n"
    as_guest "$VITRO" apply "$BUNDLE"
    run as_guest "$VITRO" apply "$BUNDLE"
    status_is 1; err_has "a: has other content than the run saw"; err_has "n: is there, but was not"
    err_has "hint: nothing was changed"'

both_ways "a checkout through npm, git and mv is left alone, and git and vitro apply agree" '
    need npm
    echo "# readme" >README.md; echo code >main.c
    git init -q . && git add -A && git commit -qm start
    cp -a . ../second; ready
    box -- sh -c "HOME=/tmp; export HOME; npm init -y >/dev/null 2>&1; git init -q; mkdir a; touch a/f; mv a b; rm README.md"
    untouched
    "$VITRO" diff "$BUNDLE" >../p 2>../err
    grep -c "^diff --git" ../p | grep -qx 3
    grep -qx "deleted file mode 100644" ../p
    grep -q "^diff --git a/b/f b/b/f" ../p
    grep -q "^diff --git a/package.json b/package.json" ../p
    (cd ../second && git apply ../p)
    as_guest "$VITRO" apply "$BUNDLE" >/dev/null
    (cd .. && rm -rf wt/.git second/.git)
    shape_of . >../one; shape_of ../second >../two; diff ../one ../two'

both_ways "apply to another directory" '
    echo a >a; cp -a . ../other; ready
    box -- sh -c "echo b >>a"
    [ "$FS_USER" = root ] || chown -R 1000:1000 ../other 2>/dev/null || true
    as_guest "$VITRO" apply --worktree ../other "$BUNDLE" >/dev/null
    untouched; [ "$(cat ../other/a)" = "a
b" ]'

test_that "a file that its own user may not read is known by its facts" '
    fs_begin user; echo 2 >no; echo 3 >other; ready; chmod 000 no; export XDG_STATE_HOME=$PWD/../state; as_guest mkdir "$XDG_STATE_HOME"
    as_guest "$VITRO" run -q -- sh -c "mv no yes; chmod 600 yes; echo more >>yes"
    echo longer >no; run as_guest "$VITRO" apply; status_is 1; err_has "no: has other content than the run saw"; echo 2 >no
    as_guest "$VITRO" apply >/dev/null; [ ! -e no ] && [ "$(cat yes)" = "2
more" ]'

test_that "a damaged content is refused before anything is done" '
    fs_begin user; echo a >a; ready; box -- sh -c "echo b >>a"; shape_of . >../shape
    printf evil | dd of="$BUNDLE/fs/contents.pack" bs=1 seek=8 conv=notrunc 2>/dev/null
    run "$VITRO" apply "$BUNDLE"
    status_is 2; err_has "is damaged: its bytes have another hash"
    shape_of . | diff ../shape -'

tap_done
