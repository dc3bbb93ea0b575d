# vitro test: what it plays, what it says, and how it ends. Scenarios about programs are in tests/vt.
. "$(dirname "$0")/../lib/tap.sh"
export TMPDIR=$tap_dir # sandboxes of these tests are their own

file() { cat >"$1"; }

test_that "a scenario that holds passes, one that does not is told with place and reason" '
    printf "exec echo hello\n  stdout is \"hello\"\n" >good.vt
    printf "section \"greeting\"\nexec echo hello\n  stdout is \"bye\"\n" >bad.vt
    run "$VITRO" test good.vt bad.vt
    status_is 1
    out_has "ok   good"
    out_has "FAIL bad"
    out_has "in section \"greeting\""
    out_has "bad.vt:3: stdout is \"bye\""
    out_has "standard output is not \"bye\""
    out_has "hello"
    out_has "again  vitro test bad.vt:1"
    [ "$(tail -n 1 "$RUN/out")" = "1 passed, 1 failed, 0 skipped" ]'

test_that "a mistake is told before anything runs" '
    printf "exec touch %s/ran\nexce true\n" "$PWD" >a.vt
    run "$VITRO" test a.vt
    status_is 2; err_has "a.vt:2:1: exce is not a word in a scenario"; err_has "did you mean '"'exec'"'"; [ ! -e ran ]'

test_that "files that are missing or empty are named" '
    : >empty.vt
    run "$VITRO" test none.vt; status_is 2; err_has "none.vt"
    run "$VITRO" test empty.vt; status_is 2; err_has "empty.vt: there is nothing in it"
    run "$VITRO" test; status_is 2; err_has "which scenarios?"'

test_that "scenarios of one file have sandboxes of their own and share what stands before them" '
    file a.vt <<VT
set word hello
scenario "writes"
write note \$word
file note is "hello"
scenario "does not see it"
file note missing
exec echo \$word
  stdout is "hello"
VT
    run "$VITRO" test a.vt; status_is 0; out_has "2 passed"
    out_has "ok   a: writes"'

test_that "a row of examples is a case" '
    file a.vt <<VT
examples
  | name | greeting    |
  | Ada  | "hello Ada" |
  | Bob  | "hello Ada" |
exec echo hello \$name
  stdout is \$greeting
VT
    run "$VITRO" test a.vt; status_is 1
    out_has "ok   a [name=Ada, greeting=\"hello Ada\"]"; out_has "FAIL a [name=Bob"; out_has "1 passed, 1 failed"'

test_that "names, tags and lines choose scenarios" '
    file a.vt <<VT
scenario "one"
tags quick
exec true
scenario "two"
tags slow
exec true
scenario "three"
exec true
VT
    run "$VITRO" test --list -k thr a.vt; out_is "a.vt:7: a: three"
    run "$VITRO" test --list -t quick -t slow a.vt; [ "$(wc -l <"$RUN/out")" = 2 ]
    run "$VITRO" test --list -t -slow a.vt; out_lacks two; [ "$(wc -l <"$RUN/out")" = 2 ]
    run "$VITRO" test --list a.vt:5; out_is "a.vt:4: a: two"
    run "$VITRO" test a.vt:5; status_is 0; out_has "1 passed"
    run "$VITRO" test -k nothing a.vt; status_is 2; err_has "no scenario was chosen"'

test_that "a directory is all its scenarios, in the order of their names" '
    mkdir -p d/e; for n in d/b d/a d/e/c; do echo "exec true" >$n.vt; done; echo "exec false" >d/not.txt
    run "$VITRO" test --list d; out_is "$(printf "d/a.vt:1: a\nd/b.vt:1: b\nd/e/c.vt:1: c")"'

test_that "the order of results is that of the files, whoever ends first; shuffling follows its seed" '
    for i in 1 2 3 4 5 6; do echo "exec true" >$i.vt; done; echo "exec sleep 1000" >1.vt
    "$VITRO" test -j 4 [1-6].vt >once; "$VITRO" test -j 1 [1-6].vt >again; same once again
    "$VITRO" test -j 4 --shuffle 7 [1-6].vt >once; "$VITRO" test -j 2 --shuffle 7 [1-6].vt >again; same once again
    "$VITRO" test --shuffle 8 [1-6].vt >other; ! cmp -s once other; grep -q "shuffled with seed 8" other'

