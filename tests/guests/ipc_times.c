/* What System V IPC and adjtimex tell of time is the box's.
EXPECT
a segment was made 0 s and attached 0 s ago, never detached
a message was sent 0 s ago, none received
a semaphore was made 0 s ago, never used
and used 0 s ago
what is left of an adjustment: ok
adjusting: EPERM
of the monotonic clock: EOPNOTSUPP
of none: EINVAL
*/
#include "guest.h"
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/timex.h>
static long ago(time_t then)
{
    return (long)(time(NULL) - then);
}
int main(void)
{
    struct shmid_ds segment;
    struct msqid_ds queue;
    struct semid_ds semaphore;
    struct {
        long type;
        char byte;
    } message = {1, 'x'};
    struct sembuf up = {0, 1, 0};
    sleep(100);
    int id = shmget(IPC_PRIVATE, 4096, 0600);
    if (shmat(id, NULL, 0) == (void *)-1 || shmctl(id, IPC_STAT, &segment) < 0)
        return 1;
    printf("a segment was made %ld s and attached %ld s ago, %s detached\n", ago(segment.shm_ctime),
           ago(segment.shm_atime), segment.shm_dtime ? "and" : "never");
    shmctl(id, IPC_RMID, NULL);
    id = msgget(IPC_PRIVATE, 0600);
    if (msgsnd(id, &message, 1, 0) < 0 || msgctl(id, IPC_STAT, &queue) < 0)
        return 1;
    printf("a message was sent %ld s ago, %s received\n", ago(queue.msg_stime),
           queue.msg_rtime ? "one" : "none");
    msgctl(id, IPC_RMID, NULL);
    id = semget(IPC_PRIVATE, 1, 0600);
    if (semctl(id, 0, IPC_STAT, &semaphore) < 0)
        return 1;
    printf("a semaphore was made %ld s ago, %s used\n", ago(semaphore.sem_ctime),
           semaphore.sem_otime ? "and" : "never");
    if (semop(id, &up, 1) < 0 || semctl(id, 0, IPC_STAT, &semaphore) < 0)
        return 1;
    printf("and used %ld s ago\n", ago(semaphore.sem_otime));
    semctl(id, 0, IPC_RMID);
    struct timex look = {.modes = ADJ_OFFSET_SS_READ}, set = {.modes = ADJ_FREQUENCY}, none = {0};
    printf("what is left of an adjustment: %s\n", why(adjtimex(&look)));
    printf("adjusting: %s\n", why(adjtimex(&set)));
    printf("of the monotonic clock: %s\n", why(clock_adjtime(CLOCK_MONOTONIC, &none)));
    printf("of none: %s\n", why(clock_adjtime(99, &none)));
    return 0;
}
