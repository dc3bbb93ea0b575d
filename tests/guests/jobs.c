/* A sleeper that is stopped and continued sleeps on; its parent is told of both.
EXPECT
stopped at 1.0
continued at 3.0
exited 0 at 5.0
a stopped one that is late wakes when continued: 9.0
*/
#include "guest.h"
int main(void)
{
    int status;
    int64_t t = now_ns();
    pid_t pid = fork();
    if (pid == 0) {
        sleep(5);
        _exit(0);
    }
    sleep(1);
    kill(pid, SIGSTOP);
    waitpid(pid, &status, WUNTRACED);
    printf("%s at %.1f\n", WIFSTOPPED(status) ? "stopped" : "?", since(t));
    sleep(2);
    kill(pid, SIGCONT);
    waitpid(pid, &status, WCONTINUED);
    printf("%s at %.1f\n", WIFCONTINUED(status) ? "continued" : "?", since(t));
    waitpid(pid, &status, 0);
    printf("exited %d at %.1f\n", WEXITSTATUS(status), since(t));
    t = now_ns();
    pid = fork();
    if (pid == 0) {
        sleep(5);
        _exit(0);
    }
    sleep(1);
    kill(pid, SIGSTOP);
    waitpid(pid, &status, WUNTRACED);
    sleep(8);
    kill(pid, SIGCONT);
    waitpid(pid, &status, 0);
    printf("a stopped one that is late wakes when continued: %.1f\n", since(t));
    return 0;
}
