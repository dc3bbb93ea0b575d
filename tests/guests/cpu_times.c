/* What others used of the CPU, by every call that tells: nothing passes while guests compute.
EXPECT
wait4 0
waitid 0, exited
waitid without a child leaves 7
children 0
no process: EINVAL
policy 2, priority 10
child 2, thread 2
policy 3
refused EINVAL
*/
#include "guest.h"
#include <sys/resource.h>
static pid_t busy_child(void)
{
    pid_t pid = fork();
    if (pid)
        return pid;
    for (volatile long i = 0; i < 100000000;)
        i = i + 1;
    _exit(0);
}
static long used(const struct rusage *usage)
{
    return usage->ru_utime.tv_sec + usage->ru_utime.tv_usec + usage->ru_stime.tv_sec +
           usage->ru_stime.tv_usec;
}
static void cpu_times(void)
{
    struct rusage usage = {.ru_utime = {7, 0}};
    struct timespec t;
    siginfo_t info;
    wait4(busy_child(), NULL, 0, &usage);
    printf("wait4 %ld\n", used(&usage));
    syscall(SYS_waitid, P_PID, busy_child(), &info, WEXITED, &usage);
    printf("waitid %ld, %s\n", used(&usage), info.si_code == CLD_EXITED ? "exited" : "?");
    pid_t pid = fork();
    if (!pid) {
        pause();
        _exit(0);
    }
    usage.ru_utime.tv_sec = 7;
    syscall(SYS_waitid, P_PID, pid, &info, WEXITED | WNOHANG, &usage);
    printf("waitid without a child leaves %ld\n", usage.ru_utime.tv_sec);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    getrusage(RUSAGE_CHILDREN, &usage);
    printf("children %ld\n", used(&usage));
    clockid_t of_nobody = (clockid_t)(~99999u << 3 | 2);
    printf("no process: %s\n", why(clock_gettime(of_nobody, &t)));
}
static void *thread(void *ret)
{
    *(int *)ret = (int)syscall(SYS_sched_getscheduler, 0);
    return NULL;
}
int main(void)
{
    cpu_times();
    struct sched_param param = {.sched_priority = 10};
    if (syscall(SYS_sched_setscheduler, 0, SCHED_RR, &param) < 0)
        return 1;
    param.sched_priority = 0;
    syscall(SYS_sched_getparam, 0, &param);
    printf("policy %ld, priority %d\n", syscall(SYS_sched_getscheduler, 0), param.sched_priority);
    fflush(stdout);
    pid_t pid = fork();
    if (!pid)
        _exit((int)syscall(SYS_sched_getscheduler, 0));
    int status, of_thread;
    pthread_t id;
    waitpid(pid, &status, 0);
    pthread_create(&id, NULL, thread, &of_thread);
    pthread_join(id, NULL);
    printf("child %d, thread %d\n", WEXITSTATUS(status), of_thread);
    param.sched_priority = 0;
    syscall(SYS_sched_setscheduler, getpid(), SCHED_BATCH, &param);
    printf("policy %ld\n", syscall(SYS_sched_getscheduler, 0));
    param.sched_priority = 50;
    printf("refused %s\n", why((int)syscall(SYS_sched_setscheduler, 0, SCHED_BATCH, &param)));
    return 0;
}
