# Subprocesses: recorded in the box, played by a stub, matched, missed, unused.
. "$TOP/tests/lib/tap.sh"

# A server on loopback that answers one page; its port goes to the file `port`.
serve() {
    /usr/bin/python3 - >port.log 2>&1 <<'PY' &
import http.server, os
class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = b"from the server\n"
        self.send_response(200); self.send_header("Content-Length", str(len(body))); self.end_headers(); self.wfile.write(body)
    def log_message(self, *args): pass
server = http.server.HTTPServer(("127.0.0.1", 0), Page)
with open("port.tmp", "w") as f: f.write(str(server.server_port))
os.rename("port.tmp", "port")
server.serve_forever()
PY
    server=$!
    until [ -e port ]; do :; done
}

five_tools() {
    need git; need curl; need gcc
    cat >job.sh <<'SH'
set -e
git init -q repo
git -C repo -c user.name=a -c user.email=a@b commit -q --allow-empty -m first
git -C repo log --format=%s
curl -s "http://127.0.0.1:$(cat port)/page"
echo 'int main(void) { return 3; }' >three.c
gcc -o three three.c
./three || echo "three says $?"
python3 -c 'import sys; print("python", sys.stdin.read().strip().upper())' <port.note
date
SH
    echo note >port.note
}
hidden() { # options that hide the five, by what they really are
    for tool in git curl gcc python3 date; do
        printf -- "--hide %s " "$(readlink -f "$(command -v $tool)")"
    done
}

test_that "git, curl, gcc, python and date are recorded once, and replayed twenty times with all of them and the network gone" '
    five_tools; serve
    run "$VITRO" run --net real --record out -- sh job.sh; kill $server; status_is 0
    out_has "first"; out_has "from the server"; out_has "three says 3"; out_has "python NOTE"; out_has "Thu Jan"
    cp "$RUN/out" expected
    for i in $(seq 20); do
        rm -rf again
        run "$VITRO" replay $(hidden) --keep again out; status_is 0; err_has "ok"
        same expected "$RUN/out"
        same out/tape again/tape
    done'

test_that "a changed argument is a miss that names it, with a rule, even when the program swallows it" '
    echo "ls /usr/include/stdio.h || true; echo done" >job.sh
    run "$VITRO" run --record out -- sh job.sh; status_is 0
    sed -i s/stdio/stdlib/ job.sh
    run "$VITRO" replay out; status_is 122; out_has "done"
    err_has "MISS at 1.1"; err_has "called    ls /usr/include/stdlib.h"; err_has "closest  ls /usr/include/stdio.h"
    err_has "argv[1]"; err_has "UNUSED, 1 recording"
    rule=$(sed -n "s/^  rule  *--match-rule //p" "$RUN/err"); [ -n "$rule" ] || fail "no rule"
    eval "run \"$VITRO\" replay out --ignore process_spawn --match-rule $rule"; status_is 0; out_has stdio.h'

test_that "a deleted call is an unused recording, and fails" '
    echo "date; ls /usr/include/stdio.h" >job.sh
    run "$VITRO" run --record out -- sh job.sh; status_is 0
    echo "date" >job.sh
    run "$VITRO" replay out; status_is 122; err_has "UNUSED, 1 recording"; err_has "recorded ls /usr/include/stdio.h"
    run "$VITRO" run --cassette out --allow unused -- sh job.sh; status_is 0'

test_that "outputs keep their order, their virtual times and their bytes" '
    cat >tool.py <<PY
import os, time
for i in range(3):
    os.write(1, b"out%d\\n" % i); os.write(2, b"err%d\\n" % i); time.sleep(60)
os.write(1, bytes(range(256)))
PY
    echo "/usr/bin/python3 tool.py >both 2>&1; cat both" >job.sh
    run "$VITRO" run --record out -- sh job.sh; status_is 0; cp "$RUN/out" expected
    [ "$(head -c 30 expected | tr "\n" " ")" = "out0 err0 out1 err1 out2 err2 " ] || fail "order"
    grep -q "\[60000000000,\"out\",5\],\[60000000000,\"err\",5\]" out/tape || fail "times"
    run "$VITRO" replay --hide /usr/bin/python3 out; status_is 0; same expected "$RUN/out"'

test_that "exit status, signals and terminals are as they were" '
    cat >job.sh <<SH
