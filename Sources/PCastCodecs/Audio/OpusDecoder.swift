import COpus
package import PCastCore

/// An Opus decoder. It calls libopus directly, because libavcodec's wrapper offers neither concealment nor error
/// correction.
///
/// Only one thread may use it at a time.
package final class OpusDecoder {
    private let decoder: OpaquePointer
    private let channels: Int

    /// The number of samples per channel in 120 ms, the longest packet (RFC 6716, section 2.1.4).
    private static let maximumSamples = 5760

    /// The number of samples per channel in one step of concealment (20 ms).
    private static let step = 960

    /// Opens the decoder.
    ///
    /// - Parameter channels: The number of output channels, 1 or 2. It does not depend on the packets.
    /// - Throws: `CodecError.unsupported` for another number.
    package init(channels: Int) throws(CodecError) {
        var error: Int32 = 0
        guard let decoder = opus_decoder_create(Int32(AudioFrame.sampleRate), Int32(channels), &error),
            error == OPUS_OK
        else { throw .unsupported("Opus cannot be decoded to \(channels) channels") }
        self.decoder = decoder
        self.channels = channels
    }

    deinit { opus_decoder_destroy(decoder) }

    /// Decodes one packet. Throws `CodecError.damaged` if the packet is empty or invalid.
    package func decode(_ frame: EncodedFrame) throws(CodecError) -> AudioFrame {
        guard !frame.bytes.isEmpty else { throw .damaged("an empty audio packet") }
        let samples = try run(frame.bytes, samples: Self.maximumSamples, isCorrection: false)
        return AudioFrame(
            samples: samples, channels: channels, captureTime: frame.captureTime, timestamp: frame.timestamp)
    }

    /// Conceals lost audio of the given duration before `next`. The last 20 ms come from the error correction in
    /// `next`, if it contains any; the rest is extrapolated. At most the last second is concealed. Throws
    /// `CodecError.damaged`.
    package func conceal(_ span: TimeSpan, before next: EncodedFrame) throws(CodecError) -> [AudioFrame] {
        let total = Int(ClockRate.opus.ticks(in: min(span, .seconds(1))))
        var steps = max(0, (total + Self.step / 2) / Self.step)
        var frames: [AudioFrame] = []
        while steps > 0 {
            let samples = try run(steps == 1 ? next.bytes : [], samples: Self.step, isCorrection: steps == 1)
            let behind = Int64(steps * Self.step)
            frames.append(
                AudioFrame(
                    samples: samples, channels: channels,
                    captureTime: next.captureTime.map { $0 - ClockRate.opus.span(ofTicks: behind) },
                    timestamp: MediaTime(ticks: next.timestamp.ticks - behind, rate: next.timestamp.rate)))
            steps -= 1
        }
        return frames
    }

    /// Decodes a packet, or conceals a lost one if `bytes` is empty.
    private func run(_ bytes: [UInt8], samples: Int, isCorrection: Bool) throws(CodecError) -> [Int16] {
        var count: Int32 = 0
        let decoded = [Int16](unsafeUninitializedCapacity: samples * channels) { buffer, initialized in
            count = bytes.withUnsafeBufferPointer { packet in
                opus_decode(
                    decoder, packet.isEmpty ? nil : packet.baseAddress, Int32(packet.count), buffer.baseAddress!,
                    Int32(samples), isCorrection ? 1 : 0)
            }
            initialized = max(0, Int(count)) * channels
        }
        guard count >= 0 else { throw .damaged(String(cString: opus_strerror(count))) }
        return decoded
    }
}
