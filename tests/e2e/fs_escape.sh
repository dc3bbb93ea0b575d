# Ways out of the box. Whatever a guest does, the worktree and what lies around it stay as they are.
# In shell: bodies run twice, as root and as a user, on trees and in namespaces that tests/lib/fs.sh makes.
. "$TOP/tests/lib/tap.sh"
. "$TOP/tests/lib/fs.sh"
ESCAPE=$TOP/$O/tools/fs-escape

# A directory beside the worktree that guests see but must not change.
around() {
    mkdir "$WT/../around"; echo precious >"$WT/../around/file"; chmod 777 "$WT/../around"; chmod 666 "$WT/../around/file"
    tree_of "$WT/../around" >"$WT/../around.before"
}
unharmed() {
    untouched
    tree_of "$WT/../around" | diff "$WT/../around.before" - || fail "the surroundings were touched"
}
# The guest runs to its end, whatever its status.
loose() { box --share-tmp "$@" >../out 2>&1 || true; }

both_ways "symlinks that point out" '
    around; ln -s ../around/file out; ln -s ../around dir; ln -s /etc/passwd abs; ready
    loose -- sh -c "echo x >out; echo y >dir/new; rm dir/file; echo z >abs; chmod 600 out; mv dir/new dir/old"
    unharmed; ! grep -q "^z" /etc/passwd'

both_ways "chains of dots, and /proc/self/root, cwd and fd" '
    around; echo a >a; ready
    loose -- sh -c "here=\$(pwd); echo x >../../../../../../../../../../..\$here/a; echo x >/proc/self/root\$here/a
        echo x >/proc/self/cwd/a; echo x >/proc/1/root\$here/a; echo x >/proc/1/cwd/a; echo x >../around/file; exec 7<a; echo x >/proc/self/fd/7"
    unharmed'

both_ways "the working directory and root of the supervisor" '
    around; echo a >a; ready
    loose -- sh -c "for p in $$ $PPID \$PPID; do echo x >/proc/\$p/cwd/a; echo x >/proc/\$p/root$WT/a; done"
    unharmed'

both_ways "hard links to a file outside, and renames across" '
    around; echo a >a; ready
    loose -- sh -c "ln ../around/file hard; echo x >>hard; chmod 700 hard; mv ../around/file moved; mv a ../around/b; echo y >>moved"
    unharmed'

both_ways "owners, permissions, times and sizes" '
    around; echo a >a; mkdir d; ready
    loose -- sh -c "chmod 777 a d . ../around ../around/file; chown 1:1 a ../around/file; touch -d 1990-01-01 a d ../around/file; truncate -s 0 a ../around/file"
    unharmed'

both_ways "a descriptor the caller left open" '
    around; echo a >a; ready
    (exec 7>>a 8<. 9<../around/file; loose -- sh -c "echo x >&7; echo y >/proc/self/fd/8/a; echo z >/proc/self/fd/9")
    unharmed'