test_that "a sabotage that changes nothing is caught" '
    file a.vt <<VT
exec cat word
  stdout contains "l"
sabotage "another word"
  replace word "hello" with "world"
-- word --
hello
VT
    run "$VITRO" test a.vt; status_is 1
    out_has "a.vt:3: sabotage \"another word\""
    out_has "the scenario passes with this change too"
    run "$VITRO" test --no-sabotage a.vt; status_is 0
    sed -i "s/contains \"l\"/contains \"hello\"/" a.vt
    run "$VITRO" test a.vt; status_is 0
    sed -i "s/replace word \"hello\"/replace word \"goodbye\"/" a.vt
    run "$VITRO" test a.vt; status_is 1; out_has "could not be done"; out_has "does not hold \"goodbye\""'

test_that "retries are off; with them a pass is flaky and says so" '
    echo "plain
exec ./once
-- once --
#!/bin/sh
[ -e $PWD/mark ] || { : >$PWD/mark; exit 1; }" >a.vt
    run "$VITRO" test a.vt; status_is 1; rm mark
    run "$VITRO" test --retries 1 a.vt; status_is 0; out_has "FLAKY: passed at try 2"; out_has "1 flaky"; rm mark
    run "$VITRO" test --retries 1 --json a.vt; out_has "\"flaky\":true"'

test_that "quarantine holds until its day" '
    printf "quarantine until 2026-12-01 \"waits for a fix\"\nexec false\n" >a.vt
    run "$VITRO" test --today 2026-11-30 a.vt; status_is 0; out_has "in quarantine: waits for a fix"; out_has "1 skipped"
    run "$VITRO" test --today 2026-12-01 a.vt; status_is 1; out_has "the quarantine is over"
    sed -i s/false/true/ a.vt
    run "$VITRO" test --today 2026-11-30 a.vt; status_is 0; out_has "1 passed"
    run "$VITRO" test --today 2026-12-01 a.vt; status_is 1; out_has "remove the line"'

test_that "what is skipped says why" '
    printf "skip \"not today\"\nexec false\n" >a.vt; printf "needs no-such-program-here\nexec false\n" >b.vt
    run "$VITRO" test a.vt b.vt; status_is 0
    out_has "skip a  (not today)"; out_has "skip b  (no-such-program-here is not installed)"; out_has "0 passed, 0 failed, 2 skipped"'

test_that "TAP, JUnit and JSON say the same" '
    need jq
    printf "exec true\n" >a.vt; printf "exec printf \"\\\\e[1m<&\"\n  stdout is \"x\"\n" >b.vt; printf "skip \"why\"\n" >c.vt
    run "$VITRO" test --format tap a.vt b.vt c.vt
    grep -qx "1..3" "$RUN/out"; grep -qx "ok 1 - a" "$RUN/out"; grep -qx "not ok 2 - b" "$RUN/out"; grep -qx "ok 3 - c # SKIP why" "$RUN/out"
    run "$VITRO" test --format junit --junit j.xml a.vt b.vt c.vt
    same "$RUN/out" j.xml
    out_has "tests=\"3\" failures=\"1\" errors=\"0\" skipped=\"1\""; out_has "&lt;&amp;"
    ! LC_ALL=C grep -q "$(printf "\033")" j.xml
    run "$VITRO" test --json a.vt b.vt c.vt
    [ "$(jq -c "[.passed,.failed,.skipped,.cases[1].status,.cases[1].failed_line]" "$RUN/out")" = "[1,1,1,\"failed\",2]" ]'

test_that "a process that stays behind fails the scenario that left it, and is gone" '
    file a.vt <<VT
plain
exec sh -c "setsid sleep 54321 >/dev/null 2>&1 & echo started"
VT
    run "$VITRO" test a.vt; status_is 1
    out_has "1 process was still running when the scenario ended"; out_has "sleep 54321"
    ! pgrep -f "^sleep 54321" >/dev/null
    sed -i /plain/d a.vt
    run "$VITRO" test a.vt; status_is 1; out_has "process/orphan"'

test_that "a killed player leaves nothing: the next one clears it away" '
    file a.vt <<VT
