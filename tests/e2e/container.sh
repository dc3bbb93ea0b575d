# In a container with an overlay for its root, as Docker starts one: what vitro doctor says is so, and its remedies work.
. "$TOP/tests/lib/tap.sh"
need jq
need runc
profile=/usr/share/containers/seccomp.json
[ "$(id -u)" = 0 ] || skip "needs root to start containers"
[ -e $profile ] || skip "no $profile (golang-github-containers-common)"

# Docker's profile: that of its peers, less what it keeps for CAP_SYS_ADMIN (docs.docker.com/engine/security/seccomp).
docker_profile() { # docker_profile HAS_SYS_ADMIN
    jq -n --slurpfile p $profile --argjson admin "$1" '
        ["bpf","clone","clone3","fanotify_init","fsconfig","fsmount","fsopen","fspick","lookup_dcookie","mount","mount_setattr","move_mount",
         "open_tree","perf_event_open","quotactl","quotactl_fd","setdomainname","sethostname","setns","syslog","umount","umount2","unshare"] as $gated
        | {defaultAction: "SCMP_ACT_ERRNO", architectures: ["SCMP_ARCH_X86_64"], syscalls: (
            [$p[0].syscalls[] | select(.action == "SCMP_ACT_ALLOW" and (((.includes.caps // []) == []) or ($admin and .includes.caps == ["CAP_SYS_ADMIN"]))
                and ((.includes.arches // ["amd64"]) | index("amd64")) and ((.excludes.arches // []) | index("amd64") | not))
             | {names: (if $admin then .names else .names - $gated end), action, args: (.args // [])} | select(.names != [])]
            + if $admin then [] else [
                {names: ["clone"], action: "SCMP_ACT_ALLOW", args: [{index: 0, value: 2114060288, valueTwo: 0, op: "SCMP_CMP_MASKED_EQ"}]},
                {names: ["clone3"], action: "SCMP_ACT_ERRNO", errnoRet: 38}] end)}'
}
# container RIGHTS SCRIPT: RIGHTS is default, or words of: sysadmin seccomp paths (what --cap-add and --security-opt would give).
container() {
    local rights=" $1 " admin=false
    case $rights in *" sysadmin "*) admin=true ;; esac
    mkdir -p c && printf "%s\n" "$2" >c/script && cp "$VITRO" c/vitro && docker_profile $admin >c/seccomp
    (cd c && rm -f config.json && runc spec && mv config.json spec)
    jq --arg rights "$rights" --argjson admin $admin --slurpfile seccomp c/seccomp '
        (["CHOWN","DAC_OVERRIDE","FSETID","FOWNER","MKNOD","NET_RAW","SETGID","SETUID","SETFCAP","SETPCAP","NET_BIND_SERVICE","SYS_CHROOT","KILL",
          "AUDIT_WRITE"] + (if $admin then ["SYS_ADMIN"] else [] end) | map("CAP_" + .)) as $caps
        | .process.args = ["sh", "/script"] | .process.terminal = false | .process.cwd = "/vitro-work" | .process.rlimits = [] | .root.readonly = false
        | .process.noNewPrivileges = false | .process.env += ["HOME=/root"] | .hostname = "container"
        | .mounts += [{destination: "/tmp", type: "tmpfs", source: "tmpfs", options: ["mode=1777"]}]
        | .process.capabilities = {bounding: $caps, effective: $caps, permitted: $caps}
        | if $rights | contains(" seccomp ") then del(.linux.seccomp) else .linux.seccomp = $seccomp[0] end
        | if $rights | contains(" paths ") then del(.linux.maskedPaths, .linux.readonlyPaths) else . end' c/spec >c/config.json
    # Mounts of its own: gone with it, whatever happens.
    unshare -m sh -ec "mount --make-rprivate /; cd c; mkdir -p rootfs t; mount -t tmpfs t t; mkdir t/u t/w t/u/vitro-work; cp vitro script t/u/
        (top=\$PWD; cd / && mount -t overlay overlay -o lowerdir=.,upperdir=\$top/t/u,workdir=\$top/t/w \$top/rootfs)
        exec runc --root \$PWD/state run -b . vitro-test-$$"
}
test_that "runc works here" '
    container default "echo up" >out 2>&1 || { cat out; skip "it does not: $(tail -1 out)"; }
    grep -qx up out; : >"$tap_dir/works"'

test_that "as Docker starts it: tier B, every refusal with its axis and the way on, and the clock without namespaces" '
    [ -e "$tap_dir/works" ] || skip "runc does not work here"
    run container default "/vitro doctor; echo status \$?; /vitro run -- date; echo status \$?; /vitro run --fs real -- date"; out_has "tier B"; out_has "status 0"
    out_has "remedy: docker run --cap-add SYS_ADMIN --security-opt seccomp=unconfined --security-opt apparmor=unconfined --security-opt systempaths=unconfined"
    out_has "status 125"; err_has "files of its own (--fs): make a user namespace: Operation not permitted"
    err_has "hint: '\''vitro doctor'\'' names the remedy"
    status_is 125; err_has "a network of its own (--net)"
    run container default "/vitro run --fs real --net real -- sh -c \"date; sleep 86400; date; head -c 4 /dev/urandom | od -An -tx1; uname -n\"
        /vitro run -q --fs real --net real --record /out -- sh -c \"date; expr 1 + 2\"; 
        /vitro run -q --fs real --net real --proc none --cassette /out -- sh -c \"date; expr 1 + 2\"; ls -A /tmp; echo end"
    err_has "no namespaces here"
    [ "$(head -5 "$RUN/out" | tr "\n" " ")" = "Thu Jan  1 00:00:00 UTC 2026 Fri Jan  2 00:00:00 UTC 2026  26 df bb b5 vitro Thu Jan  1 00:00:00 UTC 2026 " ]
    [ "$(grep -c "^3$" "$RUN/out")" = 2 ] || fail "not recorded and replayed"; [ "$(tail -2 "$RUN/out" | tr "\n" " ")" = "3 end " ] || fail "files are left in /tmp"'

test_that "with what doctor says: tier A, files in memory over an overlay, as root of the machine or not" '
    [ -e "$tap_dir/works" ] || skip "runc does not work here"
    for rights in sysadmin "seccomp paths"; do
        run container "$rights" "/vitro doctor | head -1; echo 1 >f; /vitro run -q -- sh -c \"date; echo 2 >>f; echo 3 >/etc/new; mkdir d; mv d e; ls; hostname\"; cat f
            ls /etc/new; /vitro diff | grep ^+2; /vitro apply >/dev/null; cat f"
        out_is "tier A: every axis is virtual
Thu Jan  1 00:00:00 UTC 2026
e
f
vitro
1
+2
1
2"
    done'

test_that "with half of it, doctor and run say what is missing, and that helps" '
    [ -e "$tap_dir/works" ] || skip "runc does not work here"
    run container seccomp "/vitro doctor | head -1; /vitro run -- date; /vitro run -q --fs real --net real -- date"
    out_is "tier B: no namespaces, so no files in memory and no network of its own
Thu Jan  1 00:00:00 UTC 2026"
    err_has "mount a fresh /proc: Operation not permitted"; err_has "--security-opt systempaths=unconfined"'

tap_done
