/* The time stamp counter: never the same twice, across threads and forks, and close to the clock.
EXPECT
10000 readings go up
thread goes on
child goes on
close to the clock
*/
#include "guest.h"
#include <x86intrin.h>
static uint64_t last;
static void *thread(void *unused)
{
    printf("thread %s\n", __rdtsc() > last ? "goes on" : "goes back");
    fflush(stdout);
    return unused;
}
int main(void)
{
    unsigned cpu;
    int up = 0;
    last = __rdtsc();
    for (int i = 0; i < 5000; i++) {
        uint64_t first = __rdtsc(), second = __rdtscp(&cpu);
        up += (first > last) + (second > first);
        last = second;
    }
    printf("%d readings go up\n", up);
    pthread_t id;
    pthread_create(&id, NULL, thread, NULL);
    pthread_join(id, NULL);
    if (!fork()) {
        printf("child %s\n", __rdtsc() > last ? "goes on" : "goes back");
        return 0;
    }
    wait(NULL);
    uint64_t before = __rdtsc();
    sleep(10);
    uint64_t passed = __rdtsc() - before;
    printf("%s the clock\n",
           passed > 9990000000u && passed <= 10010000000u ? "close to" : "far from");
    return 0;
}
