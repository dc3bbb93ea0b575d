# vitro run --wasi: modules made from C here, beside Node's own WASI.
. "$TOP/tests/lib/tap.sh"
need wasm2c
need clang
need node
[ -f /usr/lib/wasm32-wasi/libc.a ] || skip "wasi-libc is not installed (tools/deps test)"

# Modules and the cache are shared by the tests of this file.
MODULES=$tap_dir/modules
export MODULES XDG_CACHE_HOME=$tap_dir/cache
mkdir -p "$MODULES"
for source in "$TOP"/tests/wasi/*.c; do
    name=${source##*/}; name=${name%.c}
    clang --target=wasm32-wasi --sysroot=/usr -O1 -w -Wl,--strip-all -o "$MODULES/$name.wasm" "$source"
done

test_that "ten modules do what they do under Node: output, status, files" '
    compare() { # compare NAME [ARG...]
        name=$1; st=0
        mkdir "node-$name" "vitro-$name"
        (cd "node-$name" && node --no-warnings --experimental-wasi-unstable-preview1 "$TOP/tests/wasi/oracle.mjs" "$MODULES/$name.wasm" . "$@" <"$TOP/tests/wasi/input.c" >../expected 2>../expected.err || st=$?; echo $st >../expected.status)
        (cd "vitro-$name" && WASI_ONE=first "$VITRO" run -q --writable . --wasi "$MODULES" -- "$@" <"$TOP/tests/wasi/input.c" >../got 2>../got.err || st=$?; echo $st >../got.status)
        cmp expected got || fail "$name: output differs: $(diff expected got | head -5)"
        cmp expected.err got.err || fail "$name: standard error differs: $(head -3 got.err)"
        cmp expected.status got.status || fail "$name: status $(cat got.status), not $(cat expected.status)"
        diff -r "node-$name" "vitro-$name" || fail "$name: files differ"
    }
    compare args one "two words" ""
    compare files
    compare seek
    compare input
    compare links
    compare numbers
    compare memory 20
    compare status exit
    compare stats
    compare streams'

test_that "clocks, waits and chance of a module are those of the box" '
    run "$VITRO" run --wasi "$MODULES" -- sh -c "sleep 100000 | clocks"; status_is 0
    out_has 1767225600; out_has "1767312000 86400"; out_has "poll 0"; out_has 1767312005
    cp "$RUN/out" first
    run "$VITRO" run --seed 2 --wasi "$MODULES" -- sh -c "sleep 100000 | clocks"; status_is 0
    ! cmp -s first "$RUN/out" || fail "another seed, the same bytes"'

test_that "a trap is named and gives 134" '
    for how in trap divide memory; do
        run "$VITRO" run --wasi "$MODULES" -- status $how; status_is 134; err_has "wasi trap: "; out_is before
    done
    err_has "out of bounds"'

test_that "memory and steps have limits" '
    run "$VITRO" run --wasi "$MODULES" --wasi-memory 8m -- memory 100; status_is 0
    [ "$(cat "$RUN/out")" -lt 8 ] || fail "got $(cat "$RUN/out") MB of 8"
    run "$VITRO" run --wasi "$MODULES" --wasi-memory 64k -- memory 1; status_is 134; err_has "memory limit"
    mkdir few; cp "$MODULES"/status.wasm "$MODULES"/numbers.wasm few
    run "$VITRO" run --wasi few --wasi-steps 1000000 -- status spin; status_is 134; err_has "step limit"
    run "$VITRO" run --wasi few --wasi-steps 100000000 -- numbers; status_is 0'

test_that "programs without a module are native, and nothing reaches the disk" '
    run "$VITRO" run --wasi "$MODULES" -- sh -c "seek >/dev/null; cat f"; status_is 0; out_is abcdtail
    [ ! -e f ] || fail "the module wrote to the disk"'

test_that "what cannot be made a program is named with the reason" '
    mkdir bad; echo "no module" >bad/x.wasm
    run "$VITRO" run --wasi bad -- x; status_is 2; err_has "it is no WebAssembly module"
    run "$VITRO" run --wasi none -- x; status_is 2; err_has "No such file or directory"
    printf "\\0asm\\1\\0\\0\\0" >bad/x.wasm
    run "$VITRO" run --wasi bad -- x; status_is 2; err_has "_start"
    head -c 2000 "$MODULES/numbers.wasm" >bad/x.wasm
    run "$VITRO" run --wasi bad -- x; status_is 2; err_has "wasm2c"
    run env PATH=/nowhere "$VITRO" run --wasi "$MODULES" -- numbers; status_is 2; err_has "apt install wabt"
    run "$VITRO" run --wasi-steps 5 -- true; status_is 2; err_has "no --wasi DIR"'
tap_done
