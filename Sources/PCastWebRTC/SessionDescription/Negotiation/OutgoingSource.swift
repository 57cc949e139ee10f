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

/// The format of a stream that is forwarded without transcoding.
package struct SourceFormat: Hashable, Sendable {
    /// The codec of the stream.
    package var codec: Codec
    /// The H.264 parameters, which a receiver must support; nil for other codecs.
    package var h264: H264Format?
    /// The profile of VP9, AV1 and H.265, which a receiver must support; nil for other codecs.
    package var profile: VideoProfile?

    /// Creates a format.
    package init(codec: Codec, h264: H264Format? = nil, profile: VideoProfile? = nil) {
        self.codec = codec
        self.h264 = h264
        self.profile = profile
    }

    /// Creates the format of a stream that is received in a payload format.
    package init(_ format: PayloadFormat) {
        self.init(codec: format.codec, h264: format.h264, profile: format.profile)
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
        if let stream = profile, let offered = format.profile { return offered.plays(stream, codec: codec) }
        guard let stream = h264, let offered = format.h264 else { return true }
        return offered.plays(stream)
    }
}