both_ways "system calls that mount, unmount, make nodes, or work through standard input" '
    around; echo a >a; ready
    if box --share-tmp -- "$ESCAPE" <a >../escapes; then :; else fail "$(cat ../escapes)"; fi
    [ "$(grep -c " no (" ../escapes)" = 21 ] || fail "$(cat ../escapes)"
    unharmed'

both_ways "mount, umount and nsenter as commands, in a user namespace of the guest too" '
    around; echo a >a; ready
    loose -- sh -c "mkdir m; mount --bind ../around m; echo x >m/file; mount -t tmpfs t m; umount -l /; umount -l /tmp
        unshare -Urm sh -c \"umount -l /; umount -l /tmp; umount -l /dev; mount --bind ../around m; echo y >m/file; echo z >a\"
        nsenter -t 1 -m sh -c \"echo w >a\"; nsenter -t $$ -m sh -c \"echo v >a\""
    unharmed'

both_ways "writing a program that runs" '
    cp "$(command -v cat)" prog; mkfifo p; ready
    box -- sh -c "./prog p & exec 8>p; echo x >prog; exec 8>&-; wait" >../out 2>&1 || true
    grep -q "[Tt]ext file busy" ../out
    untouched'

both_ways "removing everything" '
    around; echo a >a; mkdir -p d/e; ready
    loose -- sh -c "HOME=$WT; rm -rf ~ /tmp/* ."
    unharmed
    [ -d /tmp ]'

both_ways "special files, temporary files, locks and shared memory work as they should" '
    echo a >a; ready
    box -- sh -c "mkfifo f; (echo through >f &); cat f; flock a echo locked; exec 9<>a; echo more >&9; cat a" >../out
    [ "$(tr "\n" " " <../out)" = "through locked more " ]
    untouched'

both_ways "a store that fills up is reported, and what fitted is kept" '
    echo a >a; ready
    run box --size-limit 2000000 --usage -- sh -c "echo small >s; head -c 5000000 /dev/zero >big"
    [ "$status" != 0 ]; err_has "No space left on device"; err_has "store: full"
    "$VITRO" diff "$BUNDLE" 2>/dev/null | grep -q "^+small"
    untouched
    rm -r "$BUNDLE"; run box --usage -- true; err_has "store: has room"'

both_ways "names with newlines, quotes and bytes that are no UTF-8" '
    ready
    box -- sh -c "echo 1 >\"\$(printf \"a\\nb\")\"; echo 2 >\"q\\\"uote\"; echo 3 >\"\$(printf \"\\377\\376\")\"; mkdir \"\$(printf \"d\\351\")\"; echo 4 >\"\$(printf \"d\\351\")/x\""
    untouched
    as_guest "$VITRO" apply "$BUNDLE" >/dev/null
    [ "$(cat "$(printf "a\nb")" "q\"uote" "$(printf "\377\376")" "$(printf "d\351")/x" | tr -d "\n")" = 1234 ]'

both_ways "a sparse file of five gigabytes" '
    ready
    box -- sh -c "truncate -s 5G big; printf end | dd of=big bs=1 seek=5000000000 conv=notrunc 2>/dev/null"
    untouched
    [ "$(du -s --apparent-size -k "$BUNDLE" | cut -f 1)" -lt 1000 ]
    run "$VITRO" diff "$BUNDLE"; err_has "1 file is too large for the patch"
    as_guest "$VITRO" apply "$BUNDLE" >/dev/null
    [ "$(stat -c %s big)" = 5368709120 ]; [ "$(du -k big | cut -f 1)" -lt 1000 ]
    [ "$(dd if=big bs=1 skip=5000000000 count=3 2>/dev/null)" = end ]'

both_ways "the supervisor killed while it sets up and while it gathers" '
    around; echo a >a; mkdir d; echo b >d/b; ready
    for n in 1 2 3 4 5 6; do
        st=0; (FS_RUN_KILL=$n; export FS_RUN_KILL; box --share-tmp -- sh -c "echo x >>a; rm -r d; echo y >../around/file") >../out 2>&1 || st=$?
        [ $st = 137 ] || fail "moment $n ended with $st"
        unharmed
    done'

# The guest says a word after each thing it does; the reader kills the supervisor at the nth word
# and then reads to the end, which comes when the last process of the box is gone.
both_ways "the supervisor killed at fifty moments while guests work" '
    around; echo a >a; mkdir d; echo b >d/b; ready; mkfifo ../words; chmod 666 ../words
    mounts=$(wc -l </proc/self/mountinfo)
    work="i=0; while :; do echo w; echo \$i >>a; echo w; mkdir n\$i; mv d d\$i; echo w; echo x >../around/file; mv d\$i d; echo w
        (while :; do :; done) & kill \$!; i=\$((i+1)); done"
    for n in $(seq 1 50); do
        guest_process "$FS_RUN" --share-tmp -- sh -c "$work" >../words 2>/dev/null & pid=$!
        exec 3<../words
        for k in $(seq 1 $n); do read -r word <&3; done
        kill -9 $pid
        cat <&3 >/dev/null
        exec 3<&-
        wait $pid || true
        unharmed
    done
    [ "$(wc -l </proc/self/mountinfo)" = "$mounts" ]'

tap_done
