# vitro term: named sessions for shells and agents, snapshots, casts, and nothing left behind.
. "$(dirname "$0")/../lib/tap.sh"
export XDG_RUNTIME_DIR=$tap_dir/run
mkdir -p "$XDG_RUNTIME_DIR"
trap '"$VITRO" term close --all >/dev/null 2>&1; rm -rf "$tap_dir"' EXIT
term() { run "$VITRO" term "$@"; }
good() { run "$VITRO" term "$@"; status_is 0; } # good SUBVERB...: it holds
spinner='i=0; while :; do printf "\r%d " $i; i=$((i+1)); sleep 0.1; done'

# Sessions of a test that failed are no trouble for the next.
eval "$(declare -f test_that | sed '1s/test_that/one_test/')"
test_that() { one_test "$@"; "$VITRO" term close --all >/dev/null 2>&1; }

test_that "a session is opened, typed into, looked at and closed" '
    good open a -- sh -c "printf \"name? \"; read n; echo hello \$n; read x"
    good expect a "name? " --before-read
    good send a "Zoe<Enter>"
    good expect a "hello Zoe"
    good screen a; out_is "$(printf "name? Zoe\nhello Zoe")"
    good list; out_is a
    good close a
    good list; out_is ""
    term screen a; status_is 2; err_has "there is no session"; err_has "vitro term open a"'

test_that "names and programs that are none are told, and leave nothing" '
    term open ../a -- true; status_is 2; err_has "is not a name of a session"
    good open twice -- cat
    term open twice -- cat; status_is 2; err_has "there is a session"; err_has "vitro term close twice"
    good close twice
    good open gone -- /no/such/program
    term expect gone --exit 0; status_is 1; err_has "/no/such/program"
    good close gone'

test_that "exit codes tell what failed" '
    good open a -- sh -c "echo one; read x; exit 3"
    term expect a two; status_is 1; err_has "waits for input, and nothing is due"; err_has "│one"
    term expect a "(" --regex; status_is 2; err_has "closing parenthesis"
    term expect a; status_is 2; err_has "what is expected?"
    term send a "<Entre>"; status_is 2; err_has "did you mean <Enter>"
    good send a "<Enter>"
    term expect a --exit 0; status_is 1; err_has "it exited with 3"
    good expect a --exit 3
    good open b -- sh -c "$spinner"
    term expect b never --within 5s; status_is 124; err_has "virtual time is up"
    good close --all'

test_that "a manual clock moves a spinner by its frames" '
    good open a --clock 2026-01-01,manual -- sh -c "$spinner"
    good screen a; out_is "0"
    good advance a 100ms; good screen a; out_is "1"
    good advance a 1s; good screen a; out_is "11"
    good advance a 99ms; good screen a; out_is "11"
    run "$VITRO" term settle a --json; status_is 0
    [ "$(jq -c "[.state.virtual_ns,.state.next_due_ns,.state.frames]" "$RUN/out")" = "[1199000000,1000000,12]" ]
    good close a'

test_that "answers are JSON when asked for" '
    need jq
    good open a --json -- sh -c "printf \"\033]0;my title\007\033[1;31mred\033[0m 42\"; read x"
    good screen a --format json --json
    [ "$(jq -r .screen "$RUN/out" | jq -c "[.title,.lines[0].text,.lines[0].runs[0].style]")" = "[\"my title\",\"red 42\",\"bold fg=red\"]" ]
    good expect a "([0-9]+)" --regex --json
    run "$VITRO" term expect a "m ([0-9]+)" --regex --from-start --json; status_is 0
    [ "$(jq -r ".match.groups[1]" "$RUN/out")" = 42 ]
    run "$VITRO" term expect a gone --json; status_is 1
    [ "$(jq -r .failure.why "$RUN/out")" = not-seen ]
    good close a'

test_that "order, styles and the past are asked about" '
    good open a -- sh -c "printf \"\033[32mready\033[0m\033[2J\033[Hdone> \"; read x"
    term expect a ready --before "done>"; status_is 0
    good expect a --screen "done>" --row 1 --col 1 --style plain
    good expect a --screen --not ready
    good expect a --ever ready --style fg=green
    term expect a --never ready; status_is 1; err_has "it did at row 1"
    good expect a --cursor 1,7
    good expect a --read
    good close a'

test_that "a golden is compared, updated, and never written in CI" '
    good open a -- sh -c "printf \"\033[1mone\033[0m\nat 12:34:56\n\"; read x; printf \"two\n\"; read x"
    term screen a --golden g; status_is 1; err_has "is not there"; [ "$(head -n 1 g.actual)" = one ]
    CI=1 term screen a --golden g --update; status_is 2; err_has "CI is set"; [ ! -e g ]
    good screen a --golden g --format styled --update; [ ! -e g.actual ]
    grep -q "^1:1-3 bold$" g
    good screen a --golden g --format styled
    cp g before
    good send a "<Enter>"
    term screen a --golden g --format styled; status_is 1; err_has "+two"; cmp g before; [ -e g.actual ]
    sed "s/12:34:56/23:59:59/" g.actual >h
    term screen a --golden h --format styled; status_is 1
    good screen a --golden h --format styled --mask "s/..:..:../TIME/"
    good close a'

