#pragma once

#include <opus.h>

// Functions for Opus' variadic control functions, which Swift does not import.

static inline int copus_encoder_set(OpusEncoder *encoder, int request, opus_int32 value) {
    return opus_encoder_ctl(encoder, request, value);
}
