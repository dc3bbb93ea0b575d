# The printed patch, read by git and patch(1): it must give the tree the guest left.
# In shell: bodies run twice, as root and as a user, on trees and in namespaces that tests/lib/fs.sh makes.
. "$TOP/tests/lib/tap.sh"
. "$TOP/tests/lib/fs.sh"
need git
need patch
export HOME=$tap_dir GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_DATE=2026-01-01T00:00:00Z GIT_COMMITTER_DATE=2026-01-01T00:00:00Z
git config --global user.email guest@vitro.test
git config --global user.name guest
git config --global safe.directory "*"
git config --global init.defaultBranch main

# files and types as git knows them: name, type and executable bit, link target, content
seen_by_git() {
    (cd "$1" && find . -name .git -prune -o \( -type f -o -type l \) -printf '%p %y %l\n' | LC_ALL=C sort &&
        find . -name .git -prune -o -type f -perm -100 -print | LC_ALL=C sort &&
        find . -name .git -prune -o -type f -print0 | LC_ALL=C sort -z | xargs -0r sha256sum)
}
# three equal checkouts: the worktree, one for the patch, one where the script runs natively
checkouts() {
    git init -q . && git add -A && git commit -qm start
    cp -a . ../patched && cp -a . ../native
    ready
}
# runs a script in the box and natively, and applies the printed patch: all three must agree
patch_agrees() { # patch_agrees SCRIPT [patch]
    box -- sh -c "$1"
    untouched
    "$VITRO" diff "$BUNDLE" >../out.patch 2>../out.err
    (cd ../native && sh -c "$1")
    if [ "${2:-git}" = git ]; then
        (cd ../patched && git apply ../out.patch)
    else
        (cd ../patched && patch -s -p1 <../out.patch)
    fi
    seen_by_git ../native >../native.list
    seen_by_git ../patched >../patched.list
    diff ../native.list ../patched.list
}

both_ways "edits, additions, deletions, modes and a missing newline are applied by git" '
    seq 1 100 >a; echo gone >b; printf nonl >c; echo m >d; : >e
    checkouts
    patch_agrees "sed -i \"s/^50\$/fifty/;3d\" a; echo 101 >>a; rm b; echo x >>c; chmod +x d; printf y >n; rm e; : >e2"'

both_ways "the same is applied by patch" '
    seq 1 100 >a; echo gone >b; printf nonl >c; echo d >d
    checkouts
    patch_agrees "sed -i \"s/^50\$/fifty/;3d\" a; echo 101 >>a; rm b; echo x >>c; printf y >n; mv d e" patch'

both_ways "binary files are applied by git" '
    printf "\000\001old" >bin; head -c 70000 "$FS_RUN" >big; echo text >totext
    checkouts
    patch_agrees "printf \"\\000\\002new\" >bin; tail -c 100000 $FS_RUN >big; printf \"a\\000b\" >totext; head -c 53 $FS_RUN >n53; rm -f none"'

both_ways "symlinks, and files that become symlinks or directories, are applied by git" '
    ln -s a l; echo f >tolink; ln -s x tofile; mkdir todir.d; echo 1 >todir.d/1; echo 2 >dir
    checkouts
    patch_agrees "ln -sfn b l; rm tolink; ln -s /etc/passwd tolink; rm tofile; echo now >tofile;
        rm -r todir.d; echo file >todir.d; rm dir; mkdir dir; echo in >dir/in; ln -s nowhere new"'

both_ways "odd names are applied by git" '
    odd=$(printf "q\"u\\\\o\nnl\ttab\351"); echo 1 >"$odd"; echo 2 >"with space"; echo 3 >"é"; echo 4 >" lead"
    echo 5 >"a b"; echo 6 >--; echo 7 >"\$(touch x)"
    checkouts
    patch_agrees "for f in *; do echo more >>\"./\$f\"; done; mv \"./a b\" \"./c d\"; echo n >\"new
line\""'

both_ways "renamed, replaced and emptied directories are applied by git" '
    mkdir -p d/e old keep; echo 1 >d/e/f; echo 2 >d/g; echo 3 >old/o; echo 4 >keep/k; echo 5 >keep/l
    checkouts
    patch_agrees "mv d dd; rm -r old; mkdir old; echo new >old/p; rm keep/k; mv keep/l dd/e/l; mkdir d; echo x >d/x"'

