import COpus
package import PCastCore

/// An Opus encoder (libopus): 48 kHz, packets of 20 ms, with forward error correction for the expected packet loss.
///
/// It accepts audio in pieces of any length. Only one thread may use it at a time.
package final class OpusEncoder {
    private let encoder: OpaquePointer
    private let channels: Int
    private var framer: AudioFramer

    /// The largest packet, in bytes. It fits into one datagram of 1,200 bytes with its RTP and SRTP overhead.
    private static let maximumPacketSize = 1100

    /// Opens the encoder.
    ///
    /// - Parameters:
    ///   - channels: The number of channels, 1 or 2.
    ///   - bitrate: The target bitrate.
    /// - Throws: `CodecError.unsupported` if libopus refuses the settings.
    package init(channels: Int, bitrate: Bitrate) throws(CodecError) {
        var error: Int32 = 0
        guard
            let encoder = opus_encoder_create(
                Int32(AudioFrame.sampleRate), Int32(channels), OPUS_APPLICATION_AUDIO, &error), error == OPUS_OK
        else { throw .unsupported("Opus cannot be encoded with \(channels) channels") }
        self.encoder = encoder
        self.channels = channels
        framer = AudioFramer(channels: channels)
        _ = copus_encoder_set(encoder, OPUS_SET_COMPLEXITY_REQUEST, 5)
        _ = copus_encoder_set(encoder, OPUS_SET_VBR_REQUEST, 1)
        _ = copus_encoder_set(encoder, OPUS_SET_DTX_REQUEST, 0)
        _ = copus_encoder_set(encoder, OPUS_SET_INBAND_FEC_REQUEST, 1)
        setBitrate(bitrate)
    }

    deinit { opus_encoder_destroy(encoder) }

    /// Sets the target bitrate, also between packets.
    package func setBitrate(_ bitrate: Bitrate) {
        _ = copus_encoder_set(encoder, OPUS_SET_BITRATE_REQUEST, Int32(clamping: bitrate.bitsPerSecond))
    }

    /// Sets the packet loss that the forward error correction protects against, in percent. Values are clamped to
    /// 0...100; 0 disables the correction.
    package func setExpectedLoss(percent: Int) {
        _ = copus_encoder_set(encoder, OPUS_SET_PACKET_LOSS_PERC_REQUEST, Int32(min(max(percent, 0), 100)))
    }

    /// Encodes audio and returns the packets that it completes. Throws `CodecError.failed`.
    package func encode(_ frame: AudioFrame) throws(CodecError) -> [EncodedFrame] {
        var packets: [EncodedFrame] = []
        for piece in framer.append(frame) { packets.append(try encodePacket(piece)) }
        return packets
    }

    private func encodePacket(_ piece: AudioFrame) throws(CodecError) -> EncodedFrame {
        var size: Int32 = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: Self.maximumPacketSize) { buffer, count in
            size = opus_encode(
                encoder, piece.samples, Int32(piece.sampleCount), buffer.baseAddress!, Int32(buffer.count))
            count = max(0, Int(size))
        }
        guard size > 0 else { throw .failed("encoding audio", reason: String(cString: opus_strerror(size))) }
        return EncodedFrame(
            codec: .opus, bytes: bytes, isKeyFrame: true, timestamp: piece.timestamp, captureTime: piece.captureTime)
    }
}
