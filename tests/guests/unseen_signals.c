/* Signals that come without a call of their sender end a sleep as any other does: typed at a
terminal, at
 * a parent's end, from a child that stops, with a message.
EXPECT
^C ends sleep: signal 2 after 0.0
hangup ends sleep: signal 1 after 0.0
a new size ends sleep: 7 after 0.0
a parent's end ends sleep: EINTR after 1.0
a child that stops ends sleep: EINTR after 3.0
a message ends sleep: EINTR after 4.0
*/
#include "guest.h"
#include <mqueue.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <termios.h>
static void nothing(int unused)
{
    (void)unused;
}
static void handle(int number, void (*function)(int))
{
    struct sigaction action = {.sa_handler = function};
    sigaction(number, &action, NULL);
}
static void exit_seven(int unused)
{
    (void)unused;
    _exit(7);
}
/* A child that sleeps with a terminal of its own. */
static pid_t sleeper(int *master)
{
    *master = open("/dev/ptmx", O_RDWR | O_NOCTTY);
    grantpt(*master);
    unlockpt(*master);
    char *name = ptsname(*master);
    pid_t child = fork();
    if (child == 0) {
        setsid();
        int slave = open(name, O_RDWR);
        ioctl(slave, TIOCSCTTY, 0);
        dup2(slave, 0);
        close(slave);
        close(*master);
        handle(SIGWINCH, exit_seven);
        sleep(1000);
        _exit(1);
    }
    sleep(2);
    return child;
}
static double nap(int *result)
{
    int64_t t = now_ns();
    *result = nanosleep(&(struct timespec){100, 0}, NULL);
    return since(t);
}
int main(void)
{
    int master, status, r, pipes[2];
    setvbuf(stdout, NULL, _IONBF, 0);
    pid_t child = sleeper(&master);
    int64_t t = now_ns();
    r = (int)write(master, "\003", 1);
    waitpid(child, &status, 0);
    printf("^C ends sleep: signal %d after %.1f\n", WTERMSIG(status), since(t));
    close(master);
    child = sleeper(&master);
    t = now_ns();
    close(master);
    waitpid(child, &status, 0);
    printf("hangup ends sleep: signal %d after %.1f\n", WTERMSIG(status), since(t));
    child = sleeper(&master);
    t = now_ns();
    ioctl(master, TIOCSWINSZ, &(struct winsize){10, 20, 0, 0});
    waitpid(child, &status, 0);
    printf("a new size ends sleep: %d after %.1f\n", WEXITSTATUS(status), since(t));
    if (pipe(pipes) < 0)
        return 1;
    if (fork() == 0) {
        if (fork() == 0) {
            handle(SIGUSR2, nothing);
            prctl(PR_SET_PDEATHSIG, SIGUSR2);
            double after = nap(&r);
            printf("a parent's end ends sleep: %s after %.1f\n", why(r), after);
            _exit(0);
        }
        close(pipes[0]);
        sleep(1);
        _exit(0);
    }
    close(pipes[1]); /* closed by the last of the two */
    r = (int)read(pipes[0], &status, 1);
    wait(NULL);
    handle(SIGCHLD, nothing);
    child = fork();
    if (child == 0) {
        sleep(3);
        raise(SIGSTOP);
        _exit(0);
    }
    double after = nap(&r);
    printf("a child that stops ends sleep: %s after %.1f\n", why(r), after);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    handle(SIGCHLD, SIG_IGN);
    mqd_t queue = mq_open("/unseen", O_CREAT | O_RDWR, 0600, NULL);
    handle(SIGUSR1, nothing);
    mq_notify(queue, &(struct sigevent){.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1});
    if (fork() == 0) {
        sleep(4);
        mq_send(queue, "x", 1, 0);
        _exit(0);
    }
    after = nap(&r);
    printf("a message ends sleep: %s after %.1f\n", why(r), after);
    mq_unlink("/unseen");
    return 0;
}