both_ways "an exact rename is shown as one, the same from one run to the next" '
    echo content >a; mkdir d; echo other >d/b
    checkouts
    box -- sh -c "mv a c; mv d/b d/e; chmod +x c"
    "$VITRO" diff "$BUNDLE" >../one 2>../err
    grep -qx "rename from a" ../one; grep -qx "rename to c" ../one; grep -qx "new mode 100755" ../one
    rm -r "$BUNDLE"
    box -- sh -c "mv a c; mv d/b d/e; chmod +x c"
    "$VITRO" diff "$BUNDLE" 2>../err | cmp - ../one'

both_ways "what a patch cannot say is counted" '
    echo a >a; checkouts
    box -- sh -c "mkdir e; mkfifo f; echo x >.git/x; echo y >>a"
    run "$VITRO" diff "$BUNDLE"
    status_is 0
    err_has "1 file changed, 1 line added, 0 removed"
    err_has "1 change inside .git is not in the patch"
    err_has "2 changes of directories, permissions or special files are not in the patch"'

both_ways "writes outside the worktree are counted, and listed with --all" '
    mkdir out wt2; cd wt2; ready
    box --share-tmp -- sh -c "echo outside >../out/o; echo inside >i"
    run "$VITRO" diff "$BUNDLE"
    err_has "1 write outside the worktree (--all lists it)"
    run "$VITRO" diff --all "$BUNDLE"
    out_has "outside: added file $WT/out/o (8 bytes)"
    run "$VITRO" diff --json "$BUNDLE"
    [ "$(jq -r ".changes[] | select(.outside) | .after.size" "$RUN/out")" = 8 ]'

both_ways "a file that changes on disk during the run is named" '
    echo a >a; echo b >b; ready; mkdir ../pass; mkfifo ../pass/go ../pass/done
    chmod 777 ../pass; chmod 666 ../pass/*
    (read -r x <../pass/go; echo moved >>a; echo >../pass/done) &
    trap "kill $! 2>/dev/null || :" EXIT
    box --writable ../pass -- sh -c "echo guest >>a; echo guest >>b; echo >../pass/go; read -r x <../pass/done"
    wait
    run "$VITRO" diff "$BUNDLE"
    err_has "'\''a'\'' changed on disk while the run went on"
    err_lacks "'\''b'\'' changed"
    err_has "was passed through: changes there are real"'

both_ways "of several files with one content some move and some go" '
    mkdir d; for f in x y z; do echo same >d/$f; done; ready
    box -- sh -c "mkdir e; cat d/x >e/y; echo other >e/x; rm -r d"; untouched
    run "$VITRO" diff "$BUNDLE"; status_is 0; out_has "rename from d/y"; out_has "rename to e/y"; out_has "+++ b/e/x"
    [ "$(grep -c "^deleted file" "$RUN/out")" = 2 ]
    as_guest "$VITRO" apply "$BUNDLE" >/dev/null; [ "$(cd e && cat x y)" = "$(printf "other\nsame")" ]; [ ! -e d ]'

test_that "mistakes are named" '
    run "$VITRO" diff none; status_is 2; err_has "open '\''none/fs/changes.jsonl'\''"
    err_has "hint: '\''none'\'' is not the bundle of a run"
    mkdir -p b/fs; echo "{}" >b/fs/changes.jsonl
    run "$VITRO" diff b; status_is 2; err_has "is not a list of changes"
    echo "{\"format\":\"vitro-changes\",\"version\":9}" >b/fs/changes.jsonl
    run "$VITRO" diff b; status_is 2; err_has "has version 9"
    head="{\"format\":\"vitro-changes\",\"version\":2,\"host\":{\"worktree\":\"/x\"},\"notes\":[]}"
    for path in ../up /abs a/../../b . a//b ""; do
        printf "%s\n{\"path\":\"%s\",\"before\":null,\"after\":{\"type\":\"dir\",\"mode\":\"0755\"}}\n" "$head" "$path" >b/fs/changes.jsonl
        run "$VITRO" diff b; status_is 2; err_has "changes.jsonl:2: this is no change"
    done
    printf "%s\n{\"path\":\"a\"" "$head" >b/fs/changes.jsonl
    run "$VITRO" diff b; status_is 2; err_has "cut short"'

tap_done