plain
exec ./wait
-- wait --
#!/bin/sh
echo \$\$ >$PWD/pid
exec sleep 1000
VT
    "$VITRO" test a.vt >/dev/null 2>&1 &
    runner=$!
    until [ -s pid ]; do :; done
    kill -9 $runner; wait $runner 2>/dev/null || true
    until "$VITRO" test --sweep --dry-run | grep -q /a-; do :; done
    run "$VITRO" test --sweep; status_is 0; out_has "/a-"
    [ ! -s /proc/$(cat pid)/environ ] || fail "the program still runs"
    run "$VITRO" test --sweep; out_is ""'

test_that "plans that were not met and calls that nobody planned fail" '
    file a.vt <<VT
shim gh
  expect ["issue", "list"] stdout "none\n"
  expect ["issue", "create"] times 2
exec sh -c "gh issue list; gh issue create; gh pr list || true"
VT
    run "$VITRO" test a.vt; status_is 1
    out_has "shim: gh pr list: no rule answers this call"
    out_has "shim: gh [\"issue\", \"create\"]: expected 2 calls, got 1"'

test_that "a cassette answers for the subprocesses of a program in a terminal" '
    mkdir real; printf "#!/bin/sh\nsleep 10; echo told \$1; [ \$1 = one ]\n" >real/fortune; chmod +x real/fortune
    PATH=$PWD/real:$PATH run "$VITRO" run --record rec --tape-only fortune -- sh -c "fortune one; fortune fail"; status_is 1
    rm -r real
    file a.vt <<VT
cassette \$DIR/rec
tape-only fortune
run sh -c "fortune one; printf \"Again? \"; read a; fortune \\\$a"
  see "told one" before "Again?"
  type "fail" <Enter>
  see "told fail"
  exits 1
VT
    run "$VITRO" test a.vt; cat "$RUN/out"; status_is 0
    sed "s/type .fail./type \"two\"/; s/  see .told fail.//; /exits/d" a.vt >miss.vt
    run "$VITRO" test miss.vt; status_is 1; out_has "its subprocesses are not as recorded (122)"; out_has "fortune two"
    echo "  exits 122" >>miss.vt; run "$VITRO" test miss.vt; status_is 0
    file unused.vt <<VT
cassette \$DIR/rec
tape-only fortune
run sh -c "fortune one"
VT
    run "$VITRO" test unused.vt; status_is 1; out_has "not as recorded (122)"; out_has "fortune fail"
    sed "1i allow unused" unused.vt >allowed.vt; run "$VITRO" test allowed.vt; cat "$RUN/out"; status_is 0
    sed "1i plain" unused.vt >plain.vt; run "$VITRO" test plain.vt; status_is 1; out_has "and this is plain"
    sed "s/rec$/none/" unused.vt >none.vt; run "$VITRO" test none.vt; status_is 1; out_has "/none"'

test_that "a suite that is recorded leaves bundles of programs and casts of terminals" '
    file a.vt <<VT
scenario "says hi"
exec sh -c "echo one; sleep 5"
run sh -c "echo two; read x"
  see "two"
  mark "here"
  type "y" <Enter>
plain
run sh -c "echo three"
  see "three"

scenario "fails"
run cat
  see "never"
VT
    for n in 1 2; do run "$VITRO" test --record kept a.vt; status_is 1; done # a second run takes the place of the first
    [ "$(ls kept | tr "\n" " ")" = "a--fails-1 a--fails-1.cast a--says-hi-1 a--says-hi-2 a--says-hi-2.cast a--says-hi-3.cast " ] || fail "$(ls kept)"
    for n in 1 2; do run "$VITRO" tape verify --complete kept/a--says-hi-$n; status_is 0; done
    run "$VITRO" tape show kept/a--says-hi-1; out_has "duration=00:00:05"
    grep -q "\"m\", \"here\"" kept/a--says-hi-2.cast; run "$VITRO" term play --instant kept/a--says-hi-2.cast; out_has two
    : >file; run "$VITRO" test --record file/in a.vt; status_is 1; out_has "file/in"'

test_that "a spy records into a cassette, and a shim, or a box, plays it" '
    file rec.vt <<VT
shim fortune
  record calls.tape
