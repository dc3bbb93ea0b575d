/* Two hundred processes sleep different times and wake in order.
EXPECT
200 woke in order by 19900.0
*/
#include "guest.h"
int main(void)
{
    int pipes[2];
    if (pipe(pipes) < 0)
        return 1;
    int64_t t = now_ns();
    for (int i = 0; i < 200; i++)
        if (fork() == 0) {
            unsigned char me = (unsigned char)(199 - i);
            sleep((unsigned)me * 100u);
            _exit(write(pipes[1], &me, 1) != 1);
        }
    for (int i = 0; i < 200; i++) {
        unsigned char who;
        if (read(pipes[0], &who, 1) != 1 || who != i)
            return printf("%d came as number %d\n", who, i), 1;
    }
    while (wait(NULL) > 0)
        ;
    printf("200 woke in order by %.1f\n", since(t));
    return 0;
}
