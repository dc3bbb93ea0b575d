/* Server and client over TCP on loopback, with keep-alives and a time-out.
EXPECT
hello at 10.0
keep-alive 1 at 20.0
keep-alive 2 at 30.0
client gives up after 60.0
*/
#include "guest.h"
#include <netinet/in.h>
int main(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int server = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(server, (struct sockaddr *)&address, size) < 0 || listen(server, 1) < 0 ||
        getsockname(server, (struct sockaddr *)&address, &size) < 0)
        return 1;
    int64_t t = now_ns();
    if (fork() == 0) {
        int c = accept(server, NULL, NULL);
        static const char *const lines[] = {"hello", "keep-alive 1", "keep-alive 2"};
        for (int i = 0; i < 3; i++) {
            sleep(10);
            if (write(c, lines[i], strlen(lines[i])) < 0)
                _exit(1);
        }
        char end;
        _exit(read(c, &end, 1) != 0);
    }
    int c = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(c, (struct sockaddr *)&address, size) < 0)
        return 1;
    struct pollfd fd = {.fd = c, .events = POLLIN};
    char line[64];
    int64_t last = t;
    while (poll(&fd, 1, 60000) == 1) {
        ssize_t n = read(c, line, sizeof line - 1);
        if (n <= 0)
            return 1;
        line[n] = 0;
        printf("%s at %.1f\n", line, since(t));
        last = now_ns();
    }
    printf("client gives up after %.1f\n", since(last));
    close(c);
    int status;
    wait(&status);
    return WEXITSTATUS(status);
}
