/* SPDX-License-Identifier: MIT */
/* timers: timers of the interposed libc and the end of their clock. */
#pragma once
#include "vitro/clock.h"

/* Takes the timers of this clock off it; it goes. */
void timers_forget(const struct vitro_clock *clock);
