public import PCastMedia

/// One section of our offer.
public struct OfferSection: Sendable {
    /// Video or audio.
    public var type: MediaType
    /// Seen from our side.
    public var direction: MediaDirection
    /// The codecs to offer; nil for all that the capabilities name for the type.
    public var codecs: [Codec]?
    /// Needed to send.
    public var source: OutgoingSource?

    public init(type: MediaType, direction: MediaDirection, codecs: [Codec]? = nil, source: OutgoingSource? = nil) {
        self.type = type
        self.direction = direction
        self.codecs = codecs
        self.source = source
    }
}
