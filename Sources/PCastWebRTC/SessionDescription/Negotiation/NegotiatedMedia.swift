public import PCastCore
public import PCastRTP

/// The result of negotiating a section.
public struct NegotiatedMedia: Sendable {
    /// The index of the section in both descriptions.
    public var index: Int
    /// The MID of the section; nil if the peer specified none.
    public var mid: String?
    /// The media type.
    public var type: MediaType
    /// The direction, from the local view.
    public var direction: MediaDirection
    /// The format to send, and the first one to expect.
    public var format: PayloadFormat
    /// All formats that the peer may send, `format` first.
    public var acceptablePayloads: [PayloadFormat]
    /// The negotiated header extensions by ID.
    public var extensionMap: RTPHeaderExtensionMap
    /// The negotiated feedback, with at most one bandwidth estimation.
    public var feedback: RTCPFeedback
    /// Whether reduced-size RTCP is allowed (RFC 5506).
    public var allowsReducedSizeRTCP: Bool
    /// The local SSRC; nil if this side does not send or did not announce one.
    public var localSSRC: UInt32?
    /// The local SSRC of retransmissions; nil if they are not negotiated.
    public var localRTXSSRC: UInt32?
    /// The announced sources of the peer. Browsers announce none for simulcast, whose layers are identified by RID.
    public var remoteSources: [IncomingSource]
    /// The RTCP canonical name of the peer; nil if it is unknown or the peer does not send.
    public var remoteCNAME: String?
    /// The media stream and track of the peer; nil if they are unknown or the peer does not send.
    public var remoteMSID: MediaStreamIdentification?
    /// The RIDs of the negotiated simulcast layers of the sender, in the order of the offer, which is not that of their
    /// quality.
    public var rids: [String]
    /// Whether stereo is wanted: by the peer if this side sends, else by this side.
    public var opusStereo: Bool

    /// The codec of ``format``.
    public var codec: Codec { format.codec }
    /// The payload type of ``format``.
    public var payloadType: UInt8 { format.payloadType }
    /// The payload type of retransmissions of ``format``; nil if they are not negotiated.
    public var rtxPayloadType: UInt8? { format.rtxPayloadType }
    /// The packetization mode of H.264; 1 for other codecs.
    public var packetizationMode: UInt8 { format.h264?.packetizationMode ?? 1 }

    /// Returns the first format with a codec, or ``format`` if there is none.
    package func format(of codec: Codec) -> PayloadFormat {
        acceptablePayloads.first { $0.codec == codec } ?? format
    }

    /// Returns the format of a payload type, and whether it is that of retransmissions; nil if it was not negotiated.
    public func format(ofPayloadType type: UInt8) -> (format: PayloadFormat, isRetransmission: Bool)? {
        for format in acceptablePayloads {
            if format.payloadType == type { return (format, false) }
            if format.rtxPayloadType == type { return (format, true) }
        }
        return nil
    }
}

extension NegotiatedMedia {
    /// Creates the section of a source in this process, which needs no negotiation and understands no feedback.
    ///
    /// - Parameters:
    ///   - format: The format that the source sends.
    ///   - index: The index of the section.
    ///   - rids: The names of the simulcast layers; empty without simulcast.
    ///   - extensionMap: The IDs of the header extensions that the source sends.
    package init(receiving format: PayloadFormat, index: Int, rids: [String], extensionMap: RTPHeaderExtensionMap) {
        self.init(
            index: index, mid: nil, type: format.codec.mediaType, direction: .receiveOnly, format: format,
            acceptablePayloads: [format], extensionMap: extensionMap, feedback: [], allowsReducedSizeRTCP: false,
            localSSRC: nil, localRTXSSRC: nil, remoteSources: [], remoteCNAME: nil, remoteMSID: nil, rids: rids,
            opusStereo: true)
    }
}

/// The result of negotiating an offer and its answer, from the local view.
public struct NegotiatedSession: Sendable {
    /// The ICE and DTLS parameters of the peer.
    public var remoteTransport: RemoteTransport
    /// The local DTLS role, `active` or `passive`.
    public var localSetup: SetupRole
    /// The accepted sections in their order.
    public var media: [NegotiatedMedia]
    /// The sections of an answer that the peer accepts but that cannot carry media.
    public var problems: [SectionProblem] = []

    init(remoteTransport: RemoteTransport, localSetup: SetupRole, media: [NegotiatedMedia]) {
        self.remoteTransport = remoteTransport
        self.localSetup = localSetup
        self.media = media
    }

    /// Whether this side is the DTLS client. It must wait for the first valid ICE check.
    public var isDTLSClient: Bool { localSetup == .active }

    /// Returns the accepted section with a MID; nil if there is none.
    public func media(withMid mid: String) -> NegotiatedMedia? { media.first { $0.mid == mid } }
}

/// A source that the peer announces in a section.
public struct IncomingSource: Hashable, Sendable {
    /// The SSRC of the original packets.
    public var ssrc: UInt32
    /// The SSRC of retransmissions; nil if it is not announced.
    public var rtxSSRC: UInt32?

    /// Creates a source.
    public init(ssrc: UInt32, rtxSSRC: UInt32? = nil) {
        self.ssrc = ssrc
        self.rtxSSRC = rtxSSRC
    }
}

extension MediaDescription {
    /// The sources with their retransmissions, those of `FID` groups first. A group may name sources without an
    /// `a=ssrc` line.
    var incomingSources: [IncomingSource] {
        var result: [IncomingSource] = []
        var secondary: [UInt32] = []
        for group in sourceGroups where group.ssrcs.count > 1 {
            switch group.semantics {
            case "FID":
                result.append(IncomingSource(ssrc: group.ssrcs[0], rtxSSRC: group.ssrcs[1]))
                secondary += group.ssrcs
            case "FEC", "FEC-FR":
                secondary += group.ssrcs.dropFirst()
            default:
                break
            }
            guard result.count < SDPLimits.sources else { return result }
        }
        for source in sources where !secondary.contains(source.ssrc) {
            result.append(IncomingSource(ssrc: source.ssrc))
        }
        return result
    }

    /// The `msid` of the section, or of its first source that has one; nil if there is none.
    var sourceMSID: MediaStreamIdentification? { msid ?? sources.lazy.compactMap(\.msid).first }

    /// The canonical name of the first source that has one; nil if there is none.
    var sourceCNAME: String? { sources.lazy.compactMap(\.cname).first }
}
