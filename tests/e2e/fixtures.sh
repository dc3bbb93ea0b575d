# Fixtures for test frameworks: the examples of examples/frameworks, built with the real ones.
# In shell: it builds, and what there is to build depends on the frameworks of the machine.
. "$(dirname "$0")/../lib/tap.sh"
libs=$(sed -n 's/^Libs.private: //p' "$TOP/tools/vitro.pc.in")

build() { # build NAME HEADER LIBS...: ./NAME and ./NAME-leak
    local name=$1 header=$2
    shift 2
    case $O in *san*) skip "the frameworks are not sanitised" ;; esac
    echo "#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <$header>" >probe.c
    cc -fsyntax-only probe.c 2>/dev/null || skip "$name is not installed (tools/deps test)"
    for leak in "" -leak; do
        cc -std=gnu17 -Wall -Wextra -Werror ${leak:+-DLEAK} -I"$TOP/include" -o "$name$leak" "$TOP/examples/frameworks/$name.c" \
            "$TOP/$O/libvitro.a" $libs "$@"
    done
}

test_that "cmocka: a bench around each test, and a leak fails the one that made it" '
    build cmocka cmocka.h -lcmocka
    run ./cmocka; status_is 0; err_has "3 test(s)"
    run ./cmocka-leak; [ "$status" != 0 ]; err_has "example/stamp"
    err_has "a_look_at_the_real_clock_fails_the_test"; out_has "[       OK ] a_bench_may_have_options"'

test_that "Check: a bench around each test, and a leak fails the one that made it" '
    build check check.h $(pkg-config --libs check 2>/dev/null || echo -lcheck)
    for fork in yes no; do
        export CK_FORK=$fork
        run ./check; status_is 0; out_has "Checks: 2, Failures: 0, Errors: 0"
        run ./check-leak; status_is 1; out_has "Checks: 3, Failures: 1, Errors: 0"; out_has "example/stamp"
    done'

test_that "Criterion: a bench around each test, and a leak fails the one that made it" '
    build criterion criterion/criterion.h -lcriterion
    run ./criterion --color=never; status_is 0; err_has "Tested: 2 | Passing: 2 | Failing: 0"
    run ./criterion-leak --color=never; status_is 1; err_has "bench: leak example/stamp 1"; err_has "a_look_at_the_real_clock_fails_the_test: the bench found it"'
tap_done
