# A tree of a hundred thousand files: what a run costs goes by what it touched.
# In memory: on some disks making that many files takes minutes by itself.
# In shell: bodies run twice, as root and as a user, on trees and in namespaces that tests/lib/fs.sh makes.
[ "$(stat -f -c %T /dev/shm 2>/dev/null)" = tmpfs ] && export TMPDIR=/dev/shm
. "$TOP/tests/lib/tap.sh"
. "$TOP/tests/lib/fs.sh"

test_that "a run that makes a hundred thousand files is gathered and shown" '
    fs_begin user; ready
    box -- sh -c "mkdir d; cd d; seq 1 100000 | split -l 1 -a 5 - f"
    untouched
    [ "$(wc -l <"$BUNDLE/fs/changes.jsonl")" = 100002 ]
    run "$VITRO" diff --stat "$BUNDLE"
    out_has "100000 files changed, 100000 lines added, 0 removed"'

test_that "of a hundred thousand files only those that were touched are listed" '
    fs_begin user; mkdir d; (cd d; seq 1 100000 | split -l 1 -a 5 - f); ready
    box -- sh -c "cd d; for f in faaa??; do echo more >>\$f; done; rm faab*; cat fzz* >/dev/null 2>&1; find . -type f | wc -l" >../out
    untouched
    [ "$(wc -l <"$BUNDLE/fs/changes.jsonl")" = 1353 ]
    [ "$(cat ../out)" = 99324 ]'

tap_done
