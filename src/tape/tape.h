/* SPDX-License-Identifier: MIT */
/* tape: the ordered record of all that crossed the glass in one run, and everything that is done
 * with it. Format: docs/formats/tape.md. This part owns the file PATH, the content store PATH.cas/
 * beside it, the sidecar PATH.annotations.jsonl, and the bundle directory that holds them. */
#pragma once
#include "tape/annotations.h"
#include "tape/archive.h"
#include "tape/bundle.h"
#include "tape/fidelity.h"
#include "tape/store.h"
#include "tape/tape_data.h"
#include "tape/tape_kinds.h"
#include "tape/tape_reader.h"
#include "tape/tape_refs.h"
#include "tape/tape_verify.h"
#include "tape/tape_writer.h"
