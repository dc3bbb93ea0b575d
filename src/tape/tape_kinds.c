/* SPDX-License-Identifier: MIT */
#include "tape/tape_kinds.h"
#include <string.h>

const struct tape_kind_info tape_kinds[TAPE_UNKNOWN] = {
    [TAPE_CLOCK_READ] = {"clock_read", "source", {"value_ns"}},
    [TAPE_CLOCK_SLEEP] = {"clock_sleep", NULL, {"duration_ns"}},
    [TAPE_CLOCK_ADVANCE] = {"clock_advance", "reason", {"by_ns"}},
    [TAPE_RANDOM] = {"random", "source", {"len_bytes"}},
    [TAPE_ENV_READ] = {"env_read", "name", {"value"}},
    [TAPE_FILE_READ] = {"file_read", "path", {"len_bytes"}},
    [TAPE_FILE_WRITE] = {"file_write", "path", {"len_bytes"}},
    [TAPE_FILE_DELETE] = {"file_delete", "path", {NULL}},
    [TAPE_FILE_RENAME] = {"file_rename", "from", {"to"}},
    [TAPE_DIR_LIST] = {"dir_list", "path", {"entries"}},
    [TAPE_PROCESS_SPAWN] = {"process_spawn", "program", {"args", "exit_code", "duration_ns"}},
    [TAPE_PROCESS_EXIT] = {"process_exit", NULL, {"exit_code", "signal"}},
    [TAPE_SUBPROCESS] = {"subprocess", "program", {"args", "exit_code", "signal", "duration_ns"}},
    [TAPE_NET_RESOLVE] = {"net_resolve", "name", {"answer"}},
    [TAPE_NET_CONNECT] = {"net_connect", "host", {"port", "address"}},
    [TAPE_NET_DENIED] = {"net_denied", "host", {"port", "rule"}},
    [TAPE_HTTP_EXCHANGE] = {"http_exchange", "url", {"method", "status"}},
    [TAPE_LLM_CALL] = {"llm_call", "model", {"request_digest"}},
    [TAPE_MCP_JSON_RPC] = {"mcp_json_rpc", "server", {"method"}},
    [TAPE_TERM_OUTPUT] = {"term_output", NULL, {"payload"}},
    [TAPE_TERM_INPUT] = {"term_input", NULL, {"payload"}},
    [TAPE_TERM_RESIZE] = {"term_resize", NULL, {"columns", "rows"}},
    [TAPE_SCHED_CHOICE] = {"sched_choice", "task", {"choice", "options"}},
    [TAPE_LEAK] = {"leak", "capability", {"count"}},
    [TAPE_NOTE] = {"note", NULL, {"text"}},
    [TAPE_DECISION_EVALUATION] = {"decision_evaluation", NULL, {"request_digest"}},
    [TAPE_MODEL_JOB] = {"model_job", "job_id", {"state", "event_kind"}},
};

const char *const tape_phases[TAPE_PHASE_COUNT] = {
    [TAPE_USER_SCRIPT] = "user_script",
    [TAPE_RUNTIME_FINALIZE] = "runtime_finalize",
};

/* Found by a perfect enough hash (length and two letters), so that reading a million records does
 * not compare names one by one. The slots are filled on first use and never change after. */
enum { SLOT_COUNT = 256 };

static unsigned slot_of(const char *name, size_t length)
{
    return (unsigned)(length * 37 + (unsigned char)name[length - 1] * 5 +
                      (unsigned char)name[length / 2] * 11) %
           SLOT_COUNT;
}

static const unsigned char *kind_slots(void)
{
    static unsigned char slots[SLOT_COUNT]; /* kind + 1; 0 is free */
    static int ready;

    if (__atomic_load_n(&ready, __ATOMIC_ACQUIRE))
        return slots;
    unsigned char filled[SLOT_COUNT] = {0};
    for (unsigned kind = 0; kind < TAPE_UNKNOWN; kind++) {
        unsigned slot = slot_of(tape_kinds[kind].name, strlen(tape_kinds[kind].name));
        while (filled[slot])
            slot = (slot + 1) % SLOT_COUNT;
        filled[slot] = (unsigned char)(kind + 1);
    }
    memcpy(slots, filled, sizeof slots); /* two threads copy the same bytes */
    __atomic_store_n(&ready, 1, __ATOMIC_RELEASE);
    return slots;
}

enum tape_kind tape_kind_find(const char *name, size_t length)
{
    if (!length)
        return TAPE_UNKNOWN;
    const unsigned char *slots = kind_slots();
    for (unsigned slot = slot_of(name, length); slots[slot]; slot = (slot + 1) % SLOT_COUNT) {
        const char *known = tape_kinds[slots[slot] - 1].name;
        if (strncmp(known, name, length) == 0 && known[length] == '\0')
            return (enum tape_kind)(slots[slot] - 1);
    }
    return TAPE_UNKNOWN;
}

enum tape_phase tape_phase_find(const char *name, size_t length)
{
    for (unsigned phase = 0; phase < TAPE_PHASE_COUNT; phase++)
        if (strlen(tape_phases[phase]) == length && memcmp(tape_phases[phase], name, length) == 0)
            return (enum tape_phase)phase;
    return TAPE_PHASE_COUNT;
}