sh -c "exit 7"; echo \$?
sh -c "kill -SEGV \\\$\\\$"; echo \$?
sh -c "exec sleep 1000" & sleep 5; kill \$!; wait \$!; echo \$?
SH
    run "$VITRO" run --record out -- sh job.sh; status_is 0; out_is "7
139
143"
    grep -q "\"awaits_signal\":true" out/tape || fail "who sent it"
    run "$VITRO" replay --keep again out; status_is 0; out_is "7
139
143"
    same out/tape again/tape'

test_that "files that were made, changed, removed and linked are so again" '
    cat >tool.sh <<SH
echo new >made; mkdir -p dir/sub; echo deep >dir/sub/file; chmod 750 dir; ln -s made link
echo changed >old; rm gone; mv moved elsewhere; chmod 600 kept; mkdir tmp.d; rmdir tmp.d; rm -r tree
SH
    echo "bash tool.sh; cat made dir/sub/file link old elsewhere; ls -l | cut -c1-10; ls" >job.sh
    mkdir w; mv *.sh w; cd w
    mkdir tree; touch old gone kept tree/leaf; echo moved >moved
    run "$VITRO" run --tape-only bash --record ../out -- sh job.sh; status_is 0; cp "$RUN/out" ../expected
    run "$VITRO" diff ../out; cp "$RUN/out" ../patch
    run "$VITRO" replay --hide "$(readlink -f "$(command -v bash)")" --keep ../again ../out; status_is 0; same ../expected "$RUN/out"
    same ../out/tape ../again/tape
    run "$VITRO" diff ../again; same ../patch "$RUN/out"'

test_that "what is read from standard input chooses the recording, and only as much is read" '
    cat >job.sh <<SH
echo one | tr a-z A-Z; echo two | tr a-z A-Z
printf "1\n2\n3\n" | { head -c 2 | od -An -c; cat; }
SH
    run "$VITRO" run --record out -- sh job.sh; status_is 0; cp "$RUN/out" expected; out_has "ONE"
    run "$VITRO" replay out; status_is 0; same expected "$RUN/out"
    sed -i "s/echo one/echo 2wo/; s/echo two/echo one/; s/2wo/two/" job.sh
    run "$VITRO" run --cassette out -- sh job.sh; status_is 0; [ "$(head -1 "$RUN/out")" = TWO ] || fail "the first is for two"
    sed -i "s/echo one/echo eno/" job.sh
    run "$VITRO" run --cassette out -- sh job.sh; status_is 122; err_has "stdin"'

test_that "a conversation over pipes goes back and forth" '
    cat >ask.py <<PY
