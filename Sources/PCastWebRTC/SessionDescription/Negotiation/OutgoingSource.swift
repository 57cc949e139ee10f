package import PCastCore

/// The local source that a section announces.
package struct OutgoingSource: Hashable, Sendable {
    /// The SSRC of the packets.
    package var ssrc: UInt32
    /// The SSRC of retransmissions, which is announced if the section has an RTX format; nil for none.
    package var rtxSSRC: UInt32?
    /// The RTCP canonical name, the same for all sources with a common clock (RFC 3550, section 6.5.1).
    package var cname: String
    /// The media stream and track.
    package var msid: MediaStreamIdentification

    /// Creates a source.
    package init(ssrc: UInt32, rtxSSRC: UInt32? = nil, cname: String, msid: MediaStreamIdentification) {
        self.ssrc = ssrc
        self.rtxSSRC = rtxSSRC
        self.cname = cname
        self.msid = msid
    }

    /// Adds the source to a section. Without the `FID` group, browsers treat retransmissions as another stream and drop
    /// them.
    func write(to media: inout MediaDescription, hasRTX: Bool) {
        media.msid = msid
        media.sources = [SourceAttributes(ssrc: ssrc, cname: cname, msid: msid)]
        guard hasRTX, let rtxSSRC else { return }
        media.sources.append(SourceAttributes(ssrc: rtxSSRC, cname: cname, msid: msid))
        media.sourceGroups = [SourceGroup(semantics: "FID", ssrcs: [ssrc, rtxSSRC])]
    }
}

/// The use of a section that a peer offers.
package struct AnswerOptions: Sendable {
    /// The wanted direction, from the local view. The answer is limited by the offer.
    package var direction: MediaDirection
    /// The only format to send, for a forwarded stream; nil for any codec.
    package var format: SourceFormat?
    /// The local source, which is needed to send; nil otherwise.
    package var source: OutgoingSource?

    /// Creates a use of a section.
    package init(direction: MediaDirection, format: SourceFormat? = nil, source: OutgoingSource? = nil) {
        self.direction = direction
        self.format = format
        self.source = source
    }

    /// Receiving only, as a server answers a publisher.
    package static let receive = AnswerOptions(direction: .receiveOnly)

    /// Returns the use of a section that only sends, as a server answers a viewer.
    package static func send(_ format: SourceFormat?, from source: OutgoingSource) -> AnswerOptions {
        AnswerOptions(direction: .sendOnly, format: format, source: source)
    }
}

/// The format of a stream that is forwarded without transcoding.
package struct SourceFormat: Hashable, Sendable {
    /// The codec of the stream.
    package var codec: Codec
    /// The H.264 parameters, which a receiver must support; nil for other codecs.
    package var h264: H264Format?

    /// Creates a format.
    package init(codec: Codec, h264: H264Format? = nil) {
        self.codec = codec
        self.h264 = h264
    }

    /// VP8.
    package static let vp8 = SourceFormat(codec: .vp8)
    /// Opus.
    package static let opus = SourceFormat(codec: .opus)

    /// Returns the format of an H.264 stream.
    package static func h264(_ format: H264Format) -> SourceFormat { SourceFormat(codec: .h264, h264: format) }

    /// Returns whether a receiver of a payload format can receive the stream.
    func isPlayed(by format: PayloadFormat) -> Bool {
        guard codec == format.codec else { return false }
        guard let stream = h264, let offered = format.h264 else { return true }
        return offered.plays(stream)
    }
}

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
