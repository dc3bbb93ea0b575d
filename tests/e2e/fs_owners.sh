# Changes of owners: named beside the patch, and applied where that is permitted.
# In shell: bodies run twice, as root and as a user, on trees and in namespaces that tests/lib/fs.sh makes.
. "$TOP/tests/lib/tap.sh"
. "$TOP/tests/lib/fs.sh"
need git
need jq
export HOME=$tap_dir GIT_CONFIG_NOSYSTEM=1

owners_of() { (cd "$1" && find . -printf '%p %y %m %U:%G %l\n' | LC_ALL=C sort && find . -type f -print0 | LC_ALL=C sort -z | xargs -0r cat); }
# A worktree of root with one of each, and a script that gives them away.
fill() {
    echo a >a; echo b >b; echo c >"c c"; mkdir d; echo e >d/e; ln -s a l; echo s >suid; chmod 4755 suid; echo m >m; echo same >same
}
gives='chown 1000:1001 a; echo more >>b; chown 1000 b; chown 7:8 "c c"; chown 1000:1000 d; chown -h 1000:1000 l
    chown 1000 suid; chmod 4755 suid; mv m n; chown 5 n; echo new >new; chown 1000:1000 new; mkdir e; chown 1000 e; chown 0:0 same
    mkfifo p; chown 1000 p'

test_that "changes of owners are named, and the patch is still one for git" '
    fs_begin root; fill; cp -a . ../patched; ready
    box -- sh -c "$gives"; untouched
    run "$VITRO" diff "$BUNDLE"; status_is 0
    err_has "owner of a: 0:0 -> 1000:1001"
    err_has "owner of b: 0:0 -> 1000:0"
    err_has "owner of c c: 0:0 -> 7:8"
    err_has "owner of l: 0:0 -> 1000:1000"
    err_has "owner of n: 0:0 -> 5:0"
    err_has "owner of new: 1000:1000"
    err_has "10 changes of owners are not in the patch"
    err_lacks "owner of same"; err_lacks "more (--stat"; out_lacks "owner of"
    (cd ../patched && git apply "$RUN/out" && [ "$(cat b n new)" = "b
more
m
new" ])
    run "$VITRO" diff --stat "$BUNDLE"; out_has "owner of d: 0:0 -> 1000:1000"; out_has "owner of e: 1000:0"
    run "$VITRO" diff --json "$BUNDLE"
    [ "$(jq -c ".changes[] | select(.path == \"a\") | [.before.uid, .before.gid, .after.uid, .after.gid]" "$RUN/out")" = "[0,0,1000,1001]" ]
    [ "$(jq -c "[.changes[] | select(.path == \"same\")]" "$RUN/out")" = "[]" ]'

test_that "apply gives the owners the program would have given" '
    fs_begin root; fill; cp -a . ../native; ready
    box -- sh -c "$gives"; untouched
    (cd ../native && sh -c "$gives")
    "$VITRO" apply --dry-run "$BUNDLE" >/dev/null; untouched
    "$VITRO" apply "$BUNDLE" >/dev/null
    owners_of ../native >../wanted; owners_of . | diff ../wanted -'

test_that "who may not give files away is told so, and nothing is done" '
    fs_begin root; mkdir w; cd w; echo a >a; echo b >b; chown -R 1000:1000 .; chmod 755 .. ../..
    box -- sh -c "echo more >>a; chown 0:0 b"
    chmod -R a+rX "$BUNDLE"; owners_of . >../w.before
    FS_USER=user
    for how in --dry-run --; do
        run as_guest "$VITRO" apply $how "$BUNDLE"; status_is 2
        err_has "'\''b'\'' is to belong to 0:0, which only root may do"; err_has "hint: nothing was changed; apply as root"
        owners_of . | diff ../w.before -
    done'

test_that "a file that was given to somebody else meanwhile is a conflict" '
    fs_begin root; echo a >a; ready; box -- chown 1000:1000 a
    chown 7:7 a; run "$VITRO" apply "$BUNDLE"; status_is 1; err_has "a: belongs to somebody else now"
    [ "$(stat -c %u:%g a)" = 7:7 ]'

test_that "of many owners the first are named, and all with --stat" '
    fs_begin root; touch f10 f11 f12 f13 f14 f15 f16 f17 f18 f19 f20 f21; ready; box -- sh -c "chown 1000 f*"
    run "$VITRO" diff "$BUNDLE"; err_has "owner of f19: 0:0 -> 1000:0"; err_lacks "owner of f20"; err_has "and 2 more (--stat lists them)"
    run "$VITRO" diff --stat "$BUNDLE"; out_has "owner of f21: 0:0 -> 1000:0"'

both_ways "files made and changed by their owner tell none" '
    echo a >a; mkdir d; echo b >d/b; ready
    box -- sh -c "echo n >n; echo more >>a; mv d e; chmod 600 e/b; rm a; echo a2 >a"
    if grep -q uid "$BUNDLE/fs/changes.jsonl"; then fail "an owner is told"; fi'

test_that "without root, replacing a file of somebody else is a change of owner that may be applied" '
    [ "$(id -u)" = 0 ] || skip "needs root to prepare it"
    fs_begin user; echo a >a; ready; chown 0:0 a
    box -- sh -c "echo mine >n; mv -f n a"
    run "$VITRO" diff "$BUNDLE"; err_has "owner of a: 0:0 -> 1000:1000"
    as_guest "$VITRO" apply "$BUNDLE" >/dev/null; [ "$(stat -c %u:%g a) $(cat a)" = "1000:1000 mine" ]'

test_that "owners outside the worktree are listed with --all" '
    fs_begin root; mkdir in; echo o >o; cd in
    box --share-tmp -- chown 1000 ../o
    run "$VITRO" diff --all "$BUNDLE"; out_has "outside: owner of $WT/o: 0:0 -> 1000:0"'

test_that "damaged owners are refused" '
    mkdir -p b/fs
    head="{\"format\":\"vitro-changes\",\"version\":2,\"host\":{\"worktree\":\"/x\"},\"notes\":[]}"
    for owner in "\"uid\":1" "\"uid\":-1,\"gid\":0" "\"uid\":4294967295,\"gid\":0" "\"uid\":\"0\",\"gid\":0"; do
        printf "%s\n{\"path\":\"a\",\"before\":null,\"after\":{\"type\":\"dir\",\"mode\":\"0755\",%s}}\n" "$head" "$owner" >b/fs/changes.jsonl
        run "$VITRO" diff b; status_is 2; err_has "changes.jsonl:2: this is no change"
    done'

tap_done
