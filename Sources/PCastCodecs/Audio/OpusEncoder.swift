import COpus
public import PCastMedia

/// Opus by libopus, 48 kHz, packets of 20 ms, with forward error correction for the loss that it is told of.
///
/// Used by one thread at a time. Sound may come in pieces of any length.
public final class OpusEncoder {
    private let encoder: OpaquePointer
    private let channels: Int
    private var framer: AudioFramer

    /// The largest packet, in bytes: what one datagram carries beside its headers (RTP9).
    private static let maximumPacketSize = 1100

    /// - Parameter channels: 1 or 2.
    public init(channels: Int, bitrate: Bitrate) throws(CodecError) {
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

    /// Changes the rate while it runs.
    public func setBitrate(_ bitrate: Bitrate) {
        _ = copus_encoder_set(encoder, OPUS_SET_BITRATE_REQUEST, Int32(clamping: bitrate.bitsPerSecond))
    }

    /// How much loss the error correction shall stand, in per cent; 0 leaves it out.
    public func setExpectedLoss(percent: Int) {
        _ = copus_encoder_set(encoder, OPUS_SET_PACKET_LOSS_PERC_REQUEST, Int32(min(max(percent, 0), 100)))
    }

    /// Takes in sound, and gives the packets that became full with it.
    public func encode(_ frame: AudioFrame) throws(CodecError) -> [EncodedFrame] {
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
        guard size > 0 else { throw .failed("encoding sound", reason: String(cString: opus_strerror(size))) }
        return EncodedFrame(
            codec: .opus, bytes: bytes, isKeyFrame: true, timestamp: piece.timestamp, captureTime: piece.captureTime)
    }
}
