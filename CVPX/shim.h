#pragma once

#include <vpx/vp8cx.h>
#include <vpx/vpx_encoder.h>

// Functions for what Swift does not import: versioned macros, typed and variadic control functions, and the union in a
// packet.

static inline vpx_codec_err_t cvpx_encoder_open(
    vpx_codec_ctx_t *context, vpx_codec_iface_t *codec, const vpx_codec_enc_cfg_t *configuration) {
    return vpx_codec_enc_init(context, codec, configuration, 0);
}

static inline vpx_codec_err_t cvpx_control(vpx_codec_ctx_t *context, int control, int value) {
    return vpx_codec_control_(context, control, value);
}

static inline unsigned long cvpx_deadline_realtime(void) { return VPX_DL_REALTIME; }
static inline vpx_enc_frame_flags_t cvpx_force_key_frame(void) { return VPX_EFLAG_FORCE_KF; }

/// Returns whether the packet contains an encoded frame, and if so its bytes and whether it is a key frame.
static inline int cvpx_packet_picture(
    const vpx_codec_cx_pkt_t *packet, const void **bytes, size_t *count, int *is_key_frame) {
    if (packet->kind != VPX_CODEC_CX_FRAME_PKT) return 0;
    *bytes = packet->data.frame.buf;
    *count = packet->data.frame.sz;
    *is_key_frame = (packet->data.frame.flags & VPX_FRAME_IS_KEY) != 0;
    return 1;
}
