# What guests see and where their writes go.
# In shell: bodies run twice, as root and as a user, on trees and in namespaces that tests/lib/fs.sh makes.
. "$TOP/tests/lib/tap.sh"
. "$TOP/tests/lib/fs.sh"

both_ways "nothing that guests write reaches the disk" '
    echo one >a; mkdir d; echo two >d/b; ln -s a l
    ready
    box -- sh -c "echo x >>a; rm d/b; mv d e; ln -sf z l; touch new; chmod 700 a; >/tmp/t"
    untouched
    grep -q "\"path\":\"new\"" "$BUNDLE/fs/changes.jsonl"'

both_ways "a guest reads back what it wrote" '
    echo one >a; ready
    box -- sh -c "echo two >>a; cat a" >../out
    [ "$(cat ../out)" = "one
two" ]'

both_ways "temporary files, devices, processes and sockets of the host are not seen" '
    echo secret >"${TMPDIR:-/tmp}/vitro-fs-secret.$$"
    trap "rm -f \"${TMPDIR:-/tmp}/vitro-fs-secret.$$\"" EXIT
    box -- sh -c "ls /tmp; ls /run; ls /dev; ls -d /proc/[0-9]*" >../out
    ! grep -q secret ../out
    ! grep -qE "docker|dbus|nscd|vda|sda|kmsg|^mem$" ../out
    [ "$(grep -c "^/proc" ../out)" -le 3 ]'

both_ways "devices work" '
    box -- sh -c "echo x >/dev/null; head -c 3 /dev/zero | od -An -tx1; head -c 8 /dev/urandom | wc -c;
        exec 3<>/dev/ptmx; test -d /dev/pts; echo s >/dev/shm/s; cat /dev/shm/s" >../out
    [ "$(tr -d " \n" <../out)" = 0000008s ]'

tap_done
