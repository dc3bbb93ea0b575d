# The switches of the view: real, read-only, passed through, hidden, on disk, laid over.
# In shell: bodies run twice, as root and as a user, on trees and in namespaces that tests/lib/fs.sh makes.
. "$TOP/tests/lib/tap.sh"
. "$TOP/tests/lib/fs.sh"

both_ways "--fs real writes the real files" '
    ready
    as_guest "$FS_RUN" --fs real -- sh -c "echo real >r; echo \$\$ >/tmp/vitro-real.$$; ls -d /proc/[0-9]*" >../out
    [ "$(cat r)" = real ]; [ -e "/tmp/vitro-real.$$" ]; rm "/tmp/vitro-real.$$"
    [ "$(grep -c ^/proc ../out)" -le 3 ]'

both_ways "--fs ro lets nothing be written but in private places" '
    echo a >a; ready
    run as_guest "$FS_RUN" --fs ro -- sh -c "echo x >a; rm a; echo y >/usr/y; echo t >/tmp/t && cat /tmp/t a"
    out_is "t
a"
    err_has "Read-only file system"; untouched'

both_ways "--writable passes one directory through, and the report names it" '
    echo a >a; mkdir pass; ready
    box --writable pass -- sh -c "echo p >pass/p; echo x >a"
    [ "$(cat pass/p)" = p ]; [ "$(cat a)" = a ]
    run "$VITRO" diff "$BUNDLE"; err_has "$WT/pass'\'' was passed through"; out_lacks pass/p'

both_ways "--writable of what is not there is an error" '
    ready; run box --writable none -- true; status_is 125; err_has "--writable: find '\''none'\''"'

both_ways "--hide shows a directory or a file empty" '
    echo secret >s; mkdir d; echo secret >d/s; ready
    box --hide s --hide d --hide none -- sh -c "cat s; ls d; echo x >s; echo y >d/y; echo end" >../out 2>&1 || true
    ! grep -q secret ../out; grep -q end ../out; untouched
    run "$VITRO" diff "$BUNDLE"; out_is ""'

both_ways "--upper keeps the store on disk" '
    echo a >a; ready; as_guest mkdir ../store
    as_guest "$FS_RUN" --upper ../store --bundle "$BUNDLE" -- sh -c "echo x >>a; rm -rf d; mkdir d; echo y >d/y"
    untouched; [ -e ../store/layers ]
    "$VITRO" diff "$BUNDLE" 2>/dev/null | grep -qx "+x"
    run as_guest "$FS_RUN" --upper ../store -- true
    status_is 125; err_has "is not empty"; err_has "hint: --upper wants a new directory for each run"'

both_ways "files laid over the view are seen and are no change" '
    ready
    box --lay /etc/resolv.conf="nameserver 127.0.0.1" --lay "$WT/laid"=over -- sh -c "cat /etc/resolv.conf laid" >../out
    [ "$(cat ../out)" = "nameserver 127.0.0.1over" ]; untouched
    run "$VITRO" diff --all "$BUNDLE"; out_is ""'

both_ways "a worktree that is no directory is named" '
    echo f >f; ready; run box --worktree f -- true; status_is 125; err_has "f'\'' is not a directory"
    run box --worktree none -- true; status_is 125; err_has "worktree: find '\''none'\''"'

# Mounts of our own, in a mount namespace of our own; the rest of the body runs in there.
with_mounts() { # with_mounts BODY
    [ "$(id -u)" = 0 ] || skip "needs root to make mounts"
    export FS_USER WT BUNDLE FS_RUN TOP O VITRO
    unshare -m --propagation private bash -c ". $TOP/tests/lib/tap.sh; . $TOP/tests/lib/fs.sh; trap - EXIT; rm -rf \"\$tap_dir\"; set -e; cd \"\$WT\"; $1"
}

both_ways "writes to mounts inside the worktree stay in memory and are in the diff" '
    mkdir -p m/deep ro; echo top >top; mkdir src; echo in >src/in; mkdir -p src/sub; echo f >filemount; echo other >../other; ready
    with_mounts "
        mount --bind src m/deep; mount -t tmpfs t ro; echo r >ro/r; mount -o remount,ro ro
        mount --bind ../other filemount; mkdir -p src/sub/x; mount -t tmpfs u src/sub/x; chmod 777 src/sub/x
        tree_of m >../m.before
        box -- sh -c \"echo w >>m/deep/in; echo n >m/deep/new; echo t >>top; rm -f nothing; cat ro/r; echo x >ro/r || true; cat filemount; echo s >src/sub/x/s; cat src/sub/x/s\" >../out 2>&1
        tree_of m | diff ../m.before -
        [ -z \"\$(ls src/sub/x)\" ]
        [ \"\$(cat src/in top ../other)\" = \"in
top
other\" ]
        \"\$VITRO\" diff --all \"\$BUNDLE\" >../p 2>../err"
    grep -q "^r$" ../out; grep -q "^other$" ../out; grep -qi "read-only" ../out; grep -qx s ../out
    grep -q "^+++ b/m/deep/new" ../p; grep -q "^+++ b/m/deep/in" ../p; grep -q "^+++ b/top" ../p; grep -q "^+++ b/src/sub/x/s" ../p'

both_ways "a file mounted on its own may be changed in the box" '
    echo f >filemount; echo other >../other; chmod 666 ../other; ready
    [ "$FS_USER" = root ] || chown 1000:1000 ../other 2>/dev/null || true
    with_mounts "
        mount --bind ../other filemount
        box -- sh -c \"echo more >>filemount; cat filemount\" >../out
        [ \"\$(cat ../other)\" = other ]
        \"\$VITRO\" diff \"\$BUNDLE\" >../p 2>../err"
    [ "$(cat ../out)" = "other
more" ]
    grep -qx "+more" ../p'

both_ways "a mount that is taken away while the run goes on does not fail it" '
    mkdir m n ../src ../pass; echo f >../src/f; ready; mkfifo ../pass/go ../pass/done
    chmod 777 ../src ../pass; chmod 666 ../src/f ../pass/*
    with_mounts "
        mount --bind ../src m; mount --bind ../src n
        (read -r x <../pass/go; umount m n; rmdir m n; echo >../pass/done) &
        trap \"kill \$! 2>/dev/null || :\" EXIT
        box --writable ../pass -- sh -c \"echo new >n/new; echo >../pass/go; read -r x <../pass/done; cat m/f\" >../out
        \"\$VITRO\" diff \"\$BUNDLE\" >../p 2>../err"
    [ "$(cat ../out)" = f ]
    grep -qx "+++ b/n/new" ../p; ! grep -q "b/m/" ../p'

tap_done
