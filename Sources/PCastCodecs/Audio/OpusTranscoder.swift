package import PCastCore

/// Transcodes AAC to Opus in stereo. Times of frames are carried through.
///
/// Only one thread may use it at a time.
package final class OpusTranscoder {
    /// The bit rate of the Opus.
    package static let bitrate = Bitrate.kilobits(128)
    /// The largest deviation of a frame's time from the end of the previous frame that is not a gap, in samples (15 ms).
    /// Containers round times to milliseconds, and clocks of encoders jitter.
    private static let tolerance: Int64 = 720
    private static let channels = 2

    private let decoder: AACDecoder
    private let encoder: OpusEncoder
    /// The timestamp after the last decoded sample; nil before the first frame.
    private var next: Int64?

    /// Opens the codecs.
    ///
    /// - Parameter configuration: The AudioSpecificConfig (ISO/IEC 14496-3).
    /// - Throws: `CodecError` if the configuration cannot be decoded.
    package init(configuration: [UInt8]) throws(CodecError) {
        decoder = try AACDecoder(configuration: configuration, channels: Self.channels)
        encoder = try OpusEncoder(channels: Self.channels, bitrate: Self.bitrate)
    }

    /// Transcodes a frame of AAC.
    ///
    /// - Parameters:
    ///   - bytes: The frame, without ADTS.
    ///   - time: The media time of its first sample.
    ///   - captureTime: The time at which its first sample was captured.
    /// - Returns: The packets that the frame completes, each with its timestamp and capture time.
    /// - Throws: `CodecError.damaged` if the frame is invalid. The next one can be valid.
    package func transcode(
        _ bytes: [UInt8], time: TimeSpan, captureTime: WallTime
    ) throws(CodecError) -> [EncodedFrame] {
        let samples = try decoder.decode(bytes)
        guard !samples.isEmpty else { return [] }
        let given = ClockRate.opus.ticks(in: time)
        let start = next.flatMap { ($0 - given).magnitude <= Self.tolerance ? $0 : nil } ?? given
        next = start + Int64(samples.count / Self.channels)
        return try encoder.encode(
            AudioFrame(
                samples: samples, channels: Self.channels,
                captureTime: captureTime + ClockRate.opus.span(ofTicks: start - given),
                timestamp: MediaTime(ticks: start, rate: .opus)))
    }
}
