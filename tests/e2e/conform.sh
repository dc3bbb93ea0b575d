# vitro conform: fixture programs, their sidecars, what is told and how it ends.
. "$(dirname "$0")/../lib/tap.sh"
export TMPDIR=$tap_dir
export ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0 # no leak checker under a tracer

GREET=$TOP/$O/examples/greet
file() { cat >"$1"; }
script() { { echo "#!/bin/sh"; cat; } >"$1"; chmod +x "$1"; } # script NAME <<TEXT

test_that "what a program prints is what is expected, or the first line that is not is told" '
    script good.sh <<<"echo one; sleep 86400; date"
    printf "one\nFri Jan  2 00:00:00 UTC 2026\n" >good.expected
    script bad.sh <<<"echo one; echo 2; echo three"; printf "one\ntwo\nthree\n" >bad.expected
    run "$VITRO" conform .; status_is 1
    out_has "ok 2 - good"; out_has "not ok 1 - bad"
    out_has "standard output, against '"'bad.expected'"', differs in line 2"; out_has "#     - two"; out_has "#     + 2"
    [ "$(head -n 1 "$RUN/out")" = 1..2 ]; [ "$(tail -n 1 "$RUN/out")" = "1 passed, 1 failed, 0 skipped" ]
    same bad.expected.actual <(./bad.sh)'

test_that "goldens are written when asked for, and never in CI" '
    script a.sh <<<"echo new"; echo old >a.expected
    run env CI=1 "$VITRO" conform --update .; status_is 2; err_has "goldens are not written while CI is set"
    run env CI=1 "$VITRO" conform .; status_is 1; [ ! -e a.expected.actual ]
    run "$VITRO" conform .; status_is 1; [ -e a.expected.actual ]
    run "$VITRO" conform --update .; status_is 0; out_has "written: a.expected"; [ "$(cat a.expected)" = new ]; [ ! -e a.expected.actual ]
    run "$VITRO" conform .; status_is 0; out_lacks written'

test_that "a program that is expected to fail must fail, and say so" '
    script a.sh <<<"echo no such user >&2; exit 3"; echo "no such user" >a.error
    script b.sh <<<"exit 0"; : >b.error
    script c.sh <<<"echo other >&2; exit 3"; echo "no such user" >c.error
    script d.sh <<<"echo why >&2; exit 4"; : >d.expected
    script e.sh <<<"kill -9 \$\$"; : >e.error
    run "$VITRO" conform -j 1 .; status_is 1
    out_has "ok 1 - a"; out_has "not ok 2 - b"; out_has "it exited with 0, and '"'b.error'"' says that it fails"
    out_has "not ok 3 - c"; out_has "does not hold what '"'c.error'"' says"; out_has "#       other"
    out_has "not ok 4 - d"; out_has "it exited with 4"; out_has "#       why"
    out_has "ok 5 - e"
    run "$VITRO" conform -u c.sh; status_is 0; [ "$(cat c.error)" = other ]'

test_that "a sidecar gives any program a clock, variables, files, input and a seed" '
    file a.harness.json <<JSON
{"mode": "mock", "clock_at": "2024-02-29T23:59:58Z", "env": {"GREETING": "hi", "PATH": "$PATH"},
 "fs_reads": {"/etc/greeting": "from afar\n", "here": "near\n"}, "stdin_lines": ["ada", "bob"], "random_u64": [7],
 "expect_stdio": "ada bob hi\nThu Feb 29 23:59:58 UTC 2024\nfrom afar\nnear\n"}
JSON
    script a.sh <<<"read a; read b; echo \$a \$b \$GREETING; date; cat /etc/greeting here; head -c 8 /dev/urandom | od -An -tx1 >&2"
    run "$VITRO" conform .; status_is 0; [ ! -e here ]
    sed -i s/near/far/ a.harness.json
    sed -i "s/\"here\": \"far/\"here\": \"near/" a.harness.json
    run "$VITRO" conform .; status_is 1; out_has "a.harness.json: standard output, line 4 is \"near\""; out_has "expected \"far\""
    echo wrong >a.error; script a.sh <<<"head -c 8 /dev/urandom | od -An -tx1 >&2; exit 1"; echo "{\"mode\":\"mock\",\"random_u64\":[7]}" >a.harness.json
    "$VITRO" conform -u . >/dev/null; cp a.error seven; echo wrong >a.error; "$VITRO" conform -u . >/dev/null; same a.error seven
    sed -i s/7/8/ a.harness.json; run "$VITRO" conform .; status_is 1; out_has "does not hold what"'

test_that "the environment is made from nothing" '
    script a.sh <<<"env | cut -d= -f1 | grep -v -e ASAN -e LSAN -e LD_LIBRARY | sort"
    printf "%s\n" HOME LANG LC_ALL PATH PWD TZ VITRO_BOX >a.expected
    run env SECRET=1 "$VITRO" conform .; status_is 0'