exec sh -c "fortune one; echo body | fortune read; fortune one; fortune fail || true"
  stdout is "told one\nread body\ntold one\n"
  stderr is "no such fortune\n"
  takes 30s
shim fortune called 4 times
VT
    mkdir real; file real/fortune <<SH
#!/bin/sh
case \$1 in
one) sleep 10; echo told one ;;
read) sleep 10; echo "read \$(cat)" ;;
*) echo no such fortune >&2; exit 3 ;;
esac
SH
    chmod +x real/fortune
    PATH=$PWD/real:$PATH run "$VITRO" test rec.vt; cat "$RUN/out"; status_is 0
    CI=1 PATH=$PWD/real:$PATH run "$VITRO" test rec.vt; status_is 1; out_has "recording is refused while CI is set"
    run "$VITRO" tape show calls.tape; out_has subprocess
    sed "s/record calls/replay calls/" rec.vt >play.vt
    rm -r real
    run "$VITRO" test play.vt; cat "$RUN/out"; status_is 0
    run "$VITRO" run --cassette calls.tape --proc none --tape-only fortune --allow unused -- sh -c "fortune one"; out_is "told one"
    printf "cassette \$DIR/calls.tape\ntape-only fortune\nallow unused\nexec sh -c \"fortune one\"\n  stdout is \"told one\"\n  takes 10s\n" >box.vt
    run "$VITRO" test box.vt; cat "$RUN/out"; status_is 0
    sed -i /unused/d box.vt; run "$VITRO" test box.vt; status_is 1; out_has "exited with 122"; out_has "fortune fail"
    sed "s/; fortune one; fortune fail || true//; /stdout/d; /stderr/d; /takes/d; /called/d" play.vt >less.vt
    run "$VITRO" test less.vt; status_is 1
    out_has "shim: fortune one: expected 2 calls, got 1"; out_has "shim: fortune fail: expected 1 call, got 0"
    printf "shim gh\n  replay none.tape\n" >none.vt
    run "$VITRO" test none.vt; status_is 1; out_has none.tape; out_has "record none.tape"'

test_that "a build runs once for all scenarios" '
    mkdir s; for i in 1 2 3 4; do printf "build sh -c \"echo x >>count\"\nexec true\n" >s/$i.vt; done
    run "$VITRO" test -j 4 s; status_is 0; [ "$(wc -l <s/count)" = 1 ]
    run "$VITRO" test s; [ "$(wc -l <s/count)" = 2 ]
    printf "build sh -c \"echo broken; exit 1\"\n" >s/5.vt
    run "$VITRO" test s/5.vt; status_is 1; out_has "broken"'

test_that "includes are put in their place, and one that includes itself is caught" '
    echo "set who Ada" >common.vt; printf "include common.vt\nexec echo \$who\n  stdout is \"Ada\"\n" >a.vt
    run "$VITRO" test a.vt; status_is 0
    echo "include loop.vt" >loop.vt; run "$VITRO" test loop.vt; status_is 2; err_has "does '"'loop.vt'"' include itself?"
    printf "include gone.vt\n" >b.vt; run "$VITRO" test b.vt; status_is 2; err_has "b.vt:1"; err_has "gone.vt"'

test_that "the form of a file is put right, or told" '
    printf "exec   true\n     exits  0\n" >a.vt
    run "$VITRO" test --fmt --check a.vt; status_is 1; out_is a.vt
    run "$VITRO" test --fmt a.vt; status_is 0; [ "$(cat a.vt)" = "$(printf "exec true\n  exits 0")" ]
    run "$VITRO" test --fmt --check a.vt; status_is 0; out_is ""'

test_that "goldens are compared, told apart, updated by hand and not in CI" '
    file a.vt <<VT
size 20x4
run echo hello
  see "hello"
  screen is a.screen
VT
    run "$VITRO" test a.vt; status_is 1; out_has "a.screen"
    run env CI=1 "$VITRO" test --update a.vt; status_is 2; err_has "CI"
    run "$VITRO" test --update a.vt; status_is 0; grep -qx hello a.screen
    run "$VITRO" test a.vt; status_is 0
    : >old.screen; run "$VITRO" test .; err_has "no scenario uses '"'./old.screen'"'"; err_lacks a.screen
    echo "exec true" >b.vt; run "$VITRO" test b.vt; err_lacks old.screen; rm b.vt
    sed -i "s/echo hello/echo hellO/; s/see \"hello\"/see \"hell\"/" a.vt
    run "$VITRO" test a.vt; status_is 1; grep -qx hellO a.screen.actual'

