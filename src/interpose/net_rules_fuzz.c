/* SPDX-License-Identifier: MIT */
/* Rules for connections: what is read is asked about names and addresses. */
#include "base/buf.h"
#include "interpose/net_rules.h"
#include <netinet/in.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CLEANUP(mem_free) char *text = mem_dupn(data, size);
    const char *const list[] = {text, NULL};
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = 80};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    struct net_rules *rules = NULL;

    if (net_rules_new(list, &rules, NULL) < 0)
        return 0;
    (void)net_rules_allow_name(rules, "a.example.org.");
    (void)net_rules_allow_name(rules, "");
    (void)net_rules_allow_address(rules, (struct sockaddr *)&v4, sizeof v4);
    (void)net_rules_allow_address(rules, (struct sockaddr *)&v6, sizeof v6);
    net_rules_pin(rules, (struct sockaddr *)&v4, "a.example.org");
    net_rules_free(rules);
    return 0;
}
