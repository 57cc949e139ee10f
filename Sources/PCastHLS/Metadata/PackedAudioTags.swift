package import PCastCore

/// The ID3 tags of a segment of packed audio: those before its first frame, and those between frames of AAC in ADTS
/// (RFC 8216, section 3.4; ISO/IEC 13818-7, section 6.2).
package enum PackedAudioTags {
    /// A tag with the duration of the audio before it.
    package struct Placed: Hashable, Sendable {
        /// The tag.
        package var tag: ID3Tag
        /// The duration of the frames of the segment before the tag.
        package var offset: TimeSpan
    }

    /// The maximum number of tags that are read from a segment.
    static let limit = 256
    /// The sampling rates by their index (ISO/IEC 14496-3, section 1.6.3.4).
    private static let rates = [
        96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8_000, 7_350,
    ]

    /// Returns the tags of a segment, at most 256. It stops at the first bytes that are neither a tag nor a frame of
    /// ADTS, or are truncated.
    package static func all(in bytes: [UInt8]) -> [Placed] {
        var tags: [Placed] = []
        var (index, offset) = (0, TimeSpan.zero)
        while index < bytes.count, tags.count < limit {
            let rest = bytes[index...]
            if let size = ID3Tag.size(of: rest.prefix(10)) {
                guard size <= rest.count, let tag = ID3Tag(Array(rest.prefix(size))) else { break }
                tags.append(Placed(tag: tag, offset: offset))
                index += size
            } else {
                guard let frame = frame(rest.prefix(7)), frame.size <= rest.count else { break }
                offset = offset + frame.duration
                index += frame.size
            }
        }
        return tags
    }

    /// Returns the size and the duration of the frame whose header the bytes are; nil for anything else.
    private static func frame(_ header: ArraySlice<UInt8>) -> (size: Int, duration: TimeSpan)? {
        let bytes = Array(header)
        guard bytes.count == 7, bytes[0] == 0xFF, bytes[1] & 0xF6 == 0xF0 else { return nil }
        let rate = Int(bytes[2] >> 2 & 0x0F)
        let size = Int(bytes[3] & 3) << 11 | Int(bytes[4]) << 3 | Int(bytes[5] >> 5)
        guard rate < rates.count, size >= 7 else { return nil }
        let samples = 1_024 * (Int64(bytes[6] & 3) + 1)
        return (size, ClockRate(hertz: Int64(rates[rate])).span(ofTicks: samples))
    }
}
