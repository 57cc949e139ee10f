public import PCastMedia
public import PCastRTP

/// What both sides agreed on for one section.
public struct NegotiatedMedia: Sendable {
    /// The section's place in both descriptions.
    public var index: Int
    public var mid: String?
    public var type: MediaType
    /// Seen from our side.
    public var direction: MediaDirection
    /// The format to send, and the first one to expect.
    public var format: PayloadFormat
    /// Every format that the peer may send without further negotiation, `format` first.
    public var acceptablePayloads: [PayloadFormat]
    public var extensionMap: RTPHeaderExtensionMap
    public var feedback: RTCPFeedback
    public var allowsReducedSizeRTCP: Bool
    /// Our SSRCs, when we send.
    public var localSSRC: UInt32?
    public var localRTXSSRC: UInt32?
    /// The peer's announced SSRCs, when it sends; browsers with simulcast announce none and name layers by rid.
    public var remoteSources: [IncomingSource]
    public var remoteCNAME: String?
    public var remoteMSID: MediaStreamIdentification?
    /// The peer's simulcast layers in the order offered, which says nothing of their quality.
    public var rids: [String]
    /// When we send, whether the peer wants two channels; else whether we asked for them.
    public var opusStereo: Bool

    public var codec: Codec { format.codec }
    public var payloadType: UInt8 { format.payloadType }
    public var rtxPayloadType: UInt8? { format.rtxPayloadType }
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
