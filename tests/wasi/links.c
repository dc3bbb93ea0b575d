// Symbolic and hard links, and what may not be reached.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
int main(void)
{
    struct stat st;
    char b[64] = "";
    close(open("target", O_CREAT | O_WRONLY, 0644));
    printf("%d\n", symlink("target", "soft"));
    readlink("soft", b, sizeof b); // Node 18 counts a NUL behind it
    printf("%zu %s\n", strlen(b), b);
    printf("%d %d\n", lstat("soft", &st), S_ISLNK(st.st_mode));
    printf("%d %d\n", stat("soft", &st), S_ISREG(st.st_mode));
    printf("%d %d\n", link("target", "hard"), stat("hard", &st) || st.st_nlink != 2);
    printf("up %s\n", open("../outside", O_RDONLY) < 0 ? "refused" : "opened");
    printf("up by link %s\n", symlink("../..", "up") == 0 && open("up/etc/passwd", O_RDONLY) >= 0
                                  ? "opened"
                                  : "refused");
    return 0;
}
