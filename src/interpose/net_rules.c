/* SPDX-License-Identifier: MIT */
#include "interpose/net_rules.h"
#include "base/buf.h"
#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { RULE_MAX = 512 };

struct rule {
    char *name;              /* owned, lower case; "*.x" for suffixes; NULL: an address */
    struct in6_addr address; /* v4 as mapped */
    unsigned bits;           /* of it that count */
    uint16_t port;           /* 0: any */
};

struct net_rules {
    struct rule *rules; /* owned */
    size_t count;
};

static struct rule *rule_add(struct net_rules *rules)
{
    rules->rules = mem_grow(rules->rules, (rules->count + 1) * sizeof *rules->rules);
    rules->rules[rules->count] = (struct rule){0};
    return &rules->rules[rules->count++];
}

static bool parse_address(const char *text, struct in6_addr *ret, unsigned *ret_bits)
{
    unsigned char *bytes = ret->s6_addr;

    *ret_bits = 128;
    if (inet_pton(AF_INET6, text, ret) == 1)
        return true;
    memset(ret, 0, sizeof *ret);
    bytes[10] = bytes[11] = 0xff;
    *ret_bits = 32;
    return inet_pton(AF_INET, text, bytes + 12) == 1;
}

static bool parse_number(const char *text, unsigned long max, unsigned long *ret)
{
    char *end;

    if (!isdigit((unsigned char)*text))
        return false;
    *ret = strtoul(text, &end, 10);
    return !*end && *ret <= max;
}

/* Cuts ":PORT" off, or reads a URL's. */
static bool parse_port(char **text, uint16_t *ret)
{
    static const struct {
        const char *scheme;
        uint16_t port;
    } schemes[] = {{"http://", 80}, {"https://", 443}, {"ws://", 80}, {"wss://", 443}};
    unsigned long number;

    for (size_t i = 0; i < ARRAY_LENGTH(schemes); i++)
        if (strncasecmp(*text, schemes[i].scheme, strlen(schemes[i].scheme)) == 0) {
            *text += strlen(schemes[i].scheme);
            *ret = schemes[i].port;
            (*text)[strcspn(*text, "/?#")] = '\0';
            break;
        }
    char *colon = strrchr(*text, ':'), *bracket = strrchr(*text, ']');
    if (colon && (bracket ? colon > bracket : strchr(*text, ':') == colon)) {
        if (!parse_number(colon + 1, 65535, &number) || number == 0)
            return false;
        *ret = (uint16_t)number;
        *colon = '\0';
    }
    if (**text == '[') {
        if (!bracket || bracket[1])
            return false;
        (*text)++;
        *bracket = '\0';
    }
    return true;
}

static bool is_host(const char *text)
{
    for (const char *c = text; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr("-_.", *c))
            return false;
    return *text && strlen(text) < 256 && !strstr(text, "..") && *text != '.';
}

