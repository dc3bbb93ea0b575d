/* A storm of vfork and posix_spawn.
EXPECT
300 children, status sum 300
*/
#include "guest.h"
#include <spawn.h>
extern char **environ;
int main(int argc, char **argv)
{
    int sum = 0, status;
    if (argc > 1)
        return 1;
    char *args[] = {argv[0], "child", NULL};
    for (int i = 0; i < 300; i++) {
        pid_t pid;
        if (i % 2) {
            if (posix_spawn(&pid, argv[0], NULL, NULL, args, environ) != 0)
                return 2;
        } else if ((pid = vfork()) == 0) {
            execv(argv[0], args);
            _exit(9);
        }
        waitpid(pid, &status, 0);
        sum += WEXITSTATUS(status);
    }
    printf("300 children, status sum %d\n", sum);
    return 0;
}