import subprocess
p = subprocess.Popen(["bc", "-q"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
for q in ("1+1", "2*21"):
    p.stdin.write(q + "\\n"); p.stdin.flush(); print(p.stdout.readline().strip())
p.stdin.close(); print(p.wait())
PY
    need bc
    run "$VITRO" run --record out -- /usr/bin/python3 ask.py; status_is 0; out_is "2
42
0"
    run "$VITRO" replay --hide /usr/bin/bc out; status_is 0; out_is "2
42
0"'

test_that "a wait whose time comes ends in a process that has its streams twice" '
    cat >wait.py <<PY
import os, select
r, w = os.pipe(); p = select.poll(); p.register(r)
print(p.poll(200), flush=True); os.write(os.dup(1), b"by another number\n")
PY
    echo "exec 5>&1; /usr/bin/python3 wait.py" >job.sh
    run "$VITRO" run --record out -- sh job.sh; status_is 0; out_is "[]
by another number"
    run "$VITRO" replay --hide /usr/bin/python3 out; status_is 0; out_is "[]
by another number"'

test_that "threads that start programs side by side, timeouts and long inputs are the same again" '
    cat >side.py <<PY
import subprocess, concurrent.futures as f
def one(i): return subprocess.run(["sh", "-c", f"sleep {i % 4}; echo {i}"], capture_output=True, text=True).stdout
with f.ThreadPoolExecutor(8) as pool: print("".join(pool.map(one, range(24))))
try: subprocess.run(["sleep", "100"], timeout=3)
except subprocess.TimeoutExpired: print("too long")
p = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
print(len(p.communicate(b"x" * 1000000)[0]))
PY
    for i in 1 2 3; do
        rm -rf out
        run "$VITRO" run --record out -- /usr/bin/python3 side.py; status_is 0; out_has "too long"; out_has 1000000
        cp "$RUN/out" expected
        run "$VITRO" replay --mode outcome out; status_is 0; same expected "$RUN/out" # threads race for who starts first
    done'

test_that "modes: once, none, new, all, refresh, verify" '
    echo "date +%Y" >job.sh
    run "$VITRO" run --record c --proc none -- sh job.sh; status_is 2; err_has "there is none at"
    run "$VITRO" run --record c --proc once -- sh job.sh; status_is 0; err_has "1 recorded"
    run "$VITRO" run --record c --proc once -- sh job.sh; status_is 0; err_has "1 played"
    echo "date +%Y; date +%m" >job.sh
    run "$VITRO" run --record c --proc once -- sh job.sh; status_is 122
    run "$VITRO" run --record c --proc new -- sh job.sh; status_is 0; err_has "1 recorded"; err_has "1 played"
    run "$VITRO" run --record c --proc none -- sh job.sh; status_is 0; err_has "2 played"
    run "$VITRO" run --record c --proc verify --clock 2027-01-01 -- sh job.sh; status_is 120; err_has "CHANGED at 1.1"; err_has "2027"
    run "$VITRO" run --record c --proc verify -- sh job.sh; status_is 0
    echo "date +%m" >job.sh
    run "$VITRO" run --record c --proc all -- sh job.sh; status_is 0
    run "$VITRO" run --record c --proc none -- sh job.sh; status_is 122; err_has "UNUSED, 1"
    run "$VITRO" run --record c --proc refresh -- sh job.sh; status_is 0
    run "$VITRO" run --record c --proc none -- sh job.sh; status_is 0
    run "$VITRO" run --record c --proc sometimes -- sh job.sh; status_is 2; err_has "once, new, none"'

test_that "in CI nothing is recorded, and recordings play" '
    echo "date +%Y" >job.sh
    CI=1 run "$VITRO" run --record c --proc once -- sh job.sh; status_is 2; err_has "CI"
    run "$VITRO" run --record c -- sh job.sh; status_is 0
    CI=1 run "$VITRO" run --record c --proc once -- sh job.sh; status_is 0
    CI=1 run "$VITRO" run --record c --proc new -- sh -c "date +%d"; status_is 122
    CI=1 run "$VITRO" replay c; status_is 0
    CI=1 run "$VITRO" replay --update c; status_is 2'

test_that "on a miss programs can pass or be recorded" '
    echo "date +%Y" >job.sh
    run "$VITRO" run --record c -- sh job.sh; status_is 0
    echo "date +%Y; uname" >job.sh
    run "$VITRO" run --cassette c --on-miss passthrough -- sh job.sh; status_is 0; out_has Linux
    run "$VITRO" run --record c --proc none --on-miss record -- sh job.sh; status_is 0; err_has "1 recorded"
    run "$VITRO" run --cassette c -- sh job.sh; status_is 0; err_has "2 played"'

test_that "chosen variables count, others do not" '
    echo "A=\$1 B=\$2 date +%Y" >job.sh
    run "$VITRO" run --record c -- sh job.sh 1 1; status_is 0
    run "$VITRO" run --cassette c -- sh job.sh 1 2; status_is 0
    run "$VITRO" run --cassette c --match-env A -- sh job.sh 1 2; status_is 0
    run "$VITRO" run --cassette c --match-env B -- sh job.sh 1 2; status_is 122; err_has "B"'

test_that "a bundle is replayed from another directory, and in a copy of its worktree" '
    mkdir here there; cd here; echo "ls \$PWD/job.sh | sed s,.*/,, ; cat data" >job.sh; echo 1 >data
    run "$VITRO" run --record ../c -- sh job.sh; status_is 0; cp "$RUN/out" ../expected
    cd ..; run "$VITRO" replay c; status_is 0; same expected "$RUN/out"
    cp here/* there/; rm -r here; cp -r c there/; cd there
    run "$VITRO" replay c --ignore process_spawn; status_is 0; same ../expected "$RUN/out"'

test_that "standard input of the program comes back: a pipe, a file that is gone, the middle of one, nothing" '
    echo "read x; echo got \$x; sort -r; echo end" >job.sh
    run sh -c "printf \"a\\nb\\nc\\nd\\n\" | \"$VITRO\" run --record pipe -- bash job.sh"; status_is 0; out_is "got a
d
c
b
end"; cp "$RUN/out" expected
    run "$VITRO" replay pipe </dev/null; status_is 0; same expected "$RUN/out"
    printf "0\na\nb\nc\nd\n" >in
    run sh -c "{ dd bs=1 count=2 of=/dev/null 2>dd; \"$VITRO\" run --record file -- bash job.sh; } <in"; status_is 0
    cp "$RUN/out" expected; head -n 1 expected | grep -q "got a"
    rm in; run "$VITRO" replay file; status_is 0; same expected "$RUN/out"
    run sh -c "\"$VITRO\" run --record null -- sh job.sh </dev/null"; status_is 0
    run sh -c "echo x | \"$VITRO\" replay null"; status_is 0; out_is "got
end"
    yes abcdefgh | head -c 3000000 >much
    run sh -c "cat much | \"$VITRO\" run --record much.d -- sh -c \"exec 5<&0; wc -c; cat <&5\""; status_is 0; out_is 3000000
    run "$VITRO" replay much.d </dev/null; status_is 0; out_is 3000000
    run sh -c "echo ghp_0123456789abcdefghijklmnopqrstuvwxyz | \"$VITRO\" run --record hush -- sh -c \"cat >/dev/null\""; status_is 0
    ! grep -q ghp_0123 hush/stdin || fail "a secret is kept"
    run "$VITRO" run --record told -- sh -c "echo ghp_0123456789abcdefghijklmnopqrstuvwxyz | tee token >/dev/null; :"; status_is 0; err_has ", in which there is what looks like a secret"
    rm pipe/stdin; run "$VITRO" replay pipe; status_is 125; err_has "pipe/stdin"'

test_that "what a program was recorded with is kept, and another version of it is named" '
    need dpkg-query
    run "$VITRO" run --record c -- sh -c "date; :"; status_is 0
    version=$(dpkg-query -W -f "\${Package} \${Version}" coreutils)
    "$VITRO" tape show --json c/tape | grep -q "\"version\":\"$version\"" || fail "no version: $version"
    "$VITRO" run --cassette t.tape --proc once -- sh -c "date; :" >out
    sed -i "s/\"digest\":\"[0-9a-f]*\"/\"digest\":\"$(printf 0%.0s $(seq 64))\"/; s/\"version\":\"[^\"]*\"/\"version\":\"coreutils 8.9\"/" t.tape
    run "$VITRO" run --cassette t.tape -- sh -c "date; :"; status_is 0
    err_has "drift"; err_has "recorded with coreutils 8.9, and this is $version"'

test_that "replay --update runs live, shows the difference and keeps the new one" '
    echo 1 >data; echo "cat data" >job.sh
    run "$VITRO" run --record c -- sh job.sh; status_is 0
    echo 2 >data; run "$VITRO" replay c; status_is 0; out_is 1
    run "$VITRO" replay --update c; status_is 0; out_is 2; err_has "subprocess"
    run "$VITRO" replay c; status_is 0; out_is 2'

test_that "the plain list of Harn is written and read, in strict order too" '
    echo "date +%Y; printf x; uname -s" >job.sh
    run "$VITRO" run --process-record deep/list.json -- sh job.sh; status_is 0
    [ "$(jq -r ".[0].program, .[0].args[0], .[1].program, .[1].stdout, .[1].exit_code" deep/list.json | tr "\n" " ")" = "date +%Y uname Linux  0 " ] || fail "$(cat deep/list.json)"
    run "$VITRO" run --process-replay deep/list.json -- sh job.sh; status_is 0; out_has 2026; out_has Linux
    echo "uname -s; date +%Y" >job.sh
    run "$VITRO" run --process-replay deep/list.json -- sh job.sh; status_is 0
    run "$VITRO" run --process-replay deep/list.json --order strict -- sh job.sh; status_is 122; err_has "call #0 of the recording is: date +%Y"
    echo "[{\"program\":\"date\",\"stdout\":\"soon\",\"duration_ms\":60000,\"exit_code\":256}]" >hand.json
    run "$VITRO" run --process-replay hand.json -- sh -c "date; echo \$?"; status_is 0; out_is "soon0"; err_has "00:01:00 virtual"
    : >empty.json; run "$VITRO" run --process-replay empty.json -- sh -c :; status_is 0
    run "$VITRO" run --process-replay none.json -- sh -c :; status_is 2; err_has none.json'

tap_done
