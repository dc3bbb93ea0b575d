/* SPDX-License-Identifier: MIT */
#include "box/box_internal.h"
#include "base/when.h"
#include "lib/check.h"

static void never_fires(struct box *box, struct deadline *deadline)
{
    (void)box;
    (void)deadline;
    check_fail(__FILE__, __LINE__, "the heap itself fires nothing");
}

static struct deadline fresh(void)
{
    return (struct deadline){.fire = never_fires};
}

static void heap_done_cleanup(struct deadline_heap *heap)
{
    free(heap->items);
}

/* Takes the first one off; NULL when there is none. */
static struct deadline *pop(struct deadline_heap *heap)
{
    struct deadline *first = deadline_first(heap);

    if (first)
        deadline_disarm(heap, first);
    return first;
}

TEST(what_was_computed_before_a_deadline_was_armed_does_not_count_for_it)
{
    CLEANUP(heap_done) struct deadline_heap heap = {.busy_ns = 1000};
    struct deadline early = fresh(), late = fresh();

    deadline_arm(&heap, &early, 10);
    heap.busy_ns += 30;
    deadline_arm(&heap, &late, 10);
    heap.busy_ns += 5;
    CHECK_INT(deadline_busy(&heap, &early), 35);
    CHECK_INT(deadline_busy(&heap, &late), 5);
    deadline_repeat(&heap, &early, 20);
    CHECK_INT(deadline_busy(&heap, &early), 0);
}

TEST(the_earliest_comes_first_whatever_the_order_of_arming)
{
    CLEANUP(heap_done) struct deadline_heap heap = {0};
    struct deadline items[5];
    static const int64_t dues[] = {30, 10, 50, 20, 40};

    CHECK_TRUE(deadline_first(&heap) == NULL);
    for (int i = 0; i < 5; i++) {
        items[i] = fresh();
        deadline_arm(&heap, &items[i], dues[i]);
    }
    CHECK_TRUE(pop(&heap) == &items[1]);
    CHECK_TRUE(pop(&heap) == &items[3]);
    CHECK_TRUE(pop(&heap) == &items[0]);
    CHECK_TRUE(pop(&heap) == &items[4]);
    CHECK_TRUE(pop(&heap) == &items[2]);
    CHECK_TRUE(pop(&heap) == NULL);
}

TEST(equal_deadlines_come_in_the_order_of_arming)
{
    CLEANUP(heap_done) struct deadline_heap heap = {0};
    struct deadline items[100];

    for (int i = 0; i < 100; i++) {
        items[i] = fresh();
        deadline_arm(&heap, &items[i], 7);
    }
    for (int i = 0; i < 100; i++)
        CHECK_TRUE(pop(&heap) == &items[i]);
}

TEST(arming_again_goes_behind_equals_and_repeating_keeps_the_place)
{
    CLEANUP(heap_done) struct deadline_heap heap = {0};
    struct deadline a = fresh(), b = fresh();

    deadline_arm(&heap, &a, 10);
    deadline_arm(&heap, &b, 20);
    deadline_repeat(&heap, &a, 20); /* a periodic timer meets one that was armed later */
    CHECK_INT(heap.count, 2);
    CHECK_TRUE(deadline_first(&heap) == &a);
    deadline_arm(&heap, &a, 20);
    CHECK_INT(heap.count, 2);
    CHECK_TRUE(deadline_first(&heap) == &b);
}

TEST(a_length_in_floating_point_is_never_more_than_what_was_waited)
{
    static const double since_1970 = 1767225600.3;

    for (int64_t i = 0; i < 3000; i++) {
        int64_t ns = i / 2 * ((int64_t)NS_PER_SEC / 512) + i % 2 * 12345;
        double length = (double)ns / 1e9;
        const struct deadline deadline = {.due_ns = ns, .exact = deadline_is_exact(ns)};
        CHECK_INT(deadline.exact, i % 2 == 0);
        CHECK_INT(deadline_landing(&deadline), ns + i % 2 * (int64_t)NS_PER_US);
        double waited = (double)deadline_landing(&deadline) / 1e9;
        CHECK_TRUE((since_1970 + waited) - since_1970 >= length);
    }
}

