package import PCastCore

/// The format of a track: what its initialization segment contains. A different format needs another initialization
/// segment (RFC 8216, section 4.3.2.5).
package enum CMAFFormat: Hashable, Sendable {
    /// H.264 with parameter sets in the sample entry `avc1` (ISO/IEC 14496-15, section 5.4).
    case h264(H264Format)
    /// Opus at 48 kHz (“Encapsulation of Opus in ISO Base Media File Format”, section 4.3), with its number of channels,
    /// 1 or 2.
    case opus(channels: Int)
    /// AAC (ISO/IEC 14496-14, section 5.6).
    case aac(AACFormat)

    /// The number of ticks of the track's clock per second.
    package var clockRate: ClockRate {
        switch self {
        case .h264: .video
        case .opus: .opus
        case .aac(let format): ClockRate(hertz: Int64(format.sampleRate))
        }
    }

    /// Video for H.264, audio for the others.
    package var mediaType: MediaType {
        if case .h264 = self { return .video }
        return .audio
    }

    /// The codec string for `CODECS` (RFC 6381).
    package var codecString: String {
        switch self {
        case .h264(let format): format.codecString
        case .opus: "opus"
        // The object type of AAC-LC is 2 (ISO/IEC 14496-3, table 1.17).
        case .aac: "mp4a.40.2"
        }
    }

    /// The size of the video; nil for audio.
    package var dimensions: Dimensions? {
        if case .h264(let format) = self { return format.dimensions }
        return nil
    }

    /// The number of audio channels; nil for video.
    package var channels: Int? {
        switch self {
        case .h264: nil
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
