# Extended attributes and files with several names: named beside the patch, and applied.
. "$TOP/tests/lib/tap.sh"
. "$TOP/tests/lib/fs.sh"
need git
need setfattr
export HOME=$tap_dir GIT_CONFIG_NOSYSTEM=1

facts_of() { (cd "$1" && find . -printf '%p %y %m %n %l\n' | LC_ALL=C sort && find . -type f -print0 | LC_ALL=C sort -z | xargs -0r cat &&
    getfattr -R -d -m "^user\\.[^o]" . | LC_ALL=C sort); }
fill() { # one of each, in a place that has attributes
    echo a >a; echo b >b; mkdir d; echo keep >keep; echo m >m; echo r >r
    setfattr -n user.k -v old a 2>/dev/null || skip "no attributes here"
    setfattr -n user.gone -v x b; setfattr -n user.keep -v 1 keep; setfattr -n user.r -v 1 r
    echo v >v; setfattr -n user.v -v 1 v; ln -s none link; mkdir was; setfattr -n user.w -v 1 was
}
changes='setfattr -n user.k -v new a; setfattr -n user.bin -v 0x00ff2c3d a; setfattr -n "user.o d,d=" -v 1 a; setfattr -n user.d -v 1 d
    setfattr -x user.gone b; echo more >>keep; mkdir e; setfattr -n user.e -v 2 e; echo n >n; setfattr -n user.n -v 1 n; mv r s
    ln n n2; ln n d/n3; ln b b2; echo t >t; ln t t2; mv t t3; mv m mm; ln mm mm2; echo more >>mm2
    mv v link; rmdir was; echo w >was'

both_ways "attributes and names of one file are told beside the patch" '
    fill; ready; cp -a . ../patched
    box -- true; as_guest "$FS_RUN" -- setfattr -n user.k -v y a || skip "the upper has no attributes on this kernel"
    box -- sh -c "$changes"; untouched
    run "$VITRO" diff "$BUNDLE"; status_is 0
    err_has "attributes of a: user.bin added, user.k changed, user.o%20d%2cd%3d added"
    err_has "attributes of b: user.gone removed"; err_lacks "attributes of keep"; err_lacks "attributes of s"
    err_has "b2 is another name of b"; err_has "n2 is another name of d/n3"
    out_lacks "attributes"; out_lacks "another name"
    (cd ../patched && git apply "$RUN/out" && [ "$(cat n2 b2 t2 s)" = "n
b
t
r" ])
    run "$VITRO" diff --stat "$BUNDLE"; out_has "attributes of d: user.d added"; out_has "t3 is another name of t2"
    run "$VITRO" diff --json "$BUNDLE"; out_has "\"xattrs\":\"user.d=31\""; out_has "\"link\":\"b\""'

both_ways "apply gives the attributes and names the program would have given" '
    fill; cp -a . ../native; ready
    as_guest "$FS_RUN" -- setfattr -n user.k -v y a || skip "the upper has no attributes on this kernel"
    box -- sh -c "$changes"; untouched
    (cd ../native && sh -c "$changes")
    as_guest "$VITRO" apply --dry-run "$BUNDLE" >/dev/null; untouched
    as_guest "$VITRO" apply "$BUNDLE" >/dev/null
    facts_of ../native >../wanted; facts_of . | diff ../wanted -
    [ "$(stat -c %i n)" = "$(stat -c %i d/n3)" ] && [ "$(stat -c %i b)" = "$(stat -c %i b2)" ]
    [ "$(stat -c %i mm)" = "$(stat -c %i mm2)" ] && [ "$(cat mm)" = "m
more" ]'

test_that "attributes that changed meanwhile are a conflict, and so is a name that is another file now" '
    fs_begin root; fill; ready; box -- sh -c "setfattr -n user.k -v new a; ln b b2"
    setfattr -n user.k -v third a; run "$VITRO" apply "$BUNDLE"; status_is 1; err_has "a: has other extended attributes now"
    setfattr -n user.k -v old a; echo other >b; run "$VITRO" apply "$BUNDLE"; status_is 1; err_has "b: has other content than the run saw"
    [ ! -e b2 ]; echo b >b; "$VITRO" apply "$BUNDLE" >/dev/null; [ b -ef b2 ]'

tap_done
