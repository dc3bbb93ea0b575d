/* SPDX-License-Identifier: MIT */
/* Words for the public enums. */
#include "vitro/sched.h"

const char *vitro_kind_name(enum vitro_kind kind)
{
    static const char *const names[VITRO_KINDS] = {
        [VITRO_OK] = "ok",
        [VITRO_PROPERTY] = "property",
        [VITRO_ERROR] = "error",
        [VITRO_CRASH] = "crash",
        [VITRO_DEADLOCK] = "deadlock",
        [VITRO_LIVELOCK] = "livelock",
        [VITRO_STEPS] = "step budget",
        [VITRO_TIME] = "time budget",
        [VITRO_WALL] = "real time budget",
        [VITRO_LEAK] = "leaked task",
        [VITRO_UNFINISHED] = "unfinished task",
        [VITRO_NONDETERMINISM] = "nondeterminism",
        [VITRO_DIVERGED] = "diverged",
        [VITRO_MISUSE] = "misuse",
    };

    return kind < VITRO_KINDS ? names[kind] : "?";
}

const char *vitro_strategy_name(enum vitro_strategy strategy)
{
    static const char *const names[VITRO_STRATEGIES] = {
        [VITRO_DEFAULT] = "default",
        [VITRO_FIFO] = "fifo",
        [VITRO_RANDOM] = "random",
        [VITRO_PCT] = "pct",
        [VITRO_POS] = "pos",
        [VITRO_SURW] = "surw",
        [VITRO_PREEMPTIONS] = "preemptions",
        [VITRO_DELAYS] = "delays",
        [VITRO_DFS] = "dfs",
        [VITRO_DPOR] = "dpor",
        [VITRO_MUTATE] = "mutate",
        [VITRO_PORTFOLIO] = "portfolio",
    };

    return strategy < VITRO_STRATEGIES ? names[strategy] : "?";
}