test_that "sidecars that are wrong are told with their line, and nothing runs" '
    script a.sh <<<"echo ran >/dev/stderr"
    printf "{\n\"mode\": \"mock\",\n\"stdin_line\": []}\n" >a.harness.json
    run "$VITRO" conform .; status_is 1
    out_has "a.harness.json:3: unknown field '"'stdin_line'"'"; out_has "did you mean '"'stdin_lines'"'?"; out_lacks ran
    printf "{" >a.harness.json; run "$VITRO" conform .; status_is 1; out_has "a.harness.json:1:"
    rm a.harness.json; echo "[{}]" >a.process-tape.json; run "$VITRO" conform .; status_is 1; out_has "a.process-tape.json"; out_has "program"'

test_that "the calls of a program that takes its host are exact and ordered" '
    cp "$GREET" greet
    file greet.harness.json <<JSON
{"mode": "mock", "env": {"USER": "ada"}, "fs_reads": {"/etc/greeting": "be kind\n"}, "expect_calls": [
  {"sub_handle": "env", "method": "get", "args": ["USER"]},
  {"sub_handle": "stdio", "method": "print", "args": ["hello ada\n"]},
  {"sub_handle": "fs", "method": "read", "args": ["/etc/greeting"]},
  {"sub_handle": "stdio", "method": "print", "args": ["be kind\n"]}]}
JSON
    printf "hello ada\nbe kind\n" >greet.expected
    run "$VITRO" conform .; status_is 0
    sed -i "s/\"args\": \\[\"USER\"\\]/\"args\": [\"HOME\"]/" greet.harness.json
    run "$VITRO" conform .; status_is 1; out_has "call 1 is env.get [\"USER\"]"; out_has "expected env.get [\"HOME\"]"
    sed -i "s/HOME/USER/; /be kind.n\"\\]/d; s/\"\\/etc\\/greeting\"\\]},/\"\\/etc\\/greeting\"]}]}/" greet.harness.json
    run "$VITRO" conform .; status_is 1; out_has "call 4 was not expected: stdio.print [\"be kind\\n\"]"'

test_that "denied calls are told; a sidecar that does not hold fails what was expected to fail, too" '
    cp "$GREET" greet
    file greet.harness.json <<JSON
{"mode": "null", "expect_deny_events": [
  {"sub_handle": "env", "method": "get", "args": ["USER"]},
  {"sub_handle": "stdio", "method": "print_error", "args": ["greet: env.get(\"USER\"): denied, this is a null host\n"]}]}
JSON
    : >greet.error; : >greet.expected
    run "$VITRO" conform .; status_is 0
    sed -i "s/\"print_error\"/\"print\"/" greet.harness.json
    run "$VITRO" conform .; status_is 1; out_has "denial 2 is stdio.print_error"'

test_that "what only a program that takes its host can have is refused to others" '
    for kind in "\"mode\": \"null\"" "\"mode\": \"mock\", \"net_gets\": {\"http://a.test\": \"\"}" \
        "\"mode\": \"mock\", \"expect_calls\": [{\"sub_handle\": \"env\", \"method\": \"get\", \"args\": []}]"; do
        script a.sh <<<"exit 0"; echo "{$kind}" >a.harness.json
        run "$VITRO" conform .; status_is 1; out_has "needs a program that takes its host from vitro_host_main"
    done'

test_that "programs it starts are played from its process tape; misses and leftovers fail" '
    file a.process-tape.json <<JSON
[{"program": "git", "args": ["log"], "stdout": "first\n", "duration_ms": 90000},
 {"program": "gh", "args": ["pr", "list"], "stderr": "offline\n", "exit_code": 4}]
JSON
    script a.sh <<<"git log; gh pr list; echo \$?"; printf "first\n4\n" >a.expected
    run "$VITRO" conform .; status_is 0
    run "$VITRO" conform --json .; out_has "\"virtual_ns\":90000000000"
    script a.sh <<<"git log; gh pr view; echo 4"
    run "$VITRO" conform .; status_is 1; out_has "gh"; out_has "view"
    script a.sh <<<"git log; echo 4"
    run "$VITRO" conform .; status_is 1; out_has "gh"'

test_that "it starts in its overlay, and what it writes stays in memory" '
    mkdir a.fs-overlay; echo in >a.fs-overlay/f
    script a.sh <<<"cat f; echo changed >f; cat f; echo new >g; ls"; printf "in\nchanged\nf\ng\n" >a.expected
    run "$VITRO" conform .; status_is 0; [ "$(cat a.fs-overlay/f)" = in ]; [ ! -e a.fs-overlay/g ]'

test_that "a golden tape is compared by phase, wherever the fixtures stand; divergences are counted" '
    mkdir fixtures; cd fixtures
    script a.sh <<<"sleep 60; echo x >made"; : >a.testbench-tape
    run "$VITRO" conform .; status_is 1; out_has "'"'a.testbench-tape'"' is empty"; out_has "hint: --update writes it"
    run env CI=1 "$VITRO" conform -u .; status_is 2
    run "$VITRO" conform -u .; status_is 0; out_has "written: a.testbench-tape"
    run "$VITRO" conform .; status_is 0; out_lacks written
    cd ..; mv fixtures elsewhere
    run "$VITRO" conform elsewhere; status_is 0; out_has "ok 1 - elsewhere/a"
    sed -i "s/sleep 60/sleep 61/" elsewhere/a.sh
    run "$VITRO" conform elsewhere; status_is 1; out_has "divergences from '"'a.testbench-tape'"'"; out_has 61'

