/* SPDX-License-Identifier: MIT */
/* The environment, as a bench gives it. `environ` itself stays the process's: who reads that reads
 * the real one. A value that was handed out is kept until the bench is gone. */
#include "base/buf.h"
#include "interpose/calls.h"
#include "tape/tape_data.h"
#include <string.h>

static struct vitro_world *env_here(const void *caller, const char *capability)
{
    struct lane *lane = lane_here(caller);
    struct vitro_world *world = lane ? lane_world(lane) : NULL;

    bool audited = world && world->audit_real;
    while (world && !world->env)
        world = world->outer;
    if (!world && audited)
        leak_here(capability, caller);
    return world;
}

static bool is_name(const char *name)
{
    return name && *name && !strchr(name, '=');
}

/* With the lock held: where NAME=... stands, or the end. */
static char **place_of(struct vitro_world *world, const char *name, size_t length)
{
    char **place = world->env;

    while (*place && (strncmp(*place, name, length) != 0 || (*place)[length] != '='))
        place++;
    return place;
}

/* An audited bench has on its tape what was asked for. Values of the real environment are the
 * machine's, and stay off it. */
static void note_read(struct lane *lane, const char *name, const char *value, bool is_real)
{
    CLEANUP(tape_data_done) struct tape_data data = {0};

    inside_begin(lane);
    tape_data_begin(&data);
    tape_data_text(&data, "name", name);
    if (!is_real)
        tape_data_text(&data, "value", value);
    tape_data_end(&data);
    world_note(lane_world(lane), "env_read", "%s", buf_text(&data.text));
    inside_end(lane);
}

char *call_getenv(const void *caller, const char *name)
{
    struct vitro_world *world = env_here(caller, "env/getenv");
    struct lane *lane = lane_self();
    bool audited = lane_here(caller) && lane_world(lane) && lane_world(lane)->audit_real;

    if (!world && audited)
        note_read(lane, name, NULL, true);
    if (!world)
        return REAL.getenv(name);
    inside_begin(lane);
    (void)pthread_mutex_lock(&world->lock);
    char **place = place_of(world, name, strlen(name));
    char *value = *place ? strchr(*place, '=') + 1 : NULL;
    (void)pthread_mutex_unlock(&world->lock);
    inside_end(lane);
    if (audited)
        note_read(lane, name, value, false);
    return value;
}

char *call_secure_getenv(const void *caller, const char *name)
{
    return env_here(caller, "env/secure_getenv") ? call_getenv(caller, name)
                                                 : REAL.secure_getenv(name);
}

static void keep_old(struct vitro_world *world, char *text)
{
    world->env_old = mem_grow(world->env_old, (world->env_old_count + 1) * sizeof *world->env_old);
    world->env_old[world->env_old_count++] = text;
}

/* Takes `text`; NULL: removes the name. */
static void put(struct vitro_world *world, const char *name, size_t length, char *text,
                bool replace)
{
    struct lane *lane = lane_self();

    inside_begin(lane);
    (void)pthread_mutex_lock(&world->lock);
    char **place = place_of(world, name, length);
    if (*place && (replace || !text)) {
        keep_old(world, *place);
        *place = text ? take_ptr(&text) : world->env[--world->env_count];
        world->env[world->env_count] = NULL;
    } else if (!*place && text) {
        world->env = mem_grow(world->env, (world->env_count + 2) * sizeof *world->env);
        world->env[world->env_count++] = take_ptr(&text);
        world->env[world->env_count] = NULL;
    }
    free(text);
    (void)pthread_mutex_unlock(&world->lock);
    inside_end(lane);
}

int call_setenv(const void *caller, const char *name, const char *value, int replace)
{
    struct vitro_world *world = env_here(caller, "env/setenv");

    if (!world || !is_name(name) || !value)
        return REAL.setenv(world && !value ? "" : name, value, replace);
    put(world, name, strlen(name), mem_format("%s=%s", name, value), replace != 0);
    return 0;
}

int call_unsetenv(const void *caller, const char *name)
{
    struct vitro_world *world = env_here(caller, "env/unsetenv");

    if (!world || !is_name(name))
        return REAL.unsetenv(name);
    put(world, name, strlen(name), NULL, true);
    return 0;
}

/* The text is copied: changing it afterwards changes nothing. */
int call_putenv(const void *caller, char *text)
{
    struct vitro_world *world = env_here(caller, "env/putenv");
    const char *equals = text ? strchr(text, '=') : NULL;

    if (!world || !text)
        return REAL.putenv(text);
    if (!equals)
        return call_unsetenv(caller, text);
    put(world, text, (size_t)(equals - text), mem_dup(text), true);
    return 0;
}

int call_clearenv(const void *caller)
{
    struct vitro_world *world = env_here(caller, "env/clearenv");
    struct lane *lane = lane_self();

    if (!world)
        return REAL.clearenv();
    inside_begin(lane);
    (void)pthread_mutex_lock(&world->lock);
    for (size_t i = 0; i < world->env_count; i++)
        keep_old(world, world->env[i]);
    world->env_count = 0;
    world->env[0] = NULL;
    (void)pthread_mutex_unlock(&world->lock);
    inside_end(lane);
    return 0;
}
