public import PCastCore

/// On what terms a peer is let in, beside what its description says.
public struct PeerOptions: Hashable, Sendable {
    /// For a publisher, from capture, when all viewers that can show the same picture (synchronised playout). For a viewer,
    /// how long it holds pictures at least, where its stream does not say when all show the same. Nil leaves it to the
    /// network.
    public var playout: TimeSpan?
    /// What is taken of a publisher, or sent to a viewer; sections of other media are refused.
    public var media: Set<MediaType>
    /// Codecs of video that a publisher's answer takes first, where the offer has them; else the offer's order counts.
    public var preferring: [Codec]
    /// No other video will do than in one of those codecs.
    public var insistsOnCodecs: Bool
    /// Who is not connected after this time fails; nil asks only for a check within `SFUConfiguration.setupTimeout`.
    public var setupLimit: TimeSpan?
    /// Who is without data for so long, once connected, fails; nil waits for ever. A publisher that was told that nobody
    /// takes its stream has none to send.
    public var abandonLimit: TimeSpan?

    /// Whether a viewer counts as one: in a stream's figures, and in what its publisher is asked for.
    public var isCounted = true

    public init(
        playout: TimeSpan? = nil, media: Set<MediaType> = [.video, .audio], preferring: [Codec] = [],
        insistsOnCodecs: Bool = false, setupLimit: TimeSpan? = nil, abandonLimit: TimeSpan? = nil
    ) {
        self.playout = playout
        self.media = media
        self.preferring = preferring
        self.insistsOnCodecs = insistsOnCodecs
        self.setupLimit = setupLimit
        self.abandonLimit = abandonLimit
    }

    /// Whether video of that codec will do.
    func admits(_ codec: Codec) -> Bool {
        codec.mediaType != .video || !insistsOnCodecs || preferring.contains(codec)
    }
}
