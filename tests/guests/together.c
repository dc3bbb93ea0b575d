/* Threads that make the same call at one moment do not get each other's answers: streams of chance,
 * texts, times of files, waits whose time has come.
EXPECT
24 streams, 24 different
24 texts
24 times
24 waits
*/
#include "guest.h"
enum { THREADS = 24 };
static pthread_barrier_t barrier;
static struct {
    char bytes[16];
    int text, times, wait;
} of[THREADS];
static void *act(void *number)
{
    int i = (int)(intptr_t)number;
    char text[64] = "", name[32];
    struct timespec stamp[2] = {{1000 + i, 0}, {0, UTIME_NOW}}, past = {1, 0};
    struct stat st;
    static int word;

    pthread_barrier_wait(&barrier);
    int fd = open("/dev/urandom", O_RDONLY);
    if (read(fd, of[i].bytes, 16) != 16)
        of[i].bytes[0] = 0;
    close(fd);
    pthread_barrier_wait(&barrier);
    fd = open("/proc/uptime", O_RDONLY);
    of[i].text = read(fd, text, 63) > 0 && atoi(text) == 86400;
    close(fd);
    snprintf(name, sizeof name, "together.%d", i);
    fd = open(name, O_WRONLY | O_CREAT, 0600);
    pthread_barrier_wait(&barrier);
    of[i].times = futimens(fd, stamp) == 0 && fstat(fd, &st) == 0 && st.st_atime == 1000 + i;
    close(fd);
    unlink(name);
    pthread_barrier_wait(&barrier);
    long r = syscall(SYS_futex, &word, 9, 0, &past, NULL, -1);
    of[i].wait = r < 0 && errno == ETIMEDOUT;
    return NULL;
}
int main(void)
{
    pthread_t threads[THREADS];
    int streams = 0, different = 0, texts = 0, times = 0, waits = 0;

    pthread_barrier_init(&barrier, NULL, THREADS);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, act, (void *)(intptr_t)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++) {
        int like = 0;
        for (int j = 0; j < i; j++)
            like += memcmp(of[i].bytes, of[j].bytes, 16) == 0;
        different += !like;
        streams++;
        texts += of[i].text;
        times += of[i].times;
        waits += of[i].wait;
    }
    printf("%d streams, %d different\n%d texts\n%d times\n%d waits\n", streams, different, texts,
           times, waits);
    return 0;
}
