#pragma once

#include <pulse/pulseaudio.h>

// When what the server said was so, in nanoseconds since 1970. `struct timeval` belongs to whichever module includes it
// first, and so is not to be named in Swift.
static inline int64_t cpulse_timestamp(const pa_timing_info *timing) {
    return (int64_t)timing->timestamp.tv_sec * 1000000000 + (int64_t)timing->timestamp.tv_usec * 1000;
}
