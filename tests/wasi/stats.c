// Sizes, kinds and set times.
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
int main(void)
{
    struct stat st;
    int fd = open("s", O_CREAT | O_RDWR, 0644);
    write(fd, "12345", 5);
    fstat(fd, &st);
    printf("%lld %d %d\n", (long long)st.st_size, S_ISREG(st.st_mode), S_ISDIR(st.st_mode));
    struct timespec t[2] = {{1000, 0}, {2000, 0}};
    printf("%d\n", futimens(fd, t));
    stat("s", &st);
    printf("%lld %ld %lld %ld\n", (long long)st.st_atim.tv_sec, st.st_atim.tv_nsec,
           (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec);
    printf("%d %d\n", stat(".", &st), S_ISDIR(st.st_mode));
    printf("%d %d\n", access("s", R_OK), access("none", F_OK));
    printf("%d\n", isatty(1));
    return 0;
}
