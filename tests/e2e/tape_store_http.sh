# The shared store over HTTP, against a real nginx.
. "$(dirname "$0")/../lib/tap.sh"
. "$TOP/tests/lib/nginx.sh"
PATH=$PATH:/usr/sbin

header='{"type":"header","version":1}'
tape_with() { # tape_with FILE CONTENT: a tape that needs this content, and a store that has it
    hash=$(printf '%s' "$2" | sha256sum | cut -d' ' -f1)
    { echo "$header"; echo "{\"type\":\"record\",\"seq\":0,\"kind\":\"term_output\",\"data\":{\"payload\":{\"content_hash\":\"$hash\",\"len_bytes\":${#2}}}}"; } >"$1"
    mkdir -p "$1.cas"
    printf '%s' "$2" >"$1.cas/$hash"
}

test_that "contents are pushed once, fetched where they are missing, and checked both ways" '
    need nginx; need perl; need jq
    nginx_start "$PWD"; trap nginx_stop EXIT
    tape_with a.tape "hello, cache"
    run "$VITRO" tape push a.tape --store "$nginx_url"; status_is 0; out_has "1 contents moved, 0 there already"
    [ "$(cat www/cas/$hash)" = "hello, cache" ]
    run "$VITRO" tape push a.tape --store "$nginx_url/" --json; status_is 0
    [ "$(jq -c . "$RUN/out")" = "{\"absent\":0,\"moved\":0,\"present\":1}" ]

    mkdir other; cp a.tape other/a.tape
    run "$VITRO" tape verify other/a.tape; status_is 1; out_has content_missing
    run "$VITRO" tape verify other/a.tape --store "$nginx_url"; status_is 0; out_has "1 contents read, 0 findings"
    [ ! -e other/a.tape.cas ]
    run "$VITRO" tape fetch other/a.tape --store "$nginx_url"; status_is 0; out_has "1 contents moved"
    run "$VITRO" tape verify other/a.tape; status_is 0
    run "$VITRO" tape fetch other/a.tape --store "$nginx_url"; out_has "0 contents moved, 1 there already"'

test_that "a writer sends its contents to the server while it records" '
    need nginx; need perl
    nginx_start "$PWD"; trap nginx_stop EXIT
    cat >t.c <<"C"
#include "vitro/tape.h"
#include <stdio.h>
int main(int argc, char **argv)
{
    struct vitro_tape_options options = {.store_url = argv[1]};
    struct vitro_tape_error error = {0};
    vitro_tape_writer *tape = vitro_tape_create("w.tape", &options, &error);
    char hash[65];
    if (argc != 2 || !tape || vitro_tape_put(tape, "shared", 6, hash, &error) < 0)
        return fprintf(stderr, "%s\n", error.text), 1;
    puts(hash);
    return vitro_tape_close(tape, &error) < 0;
}
C
    san=; case $O in *san-*) san=-fsanitize=$(echo "${O##*san-}" | tr - ,) ;; esac
    cc -I"$TOP/include" $san -o t t.c "$TOP/$O/libvitro.a" -ljansson -lnettle -lzstd -lpcre2-8 -lpthread -lm
    run ./t "$nginx_url"; status_is 0
    [ "$(cat www/cas/$(cat "$RUN/out"))" = shared ]
    [ "$(cat w.tape.cas/$(cat "$RUN/out"))" = shared ]
    rm w.tape; run ./t "$nginx_url/readonly"; status_is 0
    rm -r w.tape w.tape.cas www/cas; run ./t "$nginx_url/readonly"; status_is 1; err_has "the server answered 403"'

test_that "what the server lacks, refuses or damages is named" '
    need nginx; need perl
    nginx_start "$PWD"; trap nginx_stop EXIT
    tape_with a.tape "hello, cache"
    rm -r a.tape.cas
    run "$VITRO" tape fetch a.tape --store "$nginx_url"; status_is 1; out_has "1 nowhere"
    run "$VITRO" tape verify a.tape --store "$nginx_url"; status_is 1; out_has "content $hash is not on '"'"'$nginx_url'"'"'"
    mkdir -p www/cas; printf "hello, crash" >www/cas/$hash
    run "$VITRO" tape fetch a.tape --store "$nginx_url"; status_is 2; err_has "is damaged"
    [ ! -e a.tape.cas/$hash ]
    rm www/cas/$hash; tape_with a.tape "hello, cache"
    run "$VITRO" tape push a.tape --store "$nginx_url/readonly"; status_is 2; err_has "the server answered 403"'

test_that "a server that is not there and a URL that is none are named" '
    need perl
    tape_with a.tape x
    run "$VITRO" tape push a.tape --store "http://127.0.0.1:$(free_port)"; status_is 2; err_has "HEAD '"'"'http://127.0.0.1:"
    run "$VITRO" tape push a.tape --store cache; status_is 2; err_has "store '"'"'cache'"'"': not an HTTP address"
    run "$VITRO" tape push a.tape; status_is 2; err_has "needs --store URL"'
tap_done
