/* SPDX-License-Identifier: MIT */
/* The version of vitro, and the mark of what the shared library exports. */
#ifndef VITRO_VERSION_H
#define VITRO_VERSION_H

#define VITRO_VERSION "0.1.0"

#define VITRO_API __attribute__((visibility("default")))

#endif