session() { # session NAME: the same each time
    good open "$1" -- bash --norc -i
    good send "$1" --mark step "sleep 3; echo \$RANDOM; date<Enter>"
    good expect "$1" 2026
    good resize "$1" 10 60
    good send "$1" "exit 4<Enter>"
    good expect "$1" --exit 4
}
test_that "casts, pictures and screens of equal sessions are equal bytes" '
    need bash
    for n in 1 2 3; do
        session s$n
        good cast s$n -o $n.v3; good cast s$n --v2 -o $n.v2; good svg s$n -o $n.svg; good screen s$n -f styled; cp "$RUN/out" $n.styled
        good close s$n
    done
    for kind in v2 v3 svg styled; do same 1.$kind 2.$kind; same 1.$kind 3.$kind; done
    head -n 1 1.v3 | jq -e ".version == 3 and .term.cols == 80 and .timestamp == 1767225600" >/dev/null
    [ "$(sed 1d 1.v3 | jq -r ".[1]" | sort -u | tr -d "\n")" = imorx ]
    [ "$(sed 1d 1.v3 | jq -s "map(.[0]) | add")" = 3 ]
    [ "$(sed 1d 1.v2 | jq -s "last[0]")" = 3 ]
    good cast --v2 1.v3; same "$RUN/out" 1.v2
    good svg 1.v3; same "$RUN/out" 1.svg
    good svg 1.v3 --at 1s -f text; out_lacks 2026
    good svg 1.v3 --at 3s -f text; out_has 2026
    good play --instant 1.v3; out_has 2026
    ! grep -q " id=\|font-face\|=\"[0-9]*\.[0-9]" 1.svg'

test_that "a session leaves the cast and the bundle it was told to leave" '
    need bash
    for n in 1 2; do
        good open r --record $n.cast --record $n -- bash --norc -i
        good send r --mark step "sleep 3; date<Enter>"; good expect r 2026
        [ ! -e $n.cast ]; good close r # bash is hung up on
        run "$VITRO" tape verify --complete $n; status_is 0
    done
    same 1.cast 2.cast
    head -n 1 1.cast | jq -e ".version == 3" >/dev/null; grep -q "\"m\", \"step\"" 1.cast; good play --instant 1.cast; out_has 2026
    run "$VITRO" tape show 1; out_has clock_advance
    good open r --v2 --record v2.cast -- sh -c "echo hi"; good expect r --exit 0; good close r
    head -n 1 v2.cast | jq -e ".version == 2" >/dev/null'

test_that "a recording that cannot be left is told" '
    good open r --record none/x.cast -- cat; term close r; status_is 2; err_has "none/x.cast"
    good list; out_is ""
    good open r --record deaf -- sh -c "trap \"\" HUP; echo up; while :; do read x; done"; good expect r up
    term close r; status_is 2; err_has "did not end when its terminal was hung up"; err_has "hint: let the program end"
    run "$VITRO" tape verify --complete deaf; status_is 1
    term open r --record a.cast --record b.cast -- cat; status_is 2; err_has "there is one cast already"
    term open r --plain --record a -- cat; status_is 2; err_has "not --plain"'

test_that "a picture is drawn as PNG where rsvg-convert is, and refused by name elsewhere" '
    good open a -- sh -c "printf \"\033[1;31mred\033[0m\"; read x"
    term svg a --png; status_is 2; err_has "needs --output"
    term svg a --png -o a.png
    drawn=$status; cp "$RUN/err" said
    good close a
    if command -v rsvg-convert >/dev/null; then
        [ "$drawn" = 0 ] && [ "$(head -c 4 a.png | tail -c 3)" = PNG ]
    else
        [ "$drawn" = 125 ] && grep -q librsvg2-bin said
    fi'

test_that "a file that is no cast is refused by its line" '
    printf "{\"version\": 3, \"term\": {\"cols\": 80, \"rows\": 24}}\n[1, \"o\"]\n" >bad
    term svg bad; status_is 2; err_has "line 2"; err_has "[time, code, text]"
    echo "{\"version\": 9}" >bad; term play bad; status_is 2; err_has "2 and 3 can be read"
    : >bad; term cast bad; status_is 2; err_has "the cast is empty"'

# alive MARK: how many processes have this word in their command line
alive() { printf "%s" "$1" >"$RUN/mark"; grep -lazFf "$RUN/mark" /proc/[0-9]*/cmdline 2>/dev/null | wc -l; }
gone() { # gone MARK: nobody has it, within what a kernel needs to end processes
    local n=0
    while [ "$(alive "$1")" != 0 ]; do n=$((n + 1)); [ $n -lt 2000 ] || fail "$(alive "$1") processes are left"; done
}
test_that "nothing is left, whoever is killed" '
    for how in close term kill; do
        mark=vitro-mark-$$-$how
        good open a -- sh -c "trap \"\" HUP TERM INT; (trap \"\" HUP TERM; setsid sleep 100000 \$0 & ) ; sleep 100000; sleep 1 # $mark" $mark
        [ "$(alive $mark)" -ge 1 ]
        pid=$(ss -xlpH 2>/dev/null | grep vitro-term/a.sock | sed -n "s/.*pid=\([0-9]*\).*/\1/p" | head -n 1)
        [ -n "$pid" ] || { good close a; skip "ss is not installed"; }
        case $how in
        close) good close a ;;
        term) kill -TERM $pid ;;
        kill) kill -KILL $pid ;;
        esac
        gone $mark
        # A killed session leaves its name, which is cleared away.
        good list; out_is ""
    done'

test_that "a session without a box runs on real time, and leaves nothing" '
    mark=vitro-mark-$$-plain
    good open a --plain -- sh -c "trap \"\" HUP TERM; sleep 100000 & printf \"ready> \"; read x; exit 5 # $mark"
    good expect a "ready> " --before-read
    good send a "<Enter>"
    good expect a --exit 5
    good close a
    gone $mark'
tap_done
