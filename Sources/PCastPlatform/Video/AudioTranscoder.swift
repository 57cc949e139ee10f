import PCastCodecs
import PCastCore
import PCastPackaging
import PCastRTP
import PCastSFU

/// Transcodes the Opus packets of a stream to AAC-LC in stereo, for players without Opus (Apple's authoring
/// specification, rule 2.3).
///
/// libopus decodes the packets, and FFmpeg's encoder receives samples only. So FFmpeg parses no data of a publisher. Only
/// one thread may use it at a time.
final class AudioTranscoder: @unchecked Sendable {  // used under the lock of its stream
    /// The bit rate of the AAC.
    static let bitrate = Bitrate.kilobits(128)
    /// The longest gap that is concealed. After a longer one, the timestamps of the AAC jump, too.
    private static let longestGap: Int64 = 48_000

    /// The format of the AAC.
    let format: AACFormat
    private let decoder: OpusDecoder
    private let encoder: AACEncoder
    /// The timestamp after the last decoded sample; nil before the first packet.
    private var next: Int64?
    /// The number of samples per channel that were encoded.
    private var encodedCount: Int64 = 0

    /// Opens the codecs.
    ///
    /// - Throws: `CodecError` if FFmpeg has no AAC encoder.
    init() throws(CodecError) {
        decoder = try OpusDecoder(channels: 2)
        encoder = try AACEncoder(bitrate: Self.bitrate, isFast: true)
        guard let format = AACFormat(configuration: encoder.configuration, priming: encoder.delay) else {
            throw .failed("opening the AAC encoder", reason: "its configuration is not that of AAC-LC")
        }
        self.format = format
    }

    /// Returns the AAC packets that a packet completes. A malformed or late packet completes none, and lost packets
    /// before it are concealed.
    func transcode(_ unit: PublishedUnit) -> [AccessUnit] {
        let bytes = unit.bytes
        guard let toc = OpusTOC(bytes.span) else { return [] }
        let packet = EncodedFrame(
            codec: .opus, bytes: bytes, isKeyFrame: true,
            timestamp: MediaTime(ticks: unit.timestamp, rate: .opus), captureTime: unit.captureTime)
        let gap = unit.timestamp - (next ?? unit.timestamp)
        if gap < 0, gap >= -Self.longestGap { return [] }
        var units: [AccessUnit] = []
        if gap > 0, gap <= Self.longestGap,
            let frames = try? decoder.conceal(ClockRate.opus.span(ofTicks: gap), before: packet)
        {
            for frame in frames { units += encode(frame, of: unit) }
        }
        guard let frame = try? decoder.decode(packet) else { return units }
        next = unit.timestamp + toc.tickCount
        return units + encode(frame, of: unit)
    }

    /// Encodes samples of a unit, or those before it. Packets from before the first sample are left out.
    private func encode(_ frame: AudioFrame, of unit: PublishedUnit) -> [AccessUnit] {
        // The difference between the timestamps and the encoder's count changes after a gap that was not concealed.
        let offset = frame.timestamp.ticks - encodedCount
        encodedCount += Int64(frame.samples.count / frame.channels)
        guard let packets = try? encoder.encode(frame) else { return [] }
        return packets.filter { $0.sample >= 0 }.map { packet in
            let timestamp = packet.sample + offset
            return AccessUnit(
                bytes: packet.bytes, timestamp: timestamp,
                captureTime: unit.captureTime + ClockRate.opus.span(ofTicks: timestamp - unit.timestamp))
        }
    }
}
