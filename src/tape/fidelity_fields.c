/* SPDX-License-Identifier: MIT */
#include "tape/fidelity_fields.h"
#include "base/cleanup.h"
#include <string.h>

const struct fidelity_field fidelity_fields[] = {
    {TAPE_CLOCK_READ, "source", "clock_read_source", false},
    {TAPE_CLOCK_READ, "value_ns", "clock_read_value", false},
    {TAPE_CLOCK_SLEEP, "duration_ns", "clock_sleep_duration", false},
    {TAPE_CLOCK_ADVANCE, "by_ns", "clock_advance_by", false},
    {TAPE_CLOCK_ADVANCE, "reason", "clock_advance_reason", false},
    {TAPE_RANDOM, "source", "random_source", false},
    {TAPE_RANDOM, "content_hash", "random_hash", false},
    {TAPE_RANDOM, "len_bytes", "random_len", false},
    {TAPE_ENV_READ, "name", "env_read_name", false},
    {TAPE_ENV_READ, "value", "env_read_value", false},
    {TAPE_FILE_READ, "path", "file_read_path", false},
    {TAPE_FILE_READ, "content_hash", "file_read_hash", false},
    {TAPE_FILE_READ, "len_bytes", "file_read_len", true},
    {TAPE_FILE_WRITE, "path", "file_write_path", false},
    {TAPE_FILE_WRITE, "content_hash", "file_write_hash", false},
    {TAPE_FILE_WRITE, "len_bytes", "file_write_len", true},
    {TAPE_FILE_DELETE, "path", "file_delete_path", false},
    {TAPE_FILE_RENAME, "from", "file_rename_from", false},
    {TAPE_FILE_RENAME, "to", "file_rename_to", false},
    {TAPE_DIR_LIST, "path", "dir_list_path", false},
    {TAPE_DIR_LIST, "entries", "dir_list_entries", false},
    {TAPE_DIR_LIST, "content_hash", "dir_list_hash", false},
    {TAPE_PROCESS_SPAWN, "program", "process_program", false},
    {TAPE_PROCESS_SPAWN, "args", "process_args", false},
    {TAPE_PROCESS_SPAWN, "cwd", "process_cwd", false},
    {TAPE_PROCESS_SPAWN, "exit_code", "process_exit_code", false},
    {TAPE_PROCESS_SPAWN, "duration_ns", "process_duration", true},
    {TAPE_PROCESS_SPAWN, "stdout_payload", "process_stdout_hash", false},
    {TAPE_PROCESS_SPAWN, "stderr_payload", "process_stderr_hash", false},
    {TAPE_PROCESS_EXIT, "exit_code", "process_exit_code", false},
    {TAPE_PROCESS_EXIT, "signal", "process_exit_signal", false},
    {TAPE_SUBPROCESS, "program", "subprocess_program", false},
    {TAPE_SUBPROCESS, "args", "subprocess_args", false},
    {TAPE_SUBPROCESS, "cwd", "subprocess_cwd", false},
    {TAPE_SUBPROCESS, "env", "subprocess_env", true},
    {TAPE_SUBPROCESS, "exit_code", "subprocess_exit_code", false},
    {TAPE_SUBPROCESS, "signal", "subprocess_signal", false},
    {TAPE_SUBPROCESS, "awaits_signal", "subprocess_awaits_signal", false},
    {TAPE_SUBPROCESS, "duration_ns", "subprocess_duration", true},
    {TAPE_SUBPROCESS, "events", "subprocess_events", true},
    {TAPE_SUBPROCESS, "files", "subprocess_files", false},
    {TAPE_SUBPROCESS, "stdin_payload", "subprocess_stdin_hash", false},
    {TAPE_SUBPROCESS, "stdout_payload", "subprocess_stdout_hash", false},
    {TAPE_SUBPROCESS, "stderr_payload", "subprocess_stderr_hash", false},
    {TAPE_SUBPROCESS, "terminal", "subprocess_terminal", false},
    {TAPE_NET_RESOLVE, "name", "net_resolve_name", false},
    {TAPE_NET_RESOLVE, "answer", "net_resolve_answer", false},
    {TAPE_NET_CONNECT, "host", "net_connect_host", false},
    {TAPE_NET_CONNECT, "port", "net_connect_port", false},
    {TAPE_NET_CONNECT, "address", "net_connect_address", true},
    {TAPE_NET_DENIED, "host", "net_denied_host", false},
    {TAPE_NET_DENIED, "port", "net_denied_port", false},
    {TAPE_NET_DENIED, "rule", "net_denied_rule", false},
    {TAPE_HTTP_EXCHANGE, "method", "http_method", false},
    {TAPE_HTTP_EXCHANGE, "url", "http_url", false},
    {TAPE_HTTP_EXCHANGE, "status", "http_status", false},
    {TAPE_HTTP_EXCHANGE, "request_digest", "http_request_digest", false},
    {TAPE_HTTP_EXCHANGE, "request_payload", "http_request_hash", false},
    {TAPE_HTTP_EXCHANGE, "response_payload", "http_response_hash", false},
    {TAPE_HTTP_EXCHANGE, "latency_ns", "http_latency", true},
    {TAPE_LLM_CALL, "request_digest", "llm_request_digest", false},
    {TAPE_LLM_CALL, "response", "llm_response_hash", false},
    {TAPE_LLM_CALL, "latency_ns", "llm_latency", true},
    {TAPE_MCP_JSON_RPC, "server", "mcp_server", false},
    {TAPE_MCP_JSON_RPC, "method", "mcp_method", false},
    {TAPE_MCP_JSON_RPC, "request_digest", "mcp_request_digest", false},
    {TAPE_MCP_JSON_RPC, "response_digest", "mcp_response_digest", false},
    {TAPE_MCP_JSON_RPC, "request_payload", "mcp_request_hash", false},
    {TAPE_MCP_JSON_RPC, "response_payload", "mcp_response_hash", false},
    {TAPE_MCP_JSON_RPC, "latency_ns", "mcp_latency", true},
    {TAPE_TERM_OUTPUT, "payload", "term_output_hash", false},
    {TAPE_TERM_INPUT, "payload", "term_input_hash", false},
    {TAPE_TERM_RESIZE, "columns", "term_resize_columns", false},
    {TAPE_TERM_RESIZE, "rows", "term_resize_rows", false},
    {TAPE_SCHED_CHOICE, "choice", "sched_choice", false},
    {TAPE_SCHED_CHOICE, "options", "sched_options", false},
    {TAPE_SCHED_CHOICE, "task", "sched_task", false},
    {TAPE_LEAK, "capability", "leak_capability", false},
    {TAPE_LEAK, "count", "leak_count", true},
    {TAPE_NOTE, "text", "note_text", false},
    {TAPE_DECISION_EVALUATION, "request_digest", "decision_request_digest", false},
    {TAPE_DECISION_EVALUATION, "response", "decision_response_hash", false},
    {TAPE_MODEL_JOB, "job_id", "model_job_id", false},
    {TAPE_MODEL_JOB, "request_id", "model_job_request_id", false},
    {TAPE_MODEL_JOB, "backend", "model_job_backend", false},
    {TAPE_MODEL_JOB, "state", "model_job_state", false},
    {TAPE_MODEL_JOB, "event_kind", "model_job_event_kind", false},
    {TAPE_MODEL_JOB, "event", "model_job_event", false},
    {TAPE_MODEL_JOB, "asset_digests", "model_job_asset_digests", false},
};
const size_t fidelity_field_count = ARRAY_LENGTH(fidelity_fields);

const struct fidelity_field *fidelity_field_find(enum tape_kind kind, const char *member)
{
    for (size_t i = 0; i < fidelity_field_count; i++)
        if (fidelity_fields[i].kind == kind && strcmp(fidelity_fields[i].member, member) == 0)
            return &fidelity_fields[i];
    return NULL;
}

bool fidelity_has_strict(enum tape_kind kind)
{
    for (size_t i = 0; i < fidelity_field_count; i++)
        if (fidelity_fields[i].kind == kind && fidelity_fields[i].strict)
            return true;
    return false;
}
