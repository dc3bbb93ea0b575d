# Tapes as archives. The other verbs are in tests/vt/tape.vt.
. "$(dirname "$0")/../lib/tap.sh"

test_that "an exported tape is a plain tar.zst and comes back the same" '
    need zstd
    "$TOP/$O/examples/tape_write" a.tape
    hash=$(printf hello | sha256sum | cut -d" " -f1)
    mkdir a.tape.cas; printf hello >a.tape.cas/$hash
    run "$VITRO" tape export a.tape a.tar.zst; status_is 0
    [ "$(zstd -dc a.tar.zst | tar -tf - | tr "\n" " ")" = "manifest.json tape tape.cas/ tape.cas/$hash " ]
    run "$VITRO" tape export a.tape a.tar.zst; status_is 2; err_has "there is a file already"
    "$VITRO" tape export a.tape again.tar.zst; same a.tar.zst again.tar.zst
    run "$VITRO" tape import a.tar.zst copy; status_is 0
    same a.tape copy/tape; same a.tape.cas/$hash copy/tape.cas/$hash
    run "$VITRO" tape diff a.tape copy; status_is 0
    run "$VITRO" tape import a.tar.zst copy; status_is 2
    "$VITRO" tape export copy third.tar.zst; same a.tar.zst third.tar.zst'

test_that "archives that are cut, damaged, too large or lead elsewhere leave nothing behind" '
    need zstd
    "$TOP/$O/examples/tape_write" a.tape
    "$VITRO" tape export a.tape a.tar.zst
    head -c 300 a.tar.zst >cut.tar.zst
    run "$VITRO" tape import cut.tar.zst x; status_is 2; err_has "cut.tar.zst"
    run "$VITRO" tape import a.tar.zst x --size-limit 100; status_is 2; err_has "more than 100 bytes"; err_has "hint: --size-limit"
    mkdir evil; echo "{}" >evil/manifest.json; ln -s /etc/passwd evil/link
    tar -cf - -C evil . | zstd -q >dot.tar.zst
    run "$VITRO" tape import dot.tar.zst x; status_is 2; err_has "leads elsewhere"
    tar -cf - -P --transform "s,^,../,;" -C evil manifest.json | zstd -q >up.tar.zst
    run "$VITRO" tape import up.tar.zst x; status_is 2; err_has "leads elsewhere"
    tar -cf - -C evil link | zstd -q >link.tar.zst
    run "$VITRO" tape import link.tar.zst x; status_is 2; err_has "neither file nor directory"
    echo no >no.tar.zst
    run "$VITRO" tape import no.tar.zst x; status_is 2
    [ ! -e x ]; ! ls -d x.* 2>/dev/null'

tap_done
