# ARCHITECTURE.md says which part may include which; the includes are held against it.
# In shell: it reads the source tree and starts no program.
. "$(dirname "$0")/../lib/tap.sh"

allowed() { # allowed PART: the parts it may include, from the table
    sed -n "s/^| $1 |[^|]*| *\([^|]*\)|\$/\1/p" "$TOP/ARCHITECTURE.md"
}
in_table() { grep -q "^| $1 |" "$TOP/ARCHITECTURE.md"; }
# violations DIR: one line for each include of src/ below DIR that the table does not allow
violations() {
    local file part target
    for file in "$1"/src/*/*.c "$1"/src/*/*.h; do
        part=${file#"$1"/src/}; part=${part%%/*}
        for target in $(sed -n "s/^#include \"\([a-z_]*\)\/.*/\1/p" "$file"); do
            case " $part vitro lib $(allowed "$part") " in
            *" $target "*) ;;
            *) echo "${file#"$1"/} includes $target/, which $part may not" ;;
            esac
        done
    done
}

test_that "every part stands in the table" '
    for dir in "$TOP"/src/*/; do
        part=$(basename "$dir"); in_table "$part" || fail "src/$part is not in ARCHITECTURE.md"
    done'

test_that "includes follow the table" '
    violations "$TOP" >found
    [ ! -s found ] || fail "$(cat found)"'

test_that "an include against the table would be found" '
    mkdir -p src/base src/tape
    echo "#include \"tape/tape.h\"" >src/base/bad.c; echo "#include \"base/err.h\"" >src/tape/good.c
    violations "$PWD" >found
    [ "$(cat found)" = "src/base/bad.c includes tape/, which base may not" ]'

# calls PATTERN FILE...: lines of code (not of comments) outside of tests that match
calls() {
    local pattern=$1
    shift
    grep -nE "$pattern" "$@" | grep -vE "_(test|fuzz)\.c:|:[0-9]+: *(/?\*|//)" || true
}

test_that "one file reads the real clock" '
    calls "\b(clock_gettime|gettimeofday)\(|\btime\(NULL\)" "$TOP"/src/*/*.c | grep -v "/base/wall.c:\|/interpose/[a-z]*_calls.c:" >found || true
    [ ! -s found ] || fail "$(cat found)"'

test_that "base and tape do not print" '
    calls "\b(printf|puts|putchar)\(" "$TOP"/src/base/*.c "$TOP"/src/tape/*.c >found
    [ ! -s found ] || fail "$(cat found)"'

test_that "public headers stand alone, in C and in C++" '
    for header in "$TOP"/include/vitro/*.h; do
        echo "#include \"vitro/$(basename "$header")\"" >t.c
        cc -std=c17 -Wall -Wextra -Werror -I"$TOP/include" -fsyntax-only t.c
        ! command -v g++ >/dev/null || g++ -x c++ -Wall -Wextra -Werror -I"$TOP/include" -fsyntax-only t.c
    done'

test_that "public headers go together, in C and in C++" '
    for header in "$TOP"/include/vitro/*.h; do echo "#include \"vitro/$(basename "$header")\""; done >t.c
    cc -std=gnu17 -Wall -Wextra -Werror -I"$TOP/include" -fsyntax-only t.c
    ! command -v g++ >/dev/null || g++ -x c++ -Wall -Wextra -Werror -I"$TOP/include" -fsyntax-only t.c'
tap_done
