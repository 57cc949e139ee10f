public import PCastMedia
public import PCastRTP

/// What both sides agreed on for one section.
public struct NegotiatedMedia: Sendable {
    /// The section's place in both descriptions.
    public var index: Int
    /// The section's name; nil when the peer gave none.
    public var mid: String?
    /// Video or audio.
    public var type: MediaType
    /// Seen from our side.
    public var direction: MediaDirection
    /// The format to send, and the first one to expect.
    public var format: PayloadFormat
    /// Every format that the peer may send without further negotiation, `format` first.
    public var acceptablePayloads: [PayloadFormat]
    /// The ids of the extensions that both sides know.
    public var extensionMap: RTPHeaderExtensionMap
    /// What both sides give and take, with one bandwidth estimator at most.
    public var feedback: RTCPFeedback
    /// RTCP may be sent without a report in front (RFC 5506).
    public var allowsReducedSizeRTCP: Bool
    /// Our SSRCs, when we send.
    public var localSSRC: UInt32?
    /// Nil when retransmissions are not negotiated.
    public var localRTXSSRC: UInt32?
    /// The peer's announced SSRCs, when it sends; browsers with simulcast announce none and name layers by rid.
    public var remoteSources: [IncomingSource]
    /// The peer's RTCP canonical name, when it sends and tells.
    public var remoteCNAME: String?
    /// The peer's stream and track, when it sends and tells.
    public var remoteMSID: MediaStreamIdentification?
    /// The simulcast layers agreed on, of whoever sends, in the order offered, which says nothing of their quality.
    public var rids: [String]
    /// When we send, whether the peer wants two channels; else whether we asked for them.
    public var opusStereo: Bool

    /// The codec of `format`.
    public var codec: Codec { format.codec }
    /// The payload type of `format`.
    public var payloadType: UInt8 { format.payloadType }
    /// The payload type of retransmissions of `format`.
    public var rtxPayloadType: UInt8? { format.rtxPayloadType }
    /// Nil for other codecs than H.264.
    public var h264Profile: H264Profile? { format.h264?.profile }
    /// 1 except for H.264 that has to come in whole NAL units.
    public var packetizationMode: UInt8 { format.h264?.packetizationMode ?? 1 }

    /// The acceptable format of a packet's payload type, and whether it is a retransmission.
    public func format(ofPayloadType type: UInt8) -> (format: PayloadFormat, isRetransmission: Bool)? {
        for format in acceptablePayloads {
            if format.payloadType == type { return (format, false) }
            if format.rtxPayloadType == type { return (format, true) }
        }
        return nil
    }
}