TEST(disarming_in_the_middle_keeps_the_rest_in_order)
{
    for (int gone = 0; gone < 15; gone++) {
        CLEANUP(heap_done) struct deadline_heap heap = {0};
        struct deadline items[15];
        for (int i = 0; i < 15; i++) {
            items[i] = fresh();
            deadline_arm(&heap, &items[i], i * 7 % 15); /* a permutation */
        }
        deadline_disarm(&heap, &items[gone]);
        deadline_disarm(&heap, &items[gone]); /* nothing happens */
        CHECK_INT(items[gone].index, 0);
        CHECK_INT(heap.count, 14);
        for (int64_t due = 0; due < 15; due++)
            if (due != gone * 7 % 15)
                CHECK_INT(pop(&heap)->due_ns, due);
        CHECK_TRUE(pop(&heap) == NULL);
    }
}

TEST(setting_the_wall_clock_moves_only_what_is_a_point_on_it)
{
    CLEANUP(heap_done) struct deadline_heap heap = {0};
    struct deadline items[6];

    for (int i = 0; i < 6; i++) {
        items[i] = fresh();
        items[i].realtime = i % 2;
        deadline_arm(&heap, &items[i], 100 + i);
    }
    deadline_shift_realtime(&heap, -50);
    CHECK_INT(pop(&heap)->due_ns, 51);
    CHECK_INT(pop(&heap)->due_ns, 53);
    CHECK_INT(pop(&heap)->due_ns, 55);
    CHECK_TRUE(pop(&heap) == &items[0]);
    deadline_shift_realtime(&heap, 1000); /* nobody left who cares */
    CHECK_TRUE(pop(&heap) == &items[2]);
}

/* ---- against a model that keeps no order and looks at everything ---------------------------- */

enum { COUNT = 200, STEPS = 20000 };

struct model {
    struct deadline items[COUNT];
    bool armed[COUNT];
    int64_t due[COUNT];
    uint64_t order[COUNT], orders;
};

static int model_first(const struct model *model)
{
    int first = -1;

    for (int i = 0; i < COUNT; i++)
        if (model->armed[i] &&
            (first < 0 || model->due[i] < model->due[first] ||
             (model->due[i] == model->due[first] && model->order[i] < model->order[first])))
            first = i;
    return first;
}

static void model_arm(struct model *model, int i, int64_t due, bool keep_place)
{
    model->armed[i] = true;
    model->due[i] = due;
    if (!keep_place)
        model->order[i] = model->orders++;
}

static void step(struct model *model, struct deadline_heap *heap, struct rng *rng)
{
    int i = (int)rng_below(rng, COUNT);
    int64_t due = (int64_t)rng_below(rng, 50); /* few values: many ties */

    switch (rng_below(rng, 8)) {
    case 0:
    case 1:
    case 2:
        deadline_arm(heap, &model->items[i], due);
        model_arm(model, i, due, false);
        break;
    case 3:
        deadline_repeat(heap, &model->items[i], due);
        model_arm(model, i, due, true);
        break;
    case 4:
    case 5:
        deadline_disarm(heap, &model->items[i]);
        model->armed[i] = false;
        break;
    case 6:
        due -= 25;
        deadline_shift_realtime(heap, due);
        for (int j = 0; j < COUNT; j++)
            if (model->armed[j] && model->items[j].realtime)
                model->due[j] += due;
        break;
    default:
        i = model_first(model);
        CHECK_TRUE(pop(heap) == (i < 0 ? NULL : &model->items[i]));
        if (i >= 0)
            model->armed[i] = false;
        break;
    }
}

TEST(random_use_agrees_with_a_naive_model)
{
    for (uint64_t seed = 1; seed <= 5; seed++) {
        CLEANUP(heap_done) struct deadline_heap heap = {0};
        CLEANUP(mem_free) struct model *model = mem_alloc(sizeof *model);
        struct rng rng;

        rng_seed(&rng, seed);
        for (int i = 0; i < COUNT; i++) {
            model->items[i] = fresh();
            model->items[i].realtime = i % 3 == 0;
            deadline_arm(&heap, &model->items[i], i);
            model_arm(model, i, i, false);
        }
        for (int i = 0; i < STEPS; i++) {
            step(model, &heap, &rng);
            int first = model_first(model);
            CHECK_TRUE(deadline_first(&heap) == (first < 0 ? NULL : &model->items[first]));
        }
        for (int first; (first = model_first(model)) >= 0; model->armed[first] = false)
            CHECK_TRUE(pop(&heap) == &model->items[first]);
        CHECK_TRUE(pop(&heap) == NULL);
    }
}