test_that "annotations must fit their tape" '
    script a.sh <<<"sleep 60"; : >a.testbench-tape; "$VITRO" conform -u . >/dev/null
    "$VITRO" tape annotate add a.testbench-tape 0 --kind note --evidence "it starts" >/dev/null
    mv a.testbench-tape.annotations.jsonl a.annotations.jsonl
    run "$VITRO" conform .; status_is 0
    sed -i "s/\"event_id\":0/\"event_id\":99/; s/\\[0\\]/[99]/" a.annotations.jsonl
    run "$VITRO" conform .; status_is 1; out_has "a.annotations.jsonl:2: unknown_event_id"'

test_that "what is not built yet is refused by name" '
    script a.sh <<<"exit 0"; : >a.llm-mock.jsonl; script b.sh <<<"exit 0"; : >b.lint
    run "$VITRO" conform .; status_is 1
    out_has "a.llm-mock.jsonl: answers of language models: sidecars of this kind are not built yet"
    out_has "b.lint"'

test_that "sidecars without a program, two programs, and programs without sidecars are told" '
    : >a.expected; : >a.py; script b.sh <<<"exit 0"; script b.py <<<"exit 0"; : >b.expected; script c.sh <<<"exit 1"
    run "$VITRO" conform .; status_is 1
    out_has "not ok 1 - a"; out_has "there is no program for these sidecars"; out_has "hint: '"'a.py'"' cannot be executed: chmod +x"
    out_has "two programs: '"'b.py'"' and '"'b.sh'"'"
    out_has "ok 3 - c # SKIP nothing stands beside it"; out_has "0 passed, 2 failed, 1 skipped"'

test_that "a file that is nearly called as a sidecar is told, others are not" '
    script a.sh <<<"exit 1"; : >a.expeced; : >a.c; : >a.txt; : >a.md
    run "$VITRO" conform .; status_is 1; out_has "'"'a.expeced'"' is nearly the name of a sidecar"
    rm a.expeced; : >a.error; run "$VITRO" conform .; status_is 0'

test_that "paths that are not there, and directories without fixtures, are named" '
    run "$VITRO" conform none; status_is 2; err_has "'"'none'"' is neither a directory nor a program"
    mkdir empty; run "$VITRO" conform empty; status_is 2; err_has "no fixture was found"
    run "$VITRO" conform; status_is 2
    run "$VITRO" conform -j 0 .; status_is 2; err_has "--jobs"
    run "$VITRO" conform --timeout soon .; status_is 2; err_has "--timeout"'

test_that "names choose, directories are searched, lists are told" '
    mkdir -p d/e; for n in d/b d/a d/e/c; do script $n.sh <<<"exit 0"; : >$n.expected; done; : >d/a.error
    run "$VITRO" conform --list d; out_is "$(printf "d/a .expected .error\nd/b .expected\nd/e/c .expected")"
    run "$VITRO" conform -k /e/ d; status_is 0; out_has "ok 1 - d/e/c"; out_has "1 passed"
    run "$VITRO" conform d/b.sh d/e; status_is 0; out_has "2 passed"
    run "$VITRO" conform -j 1 -x d; status_is 1; out_has "not ok 1 - d/a"; out_has "0 passed, 1 failed, 0 skipped"'

test_that "results come in the order of names, whoever ends first" '
    for i in 1 2 3 4 5 6 7 8; do script $i.sh <<<"sleep $((9 - i))00; date"; : >$i.expected; done
    "$VITRO" conform -u -j 4 . >/dev/null; "$VITRO" conform -j 4 . >four; "$VITRO" conform -j 1 . >one; same four one
    grep -q "8 passed, 0 failed, 0 skipped" one
    run "$VITRO" conform --json .; python3 -c "
import json, sys
all = json.load(open(sys.argv[1]))
assert all[\"passed\"] == 8 and [f[\"name\"] for f in all[\"fixtures\"]] == list(\"12345678\"), all
assert all[\"fixtures\"][0][\"virtual_ns\"] == 800 * 10**9" "$RUN/out"'

test_that "a fixture that waits for ever, or too long, fails by itself" '
    script a.sh <<<"mkfifo p; cat p"; : >a.error
    script b.sh <<<"while :; do :; done"; : >b.expected
    run timeout 60 "$VITRO" conform --timeout 1s .; status_is 1
    out_has "not ok 1 - a"; out_has "not ok 2 - b"; out_has "0 passed, 2 failed"'

test_that "nothing is left behind" '
    script a.sh <<<"echo x"; echo x >a.expected
    run "$VITRO" conform .; status_is 0
    [ -z "$(ls -d "$TMPDIR"/vitro-conform* 2>/dev/null)" ]'
tap_done
