import PCastCore
import PCastRTP
import PCastSFU

/// The options of a stream according to the token's capabilities and the client's own options.
///
/// The names are those of Phenix capabilities. An unknown or meaningless one is not ignored silently: `ignored`
/// contains it for the log and the client.
struct StreamCapabilities: Sendable {
    enum Purpose: Sendable {
        case publish
        case view
    }

    /// The options with which the SFU adds the peer.
    private(set) var terms = PeerOptions()
    /// The capabilities without effect, as they are in the token.
    private(set) var ignored: [String] = []

    /// The default playout delay of `playout-buffer` without a value.
    static let defaultBuffer = TimeSpan.milliseconds(500)

    /// The maximum of time limits.
    private static let longestLimit = TimeSpan.seconds(24 * 3600 as Int64)

    /// Capabilities that request the default behavior, or that other components handle.
    private static let plain: Set = [
        "real-time", "multi-bitrate-contribution", "publish-uri", "egress", SecondCodecStreams.capability,
    ]

    /// Capabilities of publishers that package their stream for HLS: with all layers, or with the highest one.
    private static let packagings: [String: PackagedStream.Layers] = ["streaming": .all, "streaming-lite": .highest]

    /// Capabilities of publishers whose stream is recorded, and packaged for that: with all layers, or with the highest
    /// one.
    private static let recordings: [String: PackagedStream.Layers] = ["on-demand": .all, "on-demand-lite": .highest]

    /// Delivery methods of viewers that need another endpoint than that of real-time media, or are not supported.
    private static let otherDeliveries: Set = ["streaming", "streaming-lite", "on-demand", "on-demand-lite", "rtmp"]

    /// Parses the capabilities of a token and the options of a client, which are `no-audio` and `no-video`.
    ///
    /// - Throws: ``APIError`` with the kind `badRequest` if no media remains, or `unsupported` if a required capability
    ///   is not supported.
    init(_ names: [String], options: [String] = [], for purpose: Purpose) throws(APIError) {
        var codecs = CodecChoice()
        for name in names {
            let (head, value) = Self.divide(name)
            switch head {
            case "audio-only" where value == nil: terms.media.remove(.video)
            case "video-only" where value == nil: terms.media.remove(.audio)
            case "playout-buffer":
                terms.playout = buffer(value, name) ?? terms.playout
            case RenditionService.capability where value == nil && purpose == .publish: terms.hasRenditions = true
            case "setup-deadline": terms.setupLimit = limit(value, name) ?? terms.setupLimit
            case "abandon-deadline": terms.abandonLimit = limit(value, name) ?? terms.abandonLimit
            case _ where Self.preferences[head] != nil:
                if !codecs.note(Self.preferences[head], value: value) { ignored.append(name) }
            case _ where value == nil && Self.plain.contains(head): break
            case _ where value == nil && Self.packagings[head] != nil: break
            case _ where value == nil && purpose == .publish && Self.recordings[head] != nil: break
            // Every viewer of a stream that is packaged may seek in its window.
            case "time-shift" where value == nil && purpose == .view: break
            default: ignored.append(name)
            }
        }
        if purpose == .view { try requireRealTime(names) }
        if options.contains("no-video") { terms.media.remove(.video) }
        if options.contains("no-audio") { terms.media.remove(.audio) }
        guard !terms.media.isEmpty else {
            throw APIError(.badRequest, "The request excludes both audio and video: include at least one.")
        }
        terms.insistsOnCodecs = codecs.isForced
        terms.preferring = codecs.isForced ? codecs.forced : codecs.preferred
        let isPackaged = Self.packagedLayers(names) != nil || Self.recordedLayers(names) != nil
        if purpose == .publish, terms.preferring.isEmpty, isPackaged {
            // Other codecs cannot be packaged, and browsers offer VP8 first.
            terms.preferring = [.h264]
        }
    }

    /// Checks that the token does not require other delivery methods.
    ///
    /// - Throws: ``APIError`` with the kind `unsupported`.
    private func requireRealTime(_ names: [String]) throws(APIError) {
        guard !names.contains("real-time"), let other = names.first(where: { Self.otherDeliveries.contains($0) }) else {
            return
        }
        throw APIError(
            .unsupported, "The token's capability “\(other)” is not supported here: use a token for real-time streams.")
    }

