#pragma once

#include <pulse/pulseaudio.h>

// The time of the timing information in nanoseconds since 1970. `struct timeval` cannot be named in Swift, because it
// belongs to whichever module includes it first.
static inline int64_t cpulse_timestamp(const pa_timing_info *timing) {
    return (int64_t)timing->timestamp.tv_sec * 1000000000 + (int64_t)timing->timestamp.tv_usec * 1000;
}
