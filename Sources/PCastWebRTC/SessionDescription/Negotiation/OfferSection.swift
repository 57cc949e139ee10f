package import PCastCore

/// A section of the local offer.
package struct OfferSection: Sendable {
    /// The media type.
    package var type: MediaType
    /// The direction, from the local view.
    package var direction: MediaDirection
    /// The codecs to offer; nil for all of the capabilities.
    package var codecs: [Codec]?
    /// The only format to offer, for a forwarded stream; nil for those of ``codecs``.
    package var format: SourceFormat?
    /// The local source, which is needed to send; nil otherwise.
    package var source: OutgoingSource?
    /// The RIDs of simulcast layers (RFC 8853), at most `SDPLimits.simulcastLayers`. With fewer than two there is no
    /// simulcast. The SSRCs of layers are not announced, because packets carry the RID.
    package var layers: [String]
    /// Whether the format with redundancy (RFC 2198) comes first. Chromium sends redundancy only then.
    package var prefersRedundancy = false
    /// The identification tag, `a=mid` (RFC 5888, section 9.1); nil for the section's index.
    package var mid: String?
    /// Offers retransmissions (RTX, RFC 4588). Chromium rejects an audio section that announces their source in an
    /// `a=ssrc-group:FID`.
    package var offersRetransmission = true

    /// Creates a section.
    package init(
        type: MediaType, direction: MediaDirection, codecs: [Codec]? = nil, format: SourceFormat? = nil,
        source: OutgoingSource? = nil, layers: [String] = []
    ) {
        self.type = type
        self.direction = direction
        self.codecs = codecs
        self.format = format
        self.source = source
        self.layers = layers
    }

    /// Whether the section sends simulcast.
    var hasLayers: Bool { direction.sends && layers.count > 1 }
}
