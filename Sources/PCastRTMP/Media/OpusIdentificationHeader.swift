/// The header of an Opus track, as in Ogg (RFC 7845, section 5.1).
package struct OpusIdentificationHeader: Hashable, Sendable {
    /// The number of channels.
    package let channels: Int
    /// The number of samples at 48 kHz that a decoder discards at the beginning.
    package let preSkip: Int
    /// The sample rate of the source in hertz, for information; 0 if unknown.
    package let inputSampleRate: Int
    /// The channel mapping family: 0 for mono and stereo in one Opus stream.
    package let mappingFamily: UInt8

    /// The header of a track that sends none: stereo, which decodes mono, too.
    package static let stereo = OpusIdentificationHeader()

    private init() {
        (channels, preSkip, inputSampleRate, mappingFamily) = (2, 0, 48_000, 0)
    }

    /// Parses a header. Returns nil if it is truncated, or has no channels or another major version.
    package init?(_ bytes: [UInt8]) {
        guard bytes.count >= 19, bytes.starts(with: Array("OpusHead".utf8)), bytes[8] >> 4 == 0, bytes[9] > 0 else {
            return nil
        }
        channels = Int(bytes[9])
        preSkip = Int(bytes[11]) << 8 | Int(bytes[10])
        inputSampleRate = (12..<16).reversed().reduce(0) { $0 << 8 | Int(bytes[$1]) }
        mappingFamily = bytes[18]
    }
}
