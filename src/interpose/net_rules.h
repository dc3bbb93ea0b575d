/* SPDX-License-Identifier: MIT */
/* net_rules: who may be talked to. A rule is a host name, *.SUFFIX (subdomains, not the name
 * itself), an address, a range (10.0.0.0/8), each with :PORT or without, [V6]:PORT, or a URL (its
 * host and its scheme's port). "localhost" is any loopback address. */
#pragma once
#include "base/err.h"
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

struct net_rules;
/* A NULL-ended list of rules; each may be several, split by commas. -EINVAL names a rule that is
 * none. */
int net_rules_new(const char *const *rules, struct net_rules **ret, struct err *err);
void net_rules_free(struct net_rules *rules);
bool net_rules_allow_name(const struct net_rules *rules, const char *name);
/* Families other than v4 and v6 do not leave the machine, and are allowed. */
bool net_rules_allow_address(const struct net_rules *rules, const struct sockaddr *address,
                             socklen_t length);
/* An allowed name was found to have this address: it is allowed, too. */
void net_rules_pin(struct net_rules *rules, const struct sockaddr *address, const char *name);
/* "127.0.0.1" and 80; false: a family that has neither. */
bool net_address_read(const struct sockaddr *address, socklen_t length, char host[46],
                      uint16_t *ret_port);
/* "127.0.0.1:80" */
const char *net_address_text(const struct sockaddr *address, socklen_t length, char text[80]);
