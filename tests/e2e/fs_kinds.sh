# What file systems do beyond reading and writing works in the view, and is in the diff where it shows.
# In shell: bodies run twice, as root and as a user, on trees and in namespaces that tests/lib/fs.sh makes.
. "$TOP/tests/lib/tap.sh"
. "$TOP/tests/lib/fs.sh"
ACTS=$FS_TOOLS/fs-acts

both_ways "a file without a name gets one by linkat, and is in the diff" '
    mkdir d; ready
    box -- sh -c "cd d && $ACTS tmpfile n && cat n" >../out
    untouched; printf "nameless\nnamed\n" | cmp - ../out
    "$VITRO" diff "$BUNDLE" 2>/dev/null | grep -qx "+++ b/d/n"
    as_guest "$VITRO" apply "$BUNDLE" >/dev/null; [ "$(stat -c %a d/n)" = 640 ]; cmp d/n ../out'

both_ways "two processes write to one file through shared mappings" '
    head -c 8192 "$FS_RUN" >f; cp f ../wanted; ready
    box -- "$ACTS" mmap f
    untouched
    as_guest "$VITRO" apply "$BUNDLE" >/dev/null
    printf P | dd of=../wanted conv=notrunc status=none; printf C | dd of=../wanted bs=1 seek=5000 conv=notrunc status=none
    cmp f ../wanted'

both_ways "locks keep out other processes, also when the file is copied between" '
    echo lock >f; echo lock >p; ready
    box -- sh -c "$ACTS flock f && $ACTS posix p"
    untouched
    [ "$(grep -c "\"path\"" "$BUNDLE/fs/changes.jsonl")" = 1 ]'

both_ways "a lock of the host and one of a guest do not meet" '
    need flock
    echo lock >f; ready
    exec 8<f; flock 8
    box -- flock -n f true
    exec 8<&-; untouched'

both_ways "attributes are set and read, and the real file keeps its own" '
    need setfattr
    echo a >a; echo b >b; setfattr -n user.old -v 1 a 2>/dev/null || skip "no user attributes here"; ready
    box -- sh -c "setfattr -n user.new -v 2 a; setfattr -x user.old a; setfattr -n user.b -v 3 b; mkdir d; setfattr -n user.d -v 4 d; mv d e
        getfattr -d a b e" >../out
    untouched
    grep -qx "user.new=\"2\"" ../out; grep -qx "user.b=\"3\"" ../out; grep -qx "user.d=\"4\"" ../out
    ! grep -q user.old ../out
    [ "$(getfattr -d a | grep user)" = "user.old=\"1\"" ]; [ -z "$(getfattr -d b)" ]'

both_ways "fifos carry bytes between guests, those of the worktree and new ones" '
    mkfifo old; ready
    box -- sh -c "(echo through old >old) & cat old; wait; mkfifo new; (echo through new >new) & cat new; wait" >../out
    untouched
    printf "through old\nthrough new\n" | cmp - ../out
    as_guest "$VITRO" apply "$BUNDLE" >/dev/null; [ -p new ] && [ -p old ]'

both_ways "a fifo of the worktree does not lead out of the box" '
    mkfifo f; chmod 666 f; ready; exec 7<>f
    box -- sh -c "exec 6<>f; echo secret >&6"
    if read -r -t 0 x <&7; then fail "a guest wrote to a reader outside"; fi
    exec 7<&-; untouched'

both_ways "hard links that guests make are kept" '
    echo a >a; ready
    box -- sh -c "ln a b; echo more >>b; cat a; stat -c %h a b; echo n >n; mkdir d; ln n d/m; mv d e; echo m >>e/m; cat n" >../out
    untouched
    printf "a\nmore\n2\n2\nn\nm\n" | cmp - ../out
    as_guest "$VITRO" apply "$BUNDLE" >/dev/null; [ "$(cat a b n e/m)" = "$(printf "a\nmore\na\nmore\nn\nm\nn\nm")" ]'

test_that "hard links of the worktree are kept when written to, as root" '
    fs_begin root; echo a >a; ln a b; ready
    box -- sh -c "echo more >>a; cat b" >../out; untouched; printf "a\nmore\n" | cmp - ../out
    run "$VITRO" diff "$BUNDLE"; err_has "$WT/a'\'' has other names on disk: they are not in the diff"'

test_that "hard links of the worktree are kept when their directory is moved, as root" '
    fs_begin root; mkdir -p d/e; echo a >d/a; ln d/a d/e/b; echo c >d/c; ready
    box -- sh -c "mv d m"; untouched
    "$VITRO" apply "$BUNDLE" >/dev/null; [ "$(stat -c %h m/a m/e/b m/c | tr -d "\\n")" = 221 ]; [ m/a -ef m/e/b ]'

# The kernel keeps them by an index, which it does not have for users (docs/decisions/0020).
test_that "hard links of the worktree part when written to, as a user" '
    fs_begin user; echo a >a; ln a b; ready
    box -- sh -c "echo more >>a; cat b" >../out; untouched; echo a | cmp - ../out
    run "$VITRO" diff "$BUNDLE"; err_has "$WT/a'\'' has other names on disk: they are not in the diff"
    [ "$(grep -c "\"path\"" "$BUNDLE/fs/changes.jsonl")" = 1 ]'

both_ways "the patch is coloured on a terminal only" '
    need script
    echo a >a; ready; box -- sh -c "echo b >a"
    export TERM=xterm; unset NO_COLOR
    escape=$(printf "\033")
    "$VITRO" diff "$BUNDLE" >../plain 2>/dev/null
    if grep -q "$escape" ../plain; then fail "a pipe got colours"; fi
    script -qec "$VITRO diff $BUNDLE 2>/dev/null" /dev/null </dev/null | tr -d "\r" >../coloured
    grep -qxF "$escape[32m+b$escape[m" ../coloured; grep -qxF "$escape[31m-a$escape[m" ../coloured
    sed "s/$escape\[[0-9]*m//g" ../coloured | cmp - ../plain
    NO_COLOR=1 script -qec "$VITRO diff $BUNDLE 2>/dev/null" /dev/null </dev/null | tr -d "\r" | cmp - ../plain'

tap_done
