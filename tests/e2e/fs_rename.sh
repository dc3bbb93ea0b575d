# Renaming directories that the worktree had before: the kernel's way with redirects as root, ours
# in a user namespace. Both must look like a plain rename.
# In shell: bodies run twice, as root and as a user, on trees and in namespaces that tests/lib/fs.sh makes.
. "$TOP/tests/lib/tap.sh"
. "$TOP/tests/lib/fs.sh"
MV=$FS_TOOLS/fs-mv
shape_of() {
    (cd "$1" && find . -printf '%p %y %m %l %T@\n' | grep -v '^\. ' | LC_ALL=C sort &&
        find . -type f -print0 | LC_ALL=C sort -z | xargs -0r sha256sum)
}
tree() {
    mkdir -p d/e/f d/empty; echo 1 >d/a; echo 2 >d/e/b; echo 3 >d/e/f/c; ln -s a d/l; mkfifo d/p
    chmod 2750 d/e; chmod 600 d/a; touch -d 2020-01-01 d/a d/e/f d/e d
    mkdir void full; echo x >full/x; echo file >file
}

both_ways "a directory of the worktree is renamed with all it holds" '
    tree; cp -a . ../native; ready
    box --share-tmp -- sh -c "$MV d moved d/e/b; (cd .; find moved -printf \"%p %y %m %l %T@\n\" | LC_ALL=C sort); test ! -e d" >../out
    if [ "$FS_USER" = root ]; then want=kernel; else want=moved; fi
    [ "$(head -n 2 ../out)" = "$want
2" ]
    untouched
    (cd ../native && mv d moved && find moved -printf "%p %y %m %l %T@\n" | LC_ALL=C sort) >../want
    tail -n +3 ../out | diff ../want -
    "$VITRO" diff "$BUNDLE" 2>/dev/null >../p
    [ "$(grep -c "^rename to moved/" ../p)" = 4 ]
    [ "$(grep -c "^diff" ../p)" = 4 ]'

both_ways "the errors are those of rename" '
    tree; ready
    box -- sh -c "$MV d full; $MV d d/e/in; $MV d file; $MV --noreplace d void; $MV none x; $MV --exchange d none; $MV d void; ls void" >../out
    tr "\n" " " <../out >../line
    case $(cat ../line) in
    "ENOTEMPTY EINVAL ENOTDIR EEXIST ENOENT ENOENT "*" a e empty l p ") ;;
    *) fail "got $(cat ../line)" ;;
    esac
    untouched'

both_ways "two directories change places" '
    tree; ready
    box -- sh -c "$MV --exchange d full; ls d; ls full" >../out
    [ "$(tail -n +2 ../out | tr "\n" " ")" = "x a e empty l p " ]
    untouched'

both_ways "a directory is renamed back and forth, and into another" '
    tree; ready
    box -- sh -c "$MV d e; $MV e d; $MV d full/sub; $MV full void; cat void/sub/e/f/c void/x" >../out
    [ "$(tail -n 2 ../out | tr "\n" " ")" = "3 x " ]
    ! grep -q E ../out
    "$VITRO" diff "$BUNDLE" 2>/dev/null | grep -qx "rename to void/sub/e/f/c"
    untouched'

both_ways "attributes of a directory go along" '
    mkdir d; echo x >d/x; setfattr -n user.note -v hello d 2>/dev/null || skip "no user attributes or no setfattr here"
    ready
    box -- sh -c "$MV d e; getfattr --only-values -n user.note e" >../out
    grep -q hello ../out; untouched'

tap_done