test_that "the clock goes on from program to program, and manual clocks move by the word" '
    file a.vt <<VT
clock 2026-05-01T00:00:00Z
exec sleep 3600
  takes 1h
run ./spin
  see "0"
exec date +%T
  stdout is "01:00:03"
clock 2026-05-01T00:00:00Z,manual
run ./spin
  see "0"
  not see "1"
  advance 1s
  see "1"
  advance 2s
-- spin --
#!/bin/sh
for i in 0 1 2; do echo \$i; sleep 1; done
VT
    run "$VITRO" test a.vt; cat "$RUN/out"; status_is 0'

test_that "goldens of every kind that nobody uses are told, and what is in use is not" '
    mkdir goldens
    file a.vt <<VT
examples
  | name |
  | one  |
size 20x4
shim fortune
  replay \$DIR/calls.tape
copy data.json to x.json
exec sh -c "cat x.json"
run echo hello
  see "hello"
  screen is \$name.screen
  screen is picture.svg
  screen is colour.ansi
  screen is all.json
  screen is goldens/a.screen
VT
    run "$VITRO" test a.vt # nothing is there yet
    echo "{\"rows\": [], \"cols\": 3, \"cursor\": 1}" >data.json # used, and looks like one
    mkdir real; printf "#!/bin/sh\necho told\n" >real/fortune; chmod +x real/fortune
    printf "shim fortune\n  record calls.tape\nexec fortune\n" >rec.vt; PATH=$PWD/real:$PATH run "$VITRO" test rec.vt; status_is 0; rm rec.vt
    sed -i "s/^exec sh.*/exec fortune/" a.vt; run "$VITRO" test --update a.vt; cat "$RUN/out"; status_is 0
    run "$VITRO" test .; status_is 0; err_lacks "no scenario uses"
    echo "{\"a\": 1}" >mine.json; : >mine.txt; : >goldens/mine.txt # other people have files, too
    run "$VITRO" test .; err_lacks "no scenario uses"
    cp picture.svg old.svg; cp colour.ansi old.ansi; cp all.json old.json; cp calls.tape old.tape; cp goldens/a.screen goldens/old.screen
    : >old.svg.actual; : >one.screen.actual; cp one.screen two.words.screen
    run "$VITRO" test .
    for left in old.svg old.ansi old.json old.tape goldens/old.screen old.svg.actual; do err_has "./$left"; done
    [ "$(grep -c "no scenario uses" "$RUN/err")" = 6 ] || fail "$(cat "$RUN/err")"'

test_that "an axis with a wrong value is found before anything plays, with its place and the right form" '
    check() { # check LINE COLUMN WORDS...
        printf "exec touch $PWD/played\n%s\nexec true\n" "$1" >a.vt
        run "$VITRO" test a.vt; status_is 2; err_has "a.vt:2:$2: "; shift 2
        for words; do err_has "$words"; done
        [ ! -e played ]
    }
    check "clock noon" 7 "'"'noon'"' is not a clock" "hint: write real, 2026-01-31T12:00:00Z"
    check "clock 2026-13-01" 7 "2026-13-01" "hint: write real"
    check "clock" 6 "needs a value"
    check "net maybe" 5 "net '"'maybe'"' is not known" "hint: write net deny or net real"
    check "fs readonly" 4 "fs '"'readonly'"' is not known" "hint: write fs overlay, fs ro or fs real"
    check "allow leek" 7 "allow '"'leek'"' is not known" "hint: write allow leak"
    check "seed many" 6 "seed '"'many'"' is not a number from 1"
    check "seed 0" 6 "seed '"'0'"' is not a number"
    check "max-time 5" 10 "'"'5'"' is not a duration" "a number and a unit"
    check "size-limit lots" 12 "'"'lots'"' is not a size" "512k, 64m, 2g"
    check "on-miss explode" 9 "on-miss '"'explode'"' is not known" "hint: write on-miss fail"
    check "match argv,colour" 7 "colour"
    check "trace-reads yes" 13 "has no value"
    check "size 80" 6 "expected a size, as 80x24, found 80"
    check "quota lots" 7 "a number up to"
    printf "run cat\n  resize big\n" >b.vt; run "$VITRO" test b.vt; status_is 2; err_has "b.vt:2:10: expected a size, as 100x30, found big"
    printf "run cat\n  signal HUPP\n" >b.vt; run "$VITRO" test b.vt; status_is 2; err_has "b.vt:2:10: '"'HUPP'"' is not a signal"'

