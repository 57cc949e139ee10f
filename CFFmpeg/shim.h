#pragma once

#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/aes.h>
#include <libavutil/channel_layout.h>
#include <libavutil/cpu.h>
#include <libavutil/imgutils.h>
#include <libavutil/log.h>
#include <libavutil/opt.h>
#include <libavutil/parseutils.h>
#include <libswresample/swresample.h>
#include <libswscale/swscale.h>

// Values of macros that Swift does not import, because they contain casts or compound literals.

static inline int cffmpeg_error_again(void) { return AVERROR(EAGAIN); }
static inline int cffmpeg_error_end_of_file(void) { return AVERROR_EOF; }
static inline int cffmpeg_error_exit(void) { return AVERROR_EXIT; }
static inline int cffmpeg_error_input_output(void) { return AVERROR(EIO); }
static inline int cffmpeg_error_invalid_data(void) { return AVERROR_INVALIDDATA; }
static inline int cffmpeg_error_patchwelcome(void) { return AVERROR_PATCHWELCOME; }
// The error with which libavformat refuses a format that is not in the whitelist.
static inline int cffmpeg_error_not_allowed(void) { return AVERROR(EINVAL); }
static inline int64_t cffmpeg_no_timestamp(void) { return AV_NOPTS_VALUE; }
static inline AVRational cffmpeg_time_base(void) { return (AVRational){1, AV_TIME_BASE}; }

// Returns the HTTP status for an error of libavformat, which distinguishes only some statuses; 0 for other errors.
static inline int cffmpeg_http_status(int error) {
    switch (error) {
    case AVERROR_HTTP_BAD_REQUEST: return 400;
    case AVERROR_HTTP_UNAUTHORIZED: return 401;
    case AVERROR_HTTP_FORBIDDEN: return 403;
    case AVERROR_HTTP_NOT_FOUND: return 404;
    case AVERROR_HTTP_OTHER_4XX: return 400;
    case AVERROR_HTTP_SERVER_ERROR: return 500;
    default: return 0;
    }
}
