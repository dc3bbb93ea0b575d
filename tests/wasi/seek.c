// Offsets, holes, truncation, positioned reads.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
int main(void)
{
    char b[16] = "";
    int fd = open("f", O_RDWR | O_CREAT | O_TRUNC, 0644);
    printf("%zd %lld\n", write(fd, "abcdef", 6), (long long)lseek(fd, 0, SEEK_CUR));
    printf("%zd %.3s\n", pread(fd, b, 3, 2), b);
    printf("%zd\n", pwrite(fd, "XY", 2, 10));
    printf("%lld\n", (long long)lseek(fd, 0, SEEK_END));
    printf("%d\n", ftruncate(fd, 4));
    printf("%lld %s\n", (long long)lseek(fd, -9, SEEK_SET), strerror(errno));
    lseek(fd, 0, SEEK_SET);
    printf("%zd %.4s\n", read(fd, b, sizeof b), b);
    printf("%d %d %s\n", close(fd), close(fd), strerror(errno));
    fd = open("f", O_WRONLY | O_CREAT | O_EXCL, 0644);
    printf("%d %s\n", fd, strerror(errno));
    fd = open("f", O_WRONLY | O_APPEND);
    printf("%zd\n", write(fd, "tail", 4));
    return 0;
}