static const char *rule_read(char *text, struct rule *ret)
{
    unsigned long bits;
    unsigned most;

    if (!parse_port(&text, &ret->port))
        return "its port or its brackets are wrong";
    size_t length = strlen(text);
    if (length && text[length - 1] == '.')
        text[length - 1] = '\0';
    char *slash = strchr(text, '/');
    if (slash) {
        *slash = '\0';
        if (!parse_address(text, &ret->address, &most) || !parse_number(slash + 1, most, &bits))
            return "it is no range of addresses";
        ret->bits = (unsigned)bits + 128 - most;
        return NULL;
    }
    if (parse_address(text, &ret->address, &most)) {
        ret->bits = 128;
        return NULL;
    }
    if (!is_host(strncmp(text, "*.", 2) == 0 ? text + 2 : text))
        return *text ? "it is neither a host name nor an address" : "it is empty";
    ret->name = mem_dup(text);
    for (char *c = ret->name; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    return NULL;
}

int net_rules_new(const char *const *rules, struct net_rules **ret, struct err *err)
{
    struct net_rules *self = mem_alloc(sizeof *self);
    int r = 0;

    for (; r == 0 && rules && *rules; rules++) {
        CLEANUP(mem_free) char *list = mem_dup(*rules);
        char *rest = list, *item;
        while (r == 0 && (item = strsep(&rest, ",;\n"))) {
            item += strspn(item, " \t");
            item[strcspn(item, " \t")] = '\0';
            if (!*item)
                continue;
            CLEANUP(mem_free) char *given = mem_dup(item);
            const char *wrong =
                strlen(item) > RULE_MAX ? "it is too long" : rule_read(item, rule_add(self));
            if (wrong)
                r = err_set(err, -EINVAL, "network rule '%.200s': %s", given, wrong);
        }
    }
    if (r == 0)
        *ret = self;
    else
        net_rules_free(self);
    return r;
}

void net_rules_free(struct net_rules *rules)
{
    if (!rules)
        return;
    for (size_t i = 0; i < rules->count; i++)
        free(rules->rules[i].name);
    free(rules->rules);
    free(rules);
}

/* ---- asking */

static bool name_fits(const struct rule *rule, const char *name)
{
    size_t length = strlen(name), wanted;

    if (!rule->name)
        return false;
    if (length && name[length - 1] == '.')
        length--;
    if (strncmp(rule->name, "*.", 2) != 0)
        return strlen(rule->name) == length && strncasecmp(rule->name, name, length) == 0;
    wanted = strlen(rule->name) - 1;
    return length > wanted && strncasecmp(name + length - wanted, rule->name + 1, wanted) == 0;
}

static bool bits_equal(const struct in6_addr *a, const struct in6_addr *b, unsigned bits)
{
    unsigned whole = bits / 8, rest = bits % 8;

    if (memcmp(a, b, whole) != 0)
        return false;
    return !rest || (a->s6_addr[whole] ^ b->s6_addr[whole]) >> (8 - rest) == 0;
}

static bool is_loopback(const struct in6_addr *address)
{
    return IN6_IS_ADDR_LOOPBACK(address) ||
           (IN6_IS_ADDR_V4MAPPED(address) && address->s6_addr[12] == 127);
}

bool net_rules_allow_name(const struct net_rules *rules, const char *name)
{
    for (size_t i = 0; i < rules->count; i++)
        if (name_fits(&rules->rules[i], name) ||
            (!rules->rules[i].name && strcasecmp(name, "localhost") == 0 &&
             is_loopback(&rules->rules[i].address)))
            return true;
    return false;
}

static bool read_address(const struct sockaddr *address, socklen_t length, struct in6_addr *ret,
                         uint16_t *ret_port)
{
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;

    if (address->sa_family == AF_INET && length >= sizeof v4) {
        memcpy(&v4, address, sizeof v4);
        memset(ret, 0, sizeof *ret);
        ret->s6_addr[10] = ret->s6_addr[11] = 0xff;
        memcpy(ret->s6_addr + 12, &v4.sin_addr, 4);
        *ret_port = ntohs(v4.sin_port);
        return true;
    }
    if (address->sa_family != AF_INET6 || length < sizeof v6)
        return false;
    memcpy(&v6, address, sizeof v6);
    *ret = v6.sin6_addr;
    *ret_port = ntohs(v6.sin6_port);
    return true;
}

bool net_rules_allow_address(const struct net_rules *rules, const struct sockaddr *address,
                             socklen_t length)
{
    struct in6_addr asked;
    uint16_t port;

    if (!address || length < sizeof address->sa_family ||
        !read_address(address, length, &asked, &port))
        return true;
    for (size_t i = 0; i < rules->count; i++) {
        const struct rule *rule = &rules->rules[i];
        bool fits = rule->name ? strcmp(rule->name, "localhost") == 0 && is_loopback(&asked)
                               : bits_equal(&rule->address, &asked, rule->bits);
        if (fits && (!rule->port || rule->port == port))
            return true;
    }
    return false;
}

void net_rules_pin(struct net_rules *rules, const struct sockaddr *address, const char *name)
{
    socklen_t length =
        address->sa_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
    struct in6_addr found;
    uint16_t port;

    if (!read_address(address, length, &found, &port))
        return;
    for (size_t i = 0, count = rules->count; i < count; i++)
        if (name_fits(&rules->rules[i], name)) {
            uint16_t only = rules->rules[i].port;
            *rule_add(rules) = (struct rule){.address = found, .bits = 128, .port = only};
        }
}

bool net_address_read(const struct sockaddr *address, socklen_t length, char host[INET6_ADDRSTRLEN],
                      uint16_t *ret_port)
{
    struct in6_addr asked;

    if (!read_address(address, length, &asked, ret_port))
        return false;
    bool is_v4 = IN6_IS_ADDR_V4MAPPED(&asked);
    return inet_ntop(is_v4 ? AF_INET : AF_INET6, asked.s6_addr + (is_v4 ? 12 : 0), host,
                     INET6_ADDRSTRLEN) != NULL;
}

const char *net_address_text(const struct sockaddr *address, socklen_t length, char text[80])
{
    char host[INET6_ADDRSTRLEN];
    uint16_t port;

    if (!net_address_read(address, length, host, &port))
        (void)snprintf(text, 80, "family %d", address->sa_family);
    else
        (void)snprintf(text, 80, strchr(host, ':') ? "[%s]:%u" : "%s:%u", host, port);
    return text;
}
