import PCastMedia
import PCastRTP
import PCastRelay

/// What a token's capabilities say of one stream, together with what its client asks for itself.
///
/// The names are Phenix's (its knowledge base, capabilities). What is not known here, or has no meaning here, is not done in
/// silence: it stands in `ignored`, for the log and for the client.
struct StreamCapabilities: Sendable {
    enum Purpose: Sendable {
        case publish
        case view
    }

    /// On what terms the relay lets the stream in.
    private(set) var terms = PeerTerms()
    /// The capabilities that have no effect, as they are written.
    private(set) var ignored: [String] = []

    /// How long pictures wait where the token does not say for how long.
    static let usualBuffer = TimeSpan.milliseconds(500)

    /// Of time limits; nobody waits for longer.
    private static let longestLimit = TimeSpan.seconds(24 * 3600 as Int64)

    /// Names of which one says nothing more than what happens anyway, or what others do with the stream.
    private static let plain: Set = [
        "real-time", "multi-bitrate-contribution", "publish-uri", "egress",
    ]

    /// Other ways of delivery than ours.
    private static let otherDeliveries: Set = ["streaming", "on-demand", "rtmp"]

    /// - Parameters:
    ///   - names: the token's capabilities.
    ///   - options: of the client: `no-audio` and `no-video`.
    /// - Throws: `badRequest` for what contradicts itself, `unsupported` for what a stream cannot do without.
    init(_ names: [String], options: [String] = [], for purpose: Purpose) throws(Refusal) {
        var codecs = CodecChoice()
        for name in names {
            let (head, value) = Self.divide(name)
            switch head {
            case "audio-only" where value == nil: terms.media.remove(.video)
            case "video-only" where value == nil: terms.media.remove(.audio)
            case "prefer-h264", "prefer-vp8", "prefer-vp9":
                if !codecs.note(Self.codec(head), value: value) { ignored.append(name) }
            case "playout-buffer":
                terms.playout = buffer(value, name) ?? terms.playout
            case "setup-deadline": terms.setupLimit = limit(value, name) ?? terms.setupLimit
            case "abandon-deadline": terms.abandonLimit = limit(value, name) ?? terms.abandonLimit
            case _ where value == nil && Self.plain.contains(head): break
            default: ignored.append(name)
            }
        }
        if purpose == .view { try requireRealTime(names) }
        if options.contains("no-video") { terms.media.remove(.video) }
        if options.contains("no-audio") { terms.media.remove(.audio) }
        guard !terms.media.isEmpty else {
            throw Refusal(.badRequest, "Nothing is left of the stream: it is to have neither sound nor pictures.")
        }
        terms.insistsOnCodecs = codecs.isForced
        terms.preferring = codecs.isForced ? codecs.forced : codecs.preferred
        if codecs.isForced, codecs.forced.isEmpty, terms.media.contains(.video) {
            throw Refusal(.unsupported, "The codec that the token demands is not spoken here: H.264 and VP8 are.")
        }
    }

    /// Who may only watch by playlists cannot watch here.
    private func requireRealTime(_ names: [String]) throws(Refusal) {
        guard !names.contains("real-time"), let other = names.first(where: { Self.otherDeliveries.contains($0) }) else {
            return
        }
        throw Refusal(.unsupported, "The token is for “\(other)”, which is not supported: streams are real-time here.")
    }

    private static func divide(_ name: String) -> (head: String, value: String?) {
        guard let mark = name.firstIndex(of: "=") else { return (name, nil) }
        return (String(name[..<mark]), String(name[name.index(after: mark)...]))
    }

    // MARK: Codecs

    /// Nil for one that is not spoken here.
    private static func codec(_ name: String) -> Codec? {
        switch name {
        case "prefer-h264": .h264
        case "prefer-vp8": .vp8
        default: nil
        }
    }

    private struct CodecChoice {
        var preferred: [Codec] = []
        var forced: [Codec] = []
        /// Perhaps to what is not spoken here.
        var isForced = false

        /// False for what has no effect.
        mutating func note(_ codec: Codec?, value: String?) -> Bool {
            guard value == nil || value == "force" else { return false }
            if value != nil { isForced = true }
            guard let codec else { return false }
            if value == nil { preferred.append(codec) } else { forced.append(codec) }
            return true
        }
    }

    // MARK: Times

    private mutating func buffer(_ value: String?, _ name: String) -> TimeSpan? {
        guard let value else { return Self.usualBuffer }
        if let span = TimeSpan(iso8601: value), span <= PlayoutDelay.longest { return span }
        ignored.append(name)
        return nil
    }

    private mutating func limit(_ value: String?, _ name: String) -> TimeSpan? {
        if let span = value.flatMap({ TimeSpan(iso8601: $0) }), span > .zero, span <= Self.longestLimit { return span }
        ignored.append(name)
        return nil
    }

    // MARK: What is told

    /// What is told of `ignored` at most, for a token may hold very many.
    private static let toldCount = 16
    private static let toldLength = 64

    /// `ignored` as a client is told: visible ASCII without commas and quotes, other characters as question marks.
    var told: [String] {
        ignored.prefix(Self.toldCount).map { name in
            String(
                name.unicodeScalars.prefix(Self.toldLength).map { scalar in
                    let isPlain =
                        (0x21...0x7E).contains(scalar.value) && scalar != "," && scalar != "\"" && scalar != ";"
                    return isPlain ? Character(scalar) : "?"
                })
        }
    }
}
