package import PCastCore
internal import PCastRTP

/// The format of a track: what its initialization segment contains. A different format needs another initialization
/// segment (RFC 8216, section 4.3.2.5).
package enum CMAFFormat: Hashable, Sendable {
    /// H.264 with parameter sets in the sample entry `avc1` (ISO/IEC 14496-15, section 5.4).
    case h264(H264Format)
    /// H.265 with parameter sets in the sample entry `hvc1` (ISO/IEC 14496-15, section 8.4).
    case h265(H265Format)
    /// AV1 (“AV1 Codec ISO Media File Format Binding”).
    case av1(AV1Format)
    /// VP9 (“VP Codec ISO Media File Format Binding”).
    case vp9(VP9Format)
    /// Opus at 48 kHz (“Encapsulation of Opus in ISO Base Media File Format”, section 4.3), with its number of channels,
    /// 1 or 2.
    case opus(channels: Int)
    /// AAC (ISO/IEC 14496-14, section 5.6).
    case aac(AACFormat)

    /// The number of ticks of the track's clock per second.
    package var clockRate: ClockRate {
        switch self {
        case .h264, .h265, .av1, .vp9: .video
        case .opus: .opus
        case .aac(let format): ClockRate(hertz: Int64(format.sampleRate))
        }
    }

    /// Video or audio.
    package var mediaType: MediaType { dimensions == nil ? .audio : .video }

    /// The codec string for `CODECS` (RFC 6381).
    package var codecString: String {
        switch self {
        case .h264(let format): format.codecString
        case .h265(let format): format.codecString
        case .av1(let format): format.codecString
        case .vp9(let format): format.codecString
        case .opus: "opus"
        // The object type of AAC-LC is 2 (ISO/IEC 14496-3, table 1.17).
        case .aac: "mp4a.40.2"
        }
    }

    /// The size of the video; nil for audio.
    package var dimensions: Dimensions? {
        switch self {
        case .h264(let format): format.dimensions
        case .h265(let format): format.dimensions
        case .av1(let format): format.dimensions
        case .vp9(let format): format.dimensions
        case .opus, .aac: nil
        }
    }

    /// The most frames that precede a frame in decoding order and follow it in presentation order; nil if the headers do not
    /// state it, and for audio.
    var reorderedFrames: Int? {
        switch self {
        case .h264(let format): format.sequence.reorderedFrames
        case .h265(let format): format.sequence.reorderedFrames
        // A frame that is shown later is part of the unit that shows it.
        case .av1, .vp9: 0
        case .opus, .aac: nil
        }
    }

    /// The number of audio channels; nil for video.
    package var channels: Int? {
        switch self {
        case .h264, .h265, .av1, .vp9: nil
        case .opus(let channels): channels
        case .aac(let format): format.channels
        }
    }
}

/// The parameter sets of an H.264 track and what follows from them.
package struct H264Format: Hashable, Sendable {
    /// The sequence parameter sets, each a NAL unit with its header.
    package let sequenceSets: [[UInt8]]
    /// The picture parameter sets, each a NAL unit with its header.
    package let pictureSets: [[UInt8]]
    /// The size of the video after cropping.
    package let dimensions: Dimensions
    /// The fields of the first sequence parameter set.
    let sequence: H264SequenceParameterSet

    /// The maximum number of sets of each kind, a limit of the configuration record (ISO/IEC 14496-15, section 5.3.3.1).
    private static let maximumCount = 31

    /// Creates a format. Returns nil if a set is missing, there are more than 31 of a kind, or the first sequence
    /// parameter set is invalid.
    package init?(sequenceSets: [[UInt8]], pictureSets: [[UInt8]]) {
        guard let first = sequenceSets.first, !pictureSets.isEmpty, sequenceSets.count <= Self.maximumCount,
            pictureSets.count <= Self.maximumCount, let sequence = H264SequenceParameterSet(first.span),
            (sequenceSets + pictureSets).allSatisfy({ $0.count <= Int(UInt16.max) })
        else { return nil }
        self.sequenceSets = sequenceSets
        self.pictureSets = pictureSets
        self.sequence = sequence
        dimensions = sequence.dimensions
    }

    /// The profile, constraints and level in hexadecimal (RFC 6381, section 3.3).
    package var codecString: String { CodecParameters.codecString(sequence.profile, level: sequence.level) }
}

/// The configuration of an AAC-LC track.
package struct AACFormat: Hashable, Sendable {
    /// The AudioSpecificConfig (ISO/IEC 14496-3, section 1.6.2.1).
    package let configuration: [UInt8]
    /// The samples per second.
    package let sampleRate: Int
    /// The number of channels.
    package let channels: Int
    /// The samples that the decoder outputs before the first one that was encoded (encoder delay).
    package let priming: Int

    /// The sample rates by `samplingFrequencyIndex` (ISO/IEC 14496-3, table 1.18).
    private static let sampleRates = [
        96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8_000, 7_350,
    ]

    /// The number of samples in a packet (ISO/IEC 14496-3, section 4.5.1.1).
    package static let samplesPerPacket = 1_024

    /// Creates a format from an AudioSpecificConfig of AAC-LC. Returns nil if it has another object type, an explicit
    /// sample rate or more than two channels, or if the encoder delay is negative or a second long.
    package init?(configuration: [UInt8], priming: Int) {
        guard (2...64).contains(configuration.count), configuration[0] >> 3 == 2, (0..<48_000).contains(priming) else {
            return nil
        }
        let index = Int(configuration[0] & 7) << 1 | Int(configuration[1] >> 7)
        let channels = Int(configuration[1] >> 3 & 0xF)
        guard index < Self.sampleRates.count, (1...2).contains(channels) else { return nil }
        self.configuration = configuration
        self.priming = priming
        self.channels = channels
        sampleRate = Self.sampleRates[index]
    }
}
