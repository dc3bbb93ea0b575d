# Tapes nobody should meet: each is answered in words with file and line, in bounded memory.
. "$(dirname "$0")/../lib/tap.sh"

header='{"type":"header","version":1}'
verbs() { # verbs FILE WORDS [LIMIT_KB]: every reading verb refuses it with these words
    for verb in "tape show" "tape diff $1" "tape gc" "fidelity $1"; do
        run "$VITRO" $verb "$1"
        status_is 2
        err_has "$2"
    done
    run "$VITRO" tape verify "$1"
    status_is 1
    out_has "$2"
}
bounded() { # bounded COMMAND...: with 200 MB of address space (sanitizers need more than there is)
    case $O in *san*) run "$@" ;; *) run bash -c 'ulimit -v 204800; exec "$@"' bounded "$@" ;; esac
}

test_that "a tape of one line of 1 GB is refused after the limit, in bounded memory" '
    { echo "$header"; printf "{\"type\":\"record\",\"seq\":0,\"kind\":\"note\",\"text\":\""; } >big.tape
    truncate -s 1G big.tape
    bounded "$VITRO" tape show big.tape
    status_is 2; err_has "big.tape:2: the line is longer than 16777216 bytes"
    bounded "$VITRO" tape verify big.tape
    status_is 1; out_has "big.tape:2: the line is longer"'

test_that "a stream without a newline is refused, too" '
    status=0; { echo "$header"; yes | tr -d "\n" | head -c 1G; } 2>/dev/null | "$VITRO" tape show - >"$RUN/out" 2>"$RUN/err" || status=$?
    status_is 2; err_has "-:2: the line is longer"'

test_that "truncated, duplicate-header, wrong-version and empty tapes are named" '
    printf "%s" "${header%?}" >cut.tape; verbs cut.tape "cut.tape:1: column 29: the header is cut short"
    { echo "$header"; echo "$header"; } >two.tape; verbs two.tape "two.tape:2: a second header"
    echo "{\"type\":\"header\",\"version\":7,\"tool\":\"vitro 9\"}" >new.tape
    verbs new.tape "new.tape:1: tape version 7, but this vitro reads up to version 1"
    : >empty.tape; verbs empty.tape "empty.tape:1: the tape is empty"'

test_that "deeply nested and non-UTF-8 lines are named with their column" '
    { echo "$header"; printf "{\"type\":\"record\",\"seq\":0,\"kind\":\"note\",\"data\":{\"a\":"; printf "[%.0s" $(seq 100000); echo; } >deep.tape
    verbs deep.tape "deep.tape:2: column 115: nested too deeply"
    { echo "$header"; printf "{\"type\":\"record\",\"seq\":0,\"kind\":\"note\",\"text\":\"\377\"}\n"; } >latin.tape
    verbs latin.tape "latin.tape:2: column 48: bytes that are not UTF-8"'

test_that "a store that is a symbolic link is refused" '
    hash=$(printf hello | sha256sum | cut -d" " -f1)
    { echo "$header"; echo "{\"type\":\"record\",\"seq\":0,\"kind\":\"term_output\",\"data\":{\"payload\":{\"content_hash\":\"$hash\",\"len_bytes\":5}}}"; } >a.tape
    mkdir elsewhere; printf hello >elsewhere/$hash; ln -s elsewhere a.tape.cas
    run "$VITRO" tape verify a.tape; status_is 1; out_has "a.tape.cas'"'"': it is a symbolic link"
    run "$VITRO" tape gc a.tape; status_is 2; err_has "it is a symbolic link"
    run "$VITRO" tape export a.tape x.tar.zst; status_is 2; err_has "the store is not a directory"
    [ -e elsewhere/$hash ]'

test_that "a missing tape, a directory and a binary file are named" '
    run "$VITRO" tape show none.tape; status_is 2; err_has "open tape '"'"'none.tape'"'"': No such file or directory"
    mkdir d; run "$VITRO" tape show d; status_is 2; err_has "d/tape"
    head -c 4096 /dev/zero >zero.tape; verbs zero.tape "zero.tape:1: column 1: "'
tap_done
