#!/usr/bin/env bash
# vitro sched, and the options that test programs get from vitro_main.
. "$(dirname "$0")/../lib/tap.sh"
SUITE=$TOP/$O/tests/examples/suite_test

test_that "a test program lists its tests" '
    run "$SUITE" --vitro-list
    status_is 0; out_is "transfers
transfers_proved"'

test_that "and says what it does not know" '
    run "$SUITE" --vitro-lits
    status_is 2; err_has "unknown option '"'--vitro-lits'"'"; err_has "--vitro-replay FILE"
    run "$SUITE" --vitro-seed
    status_is 2; err_has "--vitro-seed needs 1 more word"
    run "$SUITE" --vitro-seed x
    status_is 2; err_has "is no number"'

test_that "seed and number of schedules come from the command line or the environment" '
    run "$SUITE" --vitro-seed 9 --vitro-schedules 12
    status_is 0; out_has "# transfers: ok, 12 schedules"; out_has "seed 9"
    VITRO_SEED=4 VITRO_SCHEDULES=7 run "$SUITE"
    status_is 0; out_has "# transfers: ok, 7 schedules"; out_has "seed 4"
    VITRO_SEED=many run "$SUITE"
    [ "$status" != 0 ]; err_has "VITRO_SEED is '"'many'"', which is no number"'

test_that "a failure is saved, shown, drawn, replayed and repeated byte for byte" '
    export SUITE_BROKEN=1
    run "$SUITE"
    status_is 1; out_has "not ok 1 - transfers"; out_has "--vitro-replay transfers.schedule"
    cp transfers.schedule first; cp "$RUN/out" first.out
    run "$SUITE"; same first transfers.schedule; same first.out "$RUN/out"
    run "$VITRO" sched show transfers.schedule
    status_is 0; out_has "test       transfers"; out_has "run main/bob"
    run "$VITRO" sched lanes transfers.schedule
    status_is 0; out_has "main/alice"; out_has "examples/suite.c:"
    run "$SUITE" --vitro-replay transfers.schedule
    status_is 1; out_has "the result is 11, not 10"; out_lacks "transfers_proved"
    VITRO_SCHEDULE=transfers.schedule run "$SUITE"
    status_is 1; out_has "the result is 11, not 10"'

test_that "a schedule of a program that was mended diverges or passes by name" '
    SUITE_BROKEN=1 run "$SUITE"
    run "$SUITE" --vitro-replay transfers.schedule
    status_is 1; out_has "diverged from the schedule: at decision"'

test_that "sched show speaks JSON" '
    need jq
    SUITE_BROKEN=1 run "$SUITE"
    run "$VITRO" sched show --json transfers.schedule
    status_is 0
    [ "$(jq -r .test "$RUN/out")" = transfers ]
    [ "$(jq ".steps | length" "$RUN/out")" -gt 5 ]'

test_that "sched shrink runs the program and writes the smaller schedule" '
    export SUITE_BROKEN=1
    run "$SUITE" --vitro-seed 3
    sed "/^end/,\$d" transfers.schedule >long.schedule
    run "$VITRO" sched shrink long.schedule "$SUITE"
    status_is 0; out_has "1 preemption"
    run "$SUITE" --vitro-replay long.schedule.min
    status_is 1; out_has "the result is 11, not 10"
    run "$VITRO" sched shrink -o small long.schedule "$SUITE"
    status_is 0; [ -s small ]
    run "$VITRO" sched shrink long.schedule ./nowhere
    status_is 127; err_has "nowhere"'

test_that "what is no schedule is refused by name" '
    echo hello >not.schedule
    run "$VITRO" sched show not.schedule
    status_is 2; err_has "not.schedule"; err_has "not a schedule"
    run "$VITRO" sched lanes missing
    status_is 2; err_has "missing"
    printf "vitro schedule 1\nrun main\n" >bare
    run "$VITRO" sched lanes bare
    status_is 1; err_has "no steps to draw"
    run "$VITRO" sched shwo bare
    status_is 2; err_has "did you mean '"'vitro sched show'"'"'

tap_done
