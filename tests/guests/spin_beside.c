/* A loop that reads the clock while another thread waits for a short time, as one that asks for the
 * lock of an interpreter does: its time comes after as many reads as take that long on a machine. A
 * spin for a time of its own is as exact as without anybody beside it.
EXPECT
woken after 5 ms, soon enough
spun for 1 ms
*/
#include "guest.h"
static _Atomic int woken;
static void *other(void *argument)
{
    int64_t ns = (int64_t)(intptr_t)argument;
    nanosleep(&(struct timespec){ns / 1000000000, ns % 1000000000}, NULL);
    woken = 1;
    return NULL;
}
static pthread_t begin(int64_t ns)
{
    pthread_t thread;
    woken = 0;
    pthread_create(&thread, NULL, other, (void *)(intptr_t)ns);
    return thread;
}
int main(void)
{
    int64_t start = now_ns(), reads = 0;
    pthread_t thread = begin(5000000);
    for (; !woken; reads++)
        (void)now_ns();
    printf("woken after %lld ms, %s\n", (long long)(now_ns() - start) / 1000000,
           reads < 1000000 ? "soon enough" : "late");
    pthread_join(thread, NULL);
    start = now_ns();
    thread = begin(1000000000);
    while (now_ns() < start + 1000000)
        ;
    printf("spun for %lld ms\n", (long long)(now_ns() - start) / 1000000);
    pthread_join(thread, NULL);
    return 0;
}
