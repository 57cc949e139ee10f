public import PCastCore
import PCastWebRTC

/// The options with which a peer is admitted, in addition to its session description.
public struct PeerOptions: Hashable, Sendable {
    /// For a publisher, the time from capture at which all viewers show the same frame (synchronized playout). For a
    /// viewer, the minimum time that it holds frames, unless its stream has synchronized playout. Nil leaves the delay
    /// to the network.
    public var playout: TimeSpan?
    /// The media that are accepted from a publisher or sent to a viewer. Other media sections are rejected.
    public var media: Set<MediaType>
    /// The video codecs that a publisher's answer prefers if the offer has them. Otherwise the offer's order counts.
    public var preferring: [Codec]
    /// Whether video in any other codec is rejected.
    public var insistsOnCodecs: Bool
    /// The time within which the peer must be connected, otherwise it fails. Nil requires only a check within
    /// `SFUConfiguration.setupTimeout`.
    public var setupLimit: TimeSpan?
    /// The maximum time without data once the peer is connected, after which it fails. Nil sets no limit. It does not
    /// count while a publisher is paused because it has no subscribers.
    public var abandonLimit: TimeSpan?

    /// Whether a viewer counts in the stream's statistics and in the bit rate that its publisher is asked for.
    public var isCounted = true

    /// Whether a viewer is the SFU of another node, which receives all layers that it has not paused (`SFU.pull`).
    public var isNode = false

    /// Whether a stream that is pulled from another node keeps its viewers when the link has ended after its first
    /// packets. It remains until it is ended, and another link can be spliced into it (`SFU.splice(_:into:at:)`).
    public var keepsViewers = false

    /// Whether a process of the platform can make lower layers of a publisher's video, if it has one layer. They are
    /// offered by `SFU.offerRenditions(_:of:at:)`.
    public var hasRenditions = false

    /// Creates options. By default they set no limits and accept all media and codecs.
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

    /// Whether video in a codec is accepted. Other media are always accepted.
    func admits(_ codec: Codec) -> Bool {
        codec.mediaType != .video || !insistsOnCodecs || preferring.contains(codec)
    }
}

/// An offer from the SFU that has not been answered yet.
///
/// Until the answer, the peer has only a number and a deadline. Its datagrams count as those of an unknown source,
/// because they cannot be authenticated without its credentials.
struct OutstandingOffer {
    enum Role: Hashable {
        case publisher(of: StreamID)
        case viewer(of: StreamID)
    }

    let role: Role
    let offer: Offer
    let credentials: ICECredentials
    let terms: PeerOptions
    let began: Instant
    let deadline: Instant
}

/// The number of a publisher or viewer, assigned by the caller that admits it.
public struct PeerID: Hashable, Sendable {
    /// The number.
    public let value: UInt64

    /// Creates an identifier from a number that no other peer of the SFU has.
    public init(_ value: UInt64) { self.value = value }
}
