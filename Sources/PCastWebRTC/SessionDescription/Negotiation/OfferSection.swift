public import PCastMedia

/// One section of our offer.
public struct OfferSection: Sendable {
    /// Video or audio.
    public var type: MediaType
    /// Seen from our side.
    public var direction: MediaDirection
    /// The codecs to offer; nil for all that the capabilities name for the type.
    public var codecs: [Codec]?
    /// The only format to offer, as who relays a stream has no other; nil for all of `codecs`.
    public var format: CarriedFormat?
    /// Needed to send.
    public var source: OutgoingSource?
    /// The names of the layers that are sent side by side (RFC 8853), `SDPLimits.simulcastLayers` at most; fewer than two
    /// are no simulcast. Their sources are told apart by name in the packets, and not announced.
    public var layers: [String]
    /// Puts repetitions (RFC 2198) before what they repeat, without which Chromium's answer sends none.
    public var prefersRedundancy = false
    /// The identification tag, `a=mid` (RFC 5888, section 9.1); nil for the section's index.
    public var mid: String?
    /// Offers retransmissions (RTX, RFC 4588). Chromium rejects an audio section that announces their source in an
    /// `a=ssrc-group:FID`.
    public var offersRetransmission = true

    public init(
        type: MediaType, direction: MediaDirection, codecs: [Codec]? = nil, format: CarriedFormat? = nil,
        source: OutgoingSource? = nil, layers: [String] = []
    ) {
        self.type = type
        self.direction = direction
        self.codecs = codecs
        self.format = format
        self.source = source
        self.layers = layers
    }

    var hasLayers: Bool { direction.sends && layers.count > 1 }
}