    /// Removes the renditions, because the platform makes none. The capability then has no effect.
    mutating func excludeRenditions() {
        guard terms.hasRenditions else { return }
        terms.hasRenditions = false
        ignored.append(RenditionService.capability)
    }

    // MARK: HLS

    /// Returns which layers of a publisher's stream are packaged; nil if its token has no such capability.
    static func packagedLayers(_ names: [String]) -> PackagedStream.Layers? {
        names.lazy.compactMap { packagings[$0] }.first
    }

    /// Returns the capability of a stream that replaces packaged streams with these capabilities: none without such streams,
    /// or that for the highest layer if it is sufficient for all.
    static func packaging(_ streams: [[String]]) -> [String] {
        guard !streams.isEmpty else { return [] }
        return [streams.allSatisfy { packagedLayers($0) == .highest } ? "streaming-lite" : "streaming"]
    }

    /// Returns which layers of a publisher's stream are recorded; nil if its token has no such capability.
    static func recordedLayers(_ names: [String]) -> PackagedStream.Layers? {
        names.lazy.compactMap { recordings[$0] }.first
    }

    /// Returns the capabilities of a publisher that requests others than its token has, and the requested ones that it
    /// may not have: only a token permits packaging, recording and renditions, because they cost the resources of the
    /// platform.
    static func publishing(
        _ granted: [String], requesting names: [String]
    ) -> (effective: [String], rejected: [String]) {
        let others = names.filter { !granted.contains($0) }
        let rejected = others.filter {
            packagings[$0] != nil || recordings[$0] != nil || $0 == RenditionService.capability
        }
        return (granted + others.filter { !rejected.contains($0) }, rejected)
    }

    /// Returns whether a viewer's token requires a playlist instead of real-time media.
    static func requiresPlaylist(_ names: [String]) -> Bool {
        !names.contains("real-time") && packagedLayers(names) != nil
    }

    private static func divide(_ name: String) -> (head: String, value: String?) {
        guard let mark = name.firstIndex(of: "=") else { return (name, nil) }
        return (String(name[..<mark]), String(name[name.index(after: mark)...]))
    }

    // MARK: Codecs

    /// The codecs of the capabilities that prefer or require one.
    private static let preferences: [String: Codec] = [
        "prefer-h264": .h264, "prefer-vp8": .vp8, "prefer-vp9": .vp9, "prefer-av1": .av1, "prefer-h265": .h265,
    ]

    /// Returns whether one of the capabilities prefers or requires a codec.
    static func prefers(_ codec: Codec, in capabilities: [String]) -> Bool {
        capabilities.contains { preferences[divide($0).head] == codec }
    }

    private struct CodecChoice {
        var preferred: [Codec] = []
        var forced: [Codec] = []
        /// Whether a codec is required.
        var isForced: Bool { !forced.isEmpty }

        /// Records a capability. Returns false if it has no effect.
        mutating func note(_ codec: Codec?, value: String?) -> Bool {
            guard let codec, value == nil || value == "force" else { return false }
            if value == nil { preferred.append(codec) } else { forced.append(codec) }
            return true
        }
    }

    // MARK: Times

    private mutating func buffer(_ value: String?, _ name: String) -> TimeSpan? {
        guard let value else { return Self.defaultBuffer }
        if let span = TimeSpan(iso8601: value), span <= PlayoutDelay.longest { return span }
        ignored.append(name)
        return nil
    }

    private mutating func limit(_ value: String?, _ name: String) -> TimeSpan? {
        if let span = value.flatMap({ TimeSpan(iso8601: $0) }), span > .zero, span <= Self.longestLimit { return span }
        ignored.append(name)
        return nil
    }

    // MARK: Report of ignored capabilities

    /// The maximum number and length of reported capabilities, because a token may contain very many.
    private static let maximumReportedCount = 16
    private static let maximumReportedLength = 64

    /// The ignored capabilities for a header field: visible ASCII without commas, quotes and semicolons. Other
    /// characters become question marks.
    var reportedNames: [String] {
        ignored.prefix(Self.maximumReportedCount).map { name in
            String(
                name.unicodeScalars.prefix(Self.maximumReportedLength).map { scalar in
                    let isPlain =
                        (0x21...0x7E).contains(scalar.value) && scalar != "," && scalar != "\"" && scalar != ";"
                    return isPlain ? Character(scalar) : "?"
                })
        }
    }
}
