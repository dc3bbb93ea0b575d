# fs.sh: shell tests of the file system view. Source it after tap.sh.
#
# Each body given to `both_ways` runs twice: as real root without a user namespace, and as an
# ordinary user in one. In it, `box` starts a program in a bare box (tests/tools/fs_run.c), $WT is a
# worktree of its own and `as_guest` runs a command as whoever the guest is.
case ${FS_TOOLS:=$TOP/$O/tools} in
/tmp/*) # where the view's private /tmp would hide them
    FS_TOOLS=$(mktemp -d /var/tmp/vitro-fs-tools.XXXXXX)
    cp "$TOP/$O"/tools/* "$FS_TOOLS" && chmod 755 "$FS_TOOLS"
    trap 'rm -rf "$tap_dir" "$FS_TOOLS"' EXIT
    ;;
esac
export FS_TOOLS # a shell that a test starts uses the same
FS_RUN=$FS_TOOLS/fs-run
chmod 711 "$tap_dir"
as_guest() {
    if [ "$FS_USER" = root ] || [ "$(id -u)" != 0 ]; then
        "$@"
    else
        setpriv --reuid 1000 --regid 1000 --clear-groups "$@"
    fi
}
guest_process() { # for the background: $! is the command itself, not a shell around it
    if [ "$FS_USER" = root ] || [ "$(id -u)" != 0 ]; then
        exec "$@"
    else
        exec setpriv --reuid 1000 --regid 1000 --clear-groups "$@"
    fi
}
fs_begin() { # fs_begin root|user: an empty worktree, owned by that user, and the right to use it
    FS_USER=$1
    [ "$FS_USER" = user ] || [ "$(id -u)" = 0 ] || skip "needs root"
    WT=$PWD/wt BUNDLE=$PWD/bundle
    mkdir "$WT"
    if [ "$(id -u)" = 0 ] && [ "$FS_USER" = user ]; then
        chmod 711 "$PWD" "$(dirname "$PWD")"
        chown 1000:1000 "$PWD" "$WT"
    fi
    as_guest test -x "$FS_RUN" || skip "the build directory is not open to other users"
    as_guest "$FS_RUN" -- true || skip "no namespaces for this user"
    cd "$WT"
}
box() { as_guest "$FS_RUN" --bundle "$BUNDLE" "$@"; }
# Everything about a tree but access times: names, types, modes, owners, times and contents.
tree_of() {
    (cd "$1" && find . -printf '%p %y %m %U %G %s %T@ %l\n' | LC_ALL=C sort &&
        find . -type f -print0 | LC_ALL=C sort -z | xargs -0r sha256sum)
}
# The worktree is filled: it belongs to the guest's user from here on, and is remembered.
ready() {
    if [ "$(id -u)" = 0 ] && [ "$FS_USER" = user ]; then chown -hR 1000:1000 "$WT"; fi
    tree_of "$WT" >"$WT/../before"
}
untouched() { tree_of "$WT" | diff "$WT/../before" - || fail "the worktree was touched"; }
both_ways() { # both_ways SENTENCE BODY
    test_that "$1, as root" "fs_begin root; $2"
    test_that "$1, as a user" "fs_begin user; $2"
}
