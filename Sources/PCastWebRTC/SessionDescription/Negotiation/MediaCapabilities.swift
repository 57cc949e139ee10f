public import PCastCore
public import PCastRTP

/// The media capabilities of this side.
public struct MediaCapabilities: Sendable {
    /// The codecs in order of preference. H.264 has its place if it is Constrained Baseline with packetization mode 1,
    /// which all peers support; other H.264 formats come after all codecs. VP9, AV1 and H.265 come last of all, unless
    /// they precede H.264 here.
    public var codecs: [Codec]
    /// The highest H.264 level to receive.
    public var h264Level: H264Level
    /// The supported header extensions; others are not negotiated.
    public var headerExtensions: Set<RTPHeaderExtension>
    /// The supported RTCP feedback.
    public var feedback: RTCPFeedback
    /// Whether to negotiate stereo for Opus in both directions (RFC 7587, section 6.1).
    public var opusStereo: Bool
    /// The initial bit rate of a browser's video encoder, which is written into descriptions for publishers; nil for
    /// the browser's default.
    public var startBitrate: Bitrate?

    /// The header extensions that clients read and write. The dependency descriptor is only read and written by
    /// an SFU.
    public static let sendableExtensions = Set(RTPHeaderExtension.allCases).subtracting([.dependencyDescriptor])

    /// Creates capabilities; the defaults are those of this project.
    public init(
        codecs: [Codec] = [.h264, .vp8, .opus], h264Level: H264Level = .level31,
        headerExtensions: Set<RTPHeaderExtension> = Self.sendableExtensions, feedback: RTCPFeedback = .all,
        opusStereo: Bool = true, startBitrate: Bitrate? = nil
    ) {
        self.codecs = codecs
        self.h264Level = h264Level
        self.headerExtensions = headerExtensions
        self.feedback = feedback
        self.opusStereo = opusStereo
        self.startBitrate = startBitrate
    }

    /// Returns the rank of a format, the lowest is preferred; nil if it is not supported.
    func rank(_ format: PayloadFormat) -> Int? {
        guard let position = codecs.firstIndex(of: format.codec) else { return nil }
        if format.profile != nil, let h264 = codecs.firstIndex(of: .h264), h264 < position {
            return codecs.count + 2 + position
        }
        guard let h264 = format.h264, !h264.isConstrainedBaselineInFragments else { return position }
        return codecs.count + (h264.packetizationMode == 1 ? 0 : 1)
    }

    /// Returns whether an offer has a section in which a stream in a format can be sent.
    package func canSend(_ format: SourceFormat, in offer: SessionDescription) -> Bool {
        offer.media.contains { section in
            section.kind.mediaType == format.codec.mediaType && !section.isRejected && section.direction.receives
                && preferred(of: section.payloadFormats, carrying: format) != nil
        }
    }

    /// Returns the preferred format for an answer, the first one of the peer if several are equal; nil if none is
    /// supported. `stream` is the format to send, nil for any.
    func preferred(of formats: [PayloadFormat], carrying stream: SourceFormat?) -> PayloadFormat? {
        var best: (format: PayloadFormat, rank: Int)?
        for format in formats where stream?.isPlayed(by: format) ?? true {
            guard var rank = rank(format) else { continue }
            if let stream = stream?.h264, let h264 = format.h264 { rank = Self.distance(from: stream, to: h264) }
            // The narrowest profile that includes that of the stream.
            if let stream = stream?.profile, let profile = format.profile {
                rank = Int(profile.profile) - Int(stream.profile)
            }
            if best.map({ rank < $0.rank }) ?? true { best = (format, rank) }
        }
        return best?.format
    }

    /// Returns how well an offered format fits a stream; less is better.
    ///
    /// The best is the narrowest profile that includes that of the stream, and otherwise the widest one. Safari shows
    /// no video if High is sent as Baseline, and shows it as Constrained High. Among those, a level that suffices is
    /// preferred, because some hardware decoders fail above their level.
    ///
    /// - Parameters:
    ///   - stream: The format of the stream.
    ///   - format: The offered format.
    /// - Returns: The distance.
    private static func distance(from stream: H264Format, to format: H264Format) -> Int {
        let count = H264Profile.allCases.count
        let profiles = Int(format.profile.rawValue) - Int(stream.profile.rawValue)
        let level = format.level < stream.level ? count : 0
        return profiles >= 0 ? profiles + level : 2 * count - 2 * profiles * count + level
    }

    /// Returns the reason why none of a section's formats is usable.
    func reason(
        against media: MediaDescription, of type: MediaType, carrying stream: SourceFormat?
    ) -> SectionProblem.Reason {
        let wanted = stream.map { [$0.codec] } ?? codecs.filter { $0.mediaType == type }
        let offersH264 = media.codecNames.contains { $0.asciiLowercased == "h264" }
        if wanted.contains(.h264), offersH264 {
            let isUsable = media.payloadFormats.contains { $0.codec == .h264 }
            return isUsable ? .packetizationMode : .profile(offered: media.h264Parameters)
        }
        return .codec(offered: media.codecNames, usable: wanted.map(\.rawValue).unique)
    }
}
