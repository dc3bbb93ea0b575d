// Makes, reads, renames, removes; lists what is left.
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
static int by_name(const void *a, const void *b)
{
    return strcmp(*(char **)a, *(char **)b);
}
int main(void)
{
    printf("mkdir %d\n", mkdir("d", 0777));
    printf("again %d %s\n", mkdir("d", 0777), strerror(errno));
    FILE *f = fopen("d/one", "w");
    fprintf(f, "line %d\n", 1);
    fclose(f);
    f = fopen("d/one", "a+");
    fputs("line 2\n", f);
    rewind(f);
    char line[100];
    while (fgets(line, sizeof line, f))
        printf("read %s", line);
    fclose(f);
    printf("rename %d\n", rename("d/one", "d/two"));
    printf("open %d %s\n", fopen("d/one", "r") != NULL, strerror(errno));
    for (int i = 0; i < 300; i++) {
        char name[40];
        snprintf(name, sizeof name, "d/file-number-%03d", i);
        fclose(fopen(name, "w"));
    }
    printf("unlink %d\n", unlink("d/file-number-007"));
    printf("rmdir %d %s\n", rmdir("d"), strerror(errno));
    printf("unlink dir %s\n", unlink("d") ? "refused" : "done");
    char *names[400];
    int count = 0;
    DIR *d = opendir("d");
    for (struct dirent *e; (e = readdir(d));)
        if (e->d_name[0] != '.')
            names[count++] = strdup(e->d_name);
    closedir(d);
    qsort(names, count, sizeof *names, by_name);
    printf("%d %s %s\n", count, names[0], names[count - 1]);
    return 0;
}