test_that "a value that is a variable is looked at when it has one" '
    printf "examples\n  | when       | size  | signal |\n  | 2020-01-01 | 90x30 | TERM   |\nclock \$when\nsize \$size\nrun sh -c \"date +%%Y; stty size; read x\"\n  see 2020\n  see \"30 90\"\n  resize \$size\n  signal \$signal\n  exits signal TERM\n" >a.vt
    run "$VITRO" test a.vt; cat "$RUN/out" "$RUN/err"; status_is 0
    sed "s/2020-01-01/someday/" a.vt >b.vt; run "$VITRO" test b.vt; status_is 1; out_has "'"'someday'"' is not a clock"'

test_that "every word of vitro run is a word of scenarios" '
    "$VITRO" test --words >words
    "$VITRO" run --help | sed -n "s/^ .*--\([a-z-]*\) .*/\1/p" | grep -vE "^(record|record-in-ci|proc|process-record|process-replay|name|control|diff|apply|quiet|json|help)" >axes
    [ "$(wc -l <axes)" -ge 10 ]
    for axis in $(cat axes); do grep -q "^$axis " words || fail "$axis is not a word"; done'

test_that "docs/formats/vt.md names every word" '
    "$VITRO" test --words | sed "/^And the words/,\$d" | sed -n "s/^\([a-z]*\) .*/\1/p" >words
    [ "$(wc -l <words)" -ge 50 ]
    for word in $(cat words); do grep -q "\`$word\b" "$TOP/docs/formats/vt.md" || fail "$word is not in vt.md"; done'

test_that "variables that are not there are named with the closest" '
    printf "set greeting hello\nexec echo \$greting\n" >a.vt
    run "$VITRO" test a.vt; status_is 1; out_has "a.vt:2:11: there is no variable '"'greting'"'"; out_has "\$greeting"'

test_that "the message of a broken program is one a newcomer understands" '
    sed "s|fflush(stdout); /\* shown before we ask \*/||; /^sabotage/,/^$/d" "$TOP/tests/vt/feedback.vt" >feedback.vt
    run "$VITRO" test feedback.vt; status_is 1
    out_has "see \"posted PUBLICLY\" before \"y/N\""; out_has "\"y/N\" came first, and it has not come"; out_has "Send the feedback? [y/N]"
    sed "s|if not consent_screen():|if False:|; /^sabotage/,/^$/d" "$TOP/tests/vt/consent.vt" >consent.vt
    run "$VITRO" test -k full-screen consent.vt; status_is 1
    out_has "screen contains \"posted PUBLICLY\""; out_has "Sent: https://example.test/1"; out_has "call 1  gh issue create"
    need tmux
    sed "s|deck mouse on|deck @mouse on|; /^sabotage/,/^$/d" "$TOP/tests/vt/deck_tmux.vt" >deck.vt
    run "$VITRO" test deck.vt; status_is 1
    out_has "output is \"on\""; out_has "the output of tmux is not \"on\""; out_has "tmux -L deck set-option -t deck @mouse on"'
# What a scenario of ours says about the command is worth something when another command does not pass.
test_that "the scenarios of tests/vt fail with a command that says nothing and always ends well" '
    mkdir -p fake/examples fake/tests/examples
    for name in vitro examples/tape_write tests/examples/suite_test; do printf "#!/bin/sh\nexit 0\n" >fake/$name; chmod +x fake/$name; done
    cd "$TOP/tests/vt"
    PATH=$OLDPWD/fake:$PATH run "$VITRO" test --set GUESTS="$GUESTS" --set BUILD="$OLDPWD/fake" --set BOUNDED= \
        run.vt tape.vt tape_bad.vt sched.vt box_files.vt proc_bad.vt
    status_is 1; out_has "0 passed"; out_lacks "ok   "'
tap_done
