public import PCastMedia
public import PCastRTP

/// What our side is able and willing to do.
public struct MediaCapabilities: Sendable {
    /// In order of preference. H.264 stands at its place when it is Constrained Baseline with packetization mode 1,
    /// which every peer plays; other kinds of H.264 come after all other codecs.
    public var codecs: [Codec]
    /// The highest H.264 level we receive.
    public var h264Level: H264Level
    /// Those we read and write; others are not answered.
    public var headerExtensions: Set<RTPHeaderExtension>
    /// Those we give and take.
    public var feedback: RTCPFeedback
    /// Ask for two Opus channels, and say that two may come (RFC 7587, section 6.1).
    public var opusStereo: Bool
    /// Where a browser's encoder shall start, written into the answer to one that publishes video.
    public var startBitrate: Bitrate?

    public init(
        codecs: [Codec] = [.h264, .vp8, .opus], h264Level: H264Level = .level31,
        headerExtensions: Set<RTPHeaderExtension> = Set(RTPHeaderExtension.allCases), feedback: RTCPFeedback = .all,
        opusStereo: Bool = true, startBitrate: Bitrate? = nil
    ) {
        self.codecs = codecs
        self.h264Level = h264Level
        self.headerExtensions = headerExtensions
        self.feedback = feedback
        self.opusStereo = opusStereo
        self.startBitrate = startBitrate
    }

    /// The place of a format in our preference, lowest first; nil when we do not take it.
    func rank(_ format: PayloadFormat) -> Int? {
        guard let place = codecs.firstIndex(of: format.codec) else { return nil }
        guard let h264 = format.h264, !h264.isConstrainedBaselineInFragments else { return place }
        return codecs.count + (h264.packetizationMode == 1 ? 0 : 1)
    }

    /// The format an answer takes. Of equally good ones it is the peer's first.
    func preferred(of formats: [PayloadFormat], carrying stream: CarriedFormat?) -> PayloadFormat? {
        var best: (format: PayloadFormat, rank: Int)?
        for format in formats where stream?.isPlayed(by: format) ?? true {
            guard var rank = rank(format) else { continue }
            if let stream = stream?.h264, let h264 = format.h264 { rank = Self.distance(from: stream, to: h264) }
            if best.map({ rank < $0.rank }) ?? true { best = (format, rank) }
        }
        return best?.format
    }

    /// How well a format fits the stream. A profile that holds the stream's comes first, the narrowest of them, or else
    /// the widest: Safari stays black where High comes under Baseline, and takes it as Constrained High. Of those that
    /// hold it, one of a level that holds the pictures is preferred, as decoders in hardware stay black beyond theirs.
    private static func distance(from stream: H264Format, to format: H264Format) -> Int {
        let count = H264Profile.allCases.count
        let profiles = Int(format.profile.rawValue) - Int(stream.profile.rawValue)
        let level = format.level < stream.level ? count : 0
        return profiles >= 0 ? profiles + level : 2 * count - 2 * profiles * count + level
    }

    /// Why none of a section's formats can be used.
    func reason(
        against media: MediaDescription, of type: MediaType, carrying stream: CarriedFormat?
    ) -> SectionProblem.Reason {
        let wanted = stream.map { [$0.codec] } ?? codecs.filter { $0.mediaType == type }
        let offersH264 = media.codecNames.contains { $0.asciiLowercased == "h264" }
        if wanted.contains(.h264), offersH264 {
            let isUsable = media.payloadFormats.contains { $0.codec == .h264 }
            return isUsable ? .packetizationMode : .profile(offered: media.h264Parameters)
        }
        return .codec(offered: media.codecNames, usable: wanted.map(\.rawValue))
    }
}
