#pragma once

#include <alsa/asoundlib.h>

// Macros that Swift does not import: they allocate on the stack or cast. The *_malloc forms stand in for alloca.
static inline int calsa_quiet_error_handler(void) { return 0; }
