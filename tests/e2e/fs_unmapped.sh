# Without root a box has one user and one group: files of others that a user may write natively are explained.
# In shell: bodies run twice, as root and as a user, on trees and in namespaces that tests/lib/fs.sh makes.
. "$TOP/tests/lib/tap.sh"
. "$TOP/tests/lib/fs.sh"

# A member of group 2000, to whose group and to root some files of the worktree belong.
member() { setpriv --reuid 1000 --regid "${GROUP:-1000}" --groups 1000,2000 "$@"; }
shared() {
    [ "$(id -u)" = 0 ] || skip "needs root to prepare it"
    fs_begin user; mkdir d; echo mine >mine; echo ours >d/ours; echo open >open; echo closed >root; ready
    chgrp 2000 d/ours; chown 0:2000 open; chmod 664 d/ours open; chown 0:0 root
}

test_that "a guest that meets an unmapped group gets EOVERFLOW, and the report says why" '
    shared
    run member "$FS_RUN" --bundle "$BUNDLE" -- sh -c "echo more >>mine; echo more >>d/ours"
    err_has "Value too large for defined data type"
    run "$VITRO" diff "$BUNDLE"
    err_has "'\''d/ours'\'' (user 1000, group 2000) and 1 more could not be changed in the box, which has user 1000 and group 1000 alone: EOVERFLOW"
    err_has "remedy: sg GROUP -c"; err_has "--writable DIR"'

test_that "a run that changed nothing and failed says why too; one that went well does not" '
    shared
    run member env XDG_STATE_HOME="$PWD/../state" "$VITRO" run -- sh -c "echo more >>d/ours"; status_is 2
    err_has "vitro: note: '\''d/ours'\'' (user 1000, another group) and 1 more could not be changed in the box"
    run member env XDG_STATE_HOME="$PWD/../state" "$VITRO" run -- true; status_is 0; err_lacks "EOVERFLOW"'

test_that "what replaced a file of another group is applied, and no number is made up for it" '
    shared; chown 1000 open
    run member env XDG_STATE_HOME="$PWD/../state" "$VITRO" run -- sh -c "rm open; echo new >open"; status_is 0
    run member env XDG_STATE_HOME="$PWD/../state" "$VITRO" diff --json; out_lacks 65534
    run member env XDG_STATE_HOME="$PWD/../state" "$VITRO" apply; status_is 0; [ "$(cat open)" = new ]
    [ "$(stat -c %g open)" = 2000 ] || fail "the group was lost"'

test_that "vitro doctor names them before the run, with the remedy" '
    shared
    run member "$VITRO" doctor; status_is 0
    out_has "missing  owners"; out_has "EOVERFLOW when a guest changes '\''d/ours'\'' (user 1000, group 2000) and 1 more"
    out_has "remedy: sg GROUP -c '\''vitro run ...'\''"
    run "$VITRO" doctor; out_lacks "missing  owners"'

test_that "what may not be written natively is no matter for the report" '
    shared; chgrp 1000 d/ours; rm open
    run member "$FS_RUN" --bundle "$BUNDLE" -- sh -c "echo more >>mine"; status_is 0
    run "$VITRO" diff "$BUNDLE"; err_lacks "EOVERFLOW"
    run member "$VITRO" doctor; out_lacks "missing  owners"'

test_that "the remedies work: started with that group, or passed through" '
    shared; chgrp 2000 d
    GROUP=2000 run member "$FS_RUN" --bundle "$BUNDLE" -- sh -c "echo more >>d/ours && cat d/ours"
    status_is 0; out_has more; [ "$(cat d/ours)" = ours ]
    run member "$FS_RUN" --writable d -- sh -c "echo more >>d/ours"; status_is 0; [ "$(cat d/ours)" = "ours
more" ]'

tap_done
