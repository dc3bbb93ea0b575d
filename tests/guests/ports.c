/* Ports that a program does not choose are the same in every run.
EXPECT
bound to 35000
connected from 35001, seen by the server as 35001
sent from 35002
IPv6 bound to 35003
chosen 35005, and passed over: 35006
35000 can be had again: ok
*/
#include "guest.h"
#include <arpa/inet.h>
#include <netinet/in.h>
static struct sockaddr_in address;
static socklen_t size = sizeof address;
static struct sockaddr *local(in_port_t port)
{
    address = (struct sockaddr_in){
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    return (struct sockaddr *)&address;
}
static int own_port(int fd)
{
    struct sockaddr_in6 any = {0};
    socklen_t length = sizeof any;
    getsockname(fd, (struct sockaddr *)&any, &length);
    return ntohs(any.sin6_port);
}
int main(void)
{
    int server = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(server, local(0), size) < 0 || listen(server, 5) < 0)
        return 1;
    int port = own_port(server);
    printf("bound to %d\n", port);
    int c = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(c, local((in_port_t)port), size) < 0)
        return 1;
    int s = accept(server, (struct sockaddr *)&address, &size);
    printf("connected from %d, seen by the server as %d\n", own_port(c), ntohs(address.sin_port));
    int u = socket(AF_INET, SOCK_DGRAM, 0);
    if (sendto(u, "x", 1, 0, local(9), size) != 1)
        return 1;
    printf("sent from %d\n", own_port(u));
    int six = socket(AF_INET6, SOCK_STREAM, 0);
    struct sockaddr_in6 any = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    if (bind(six, (struct sockaddr *)&any, sizeof any) < 0)
        return 1;
    printf("IPv6 bound to %d\n", own_port(six));
    int chosen = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(chosen, local(35005), size) < 0)
        return 1;
    int next = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(next, local(0), size) < 0)
        return 1;
    printf("chosen %d, and passed over: %d\n", own_port(chosen), own_port(next));
    close(c);
    close(s);
    close(server);
    server = socket(AF_INET, SOCK_STREAM, 0);
    setsockopt(server, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int));
    int r = bind(server, local(35000), size);
    printf("35000 can be had again: %s\n", why(r));
    return 0;
}
