/* exec from a thread that is not the first: the others vanish, time goes on.
EXPECT
before
after 2.0
*/
#include "guest.h"
static void *other(void *unused)
{
    sleep(1000);
    return unused;
}
static void *execs(void *name)
{
    sleep(1);
    execl(name, name, "again", NULL);
    return NULL;
}
int main(int argc, char **argv)
{
    if (argc > 1) {
        sleep(1);
        printf("after %.1f\n", (double)now_ns() / 1e9 - 86400);
        return 0;
    }
    printf("before\n");
    fflush(stdout);
    pthread_t a, b;
    pthread_create(&a, NULL, other, NULL);
    pthread_create(&b, NULL, execs, argv[0]);
    pthread_join(a, NULL);
    return 1;
}
