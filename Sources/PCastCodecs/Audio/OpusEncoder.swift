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

/// Divides audio into packets of 20 ms and converts it to the required number of channels.
package struct AudioFramer {
    /// The number of samples per channel in a packet.
    package static let packetSamples = 960

    private let channels: Int
    private var samples: [Int16] = []
    /// The timestamp of the first buffered sample; nil before the first one.
    private var timestamp: MediaTime?
    private var captureTime: WallTime?

    /// The largest deviation from the expected timestamp, in samples (5 ms). A larger one discards the buffered samples
    /// and starts a new packet.
    private static let tolerance: Int64 = 48 * 5

    /// Creates a framer for 1 or 2 channels.
    package init(channels: Int) { self.channels = channels }

    /// Adds audio at 48 kHz and returns the packets that it completes.
    package mutating func append(_ frame: AudioFrame) -> [AudioFrame] {
        let waiting = Int64(samples.count / channels)
        if let timestamp, abs(timestamp.ticks + waiting - frame.timestamp.ticks) > Self.tolerance { samples = [] }
        if samples.isEmpty {
            timestamp = frame.timestamp
            captureTime = frame.captureTime
        }
        samples += Self.convert(frame, to: channels)
        var packets: [AudioFrame] = []
        let size = Self.packetSamples * channels
        var start = 0
        while samples.count - start >= size, let current = timestamp {
            packets.append(
                AudioFrame(
                    samples: Array(samples[start..<start + size]), channels: channels, captureTime: captureTime,
                    timestamp: current))
            start += size
            timestamp = MediaTime(ticks: current.ticks + Int64(Self.packetSamples), rate: current.rate)
            captureTime = captureTime.map { $0 + ClockRate.opus.span(ofTicks: Int64(Self.packetSamples)) }
        }
        samples.removeFirst(start)
        return packets
    }

    private static func convert(_ frame: AudioFrame, to channels: Int) -> [Int16] {
        switch (frame.channels, channels) {
        case (1, 2): frame.samples.flatMap { [$0, $0] }
        case (2, 1):
            stride(from: 0, to: frame.samples.count - 1, by: 2).map { index in
                Int16((Int32(frame.samples[index]) + Int32(frame.samples[index + 1])) / 2)
            }
        default: frame.samples
        }
    }
}
