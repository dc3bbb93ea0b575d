/* SPDX-License-Identifier: MIT */
/* From options to a mock host; and the null host. */
#include "host/double.h"
#include "base/text.h"
#include "proc/recording.h"
#include <errno.h>
#include <string.h>

struct vitro_host *vitro_host_null(void)
{
    struct host_double *d = double_new();

    d->is_null = true;
    (void)double_clock_init(d, NULL, NULL);
    return &d->host;
}

static int take_env(struct host_double *d, const char *const *env, struct err *err)
{
    for (; env && *env; env++) {
        size_t length = strcspn(*env, "=");
        if (!length || !(*env)[length])
            return err_set(err, -EINVAL, "env '%s' is not NAME=VALUE", *env);
        CLEANUP(mem_free) char *name = mem_dupn(*env, length);
        entries_put(d, &d->variables, name, *env + length + 1, strlen(*env + length + 1), false);
    }
    return 0;
}

static void take_files(struct host_double *d, const struct vitro_host_file *file)
{
    for (; file && file->path; file++) {
        const char *bytes = file->bytes ? file->bytes : "";
        entries_put(d, &d->files, file->path, bytes, file->length ? file->length : strlen(bytes),
                    false);
    }
}

static int take_answers(struct host_double *d, const struct vitro_host_answer *answer,
                        struct err *err)
{
    for (; answer && answer->url; answer++) {
        const char *body = answer->body ? answer->body : "";
        CLEANUP(json_free) json_t *value = json_object();
        CLEANUP(buf_done) struct buf text = {0};
        json_t *headers = json_object();

        if (answer->status && (answer->status < 100 || answer->status > 999)) {
            json_decref(headers);
            return err_set(err, -EINVAL, "answer '%s': %d is no status", answer->url,
                           answer->status);
        }
        json_object_set_new(value, "headers", headers);
        json_object_set_new(value, "status", json_integer(answer->status ? answer->status : 200));
        json_object_set_new(value, "body",
                            double_bytes(body, answer->length ? answer->length : strlen(body)));
        for (const char *const *header = answer->headers; header && *header; header++) {
            size_t length = strcspn(*header, ":");
            CLEANUP(mem_free) char *name = mem_dupn(*header, length);
            const char *rest = *header + length + ((*header)[length] == ':');
            json_object_set_new(headers, name, json_string(rest + strspn(rest, " ")));
        }
        json_add_canonical(&text, value);
        entries_put(d, &d->answers, answer->url, text.data, text.length, false);
    }
    return 0;
}

static int take_steps(struct host_double *d, const struct vitro_host_step *step, struct err *err)
{
    size_t count = 0;

    while (step && step[count].argv)
        count++;
    d->steps = mem_alloc((count + 1) * sizeof *d->steps);
    for (; count--; step++) {
        struct host_step *made = &d->steps[d->step_count];
        if (!step->argv[0])
            return err_set(err, -EINVAL, "step %zu has no program", d->step_count + 1);
        int r = call_rule_from_texts(&made->rule, step->argv[0], step->argv + 1, err);
        if (r < 0)
            return err_wrap(err, "step %zu", d->step_count + 1);
        made->output = mem_dup(step->output);
        made->error_output = mem_dup(step->error_output);
        made->exit_code = step->exit_code;
        made->signal = step->signal;
        d->step_count++;
    }
    return 0;
}

static int take_responses(struct host_double *d, const struct vitro_host_mock_options *options,
                          struct err *err)
{
    int r = 0;

    for (const char *const *own = options->capabilities; own && *own; own++) {
        const char *point = strchr(*own, '.');
        if (!point || point == *own || !point[1])
            return err_set(err, -EINVAL, "capability '%s' is not NAME.METHOD", *own);
    }
    d->capabilities = strings_copy(options->capabilities);
    for (const struct vitro_host_response *response = options->responses;
         r == 0 && response && response->capability; response++)
        r = responses_add(d, &d->responses, response, err);
    return r;
}

static int take_options(struct host_double *d, const struct vitro_host_mock_options *options,
                        struct err *err)
{
    if (options->random_count && !options->random_u64)
        return err_set(err, -EINVAL, "random_count is %zu, and there are no numbers",
                       options->random_count);
    d->number_count = options->random_count;
    d->numbers = mem_alloc((d->number_count + 1) * sizeof *d->numbers);
    if (d->number_count)
        memcpy(d->numbers, options->random_u64, d->number_count * sizeof *d->numbers);
    d->lines = strings_copy(options->stdin_lines);
    d->spawner = options->spawner;
    d->cassette = options->cassette;
    d->echo = options->echo;
    take_files(d, options->files);
    int r = double_clock_init(d, options, err);
    if (r == 0)
        r = take_env(d, options->env, err);
    if (r == 0)
        r = take_answers(d, options->answers, err);
    if (r == 0)
        r = take_steps(d, options->steps, err);
    return r == 0 ? take_responses(d, options, err) : r;
}

struct vitro_host *vitro_host_mock(const struct vitro_host_mock_options *options,
                                   struct vitro_host_error *error)
{
    static const struct vitro_host_mock_options none;
    struct host_double *d = double_new();

    if (take_options(d, options ? options : &none, host_err(error)) < 0) {
        double_free(&d->host);
        return NULL;
    }
    return &d->host;
}

size_t vitro_host_steps_left(const struct vitro_host *host)
{
    struct host_double *d = host_double(host);

    if (!d)
        return 0;
    (void)pthread_mutex_lock(&d->lock);
    size_t left = d->step_count - d->step_next;
    (void)pthread_mutex_unlock(&d->lock);
    return left;
}
