/// A stream that is sent (W3C webrtc-stats, `RTCOutboundRtpStreamStats`). What was not measured is absent.
public struct RTCOutboundRTPStreamStats: RTCStats {
    public let type = RTCStatsType.outboundRTP
    public var id: String
    public var timestamp: Double
    public var ssrc: UInt32
    public var kind: MediaType
    public var transportId: String
    public var codecId: String
    public var mid: String?
    /// Of a layer among several.
    public var rid: String?
    public var mediaSourceId: String?
    /// Of what the receiver reports of the same stream; absent before its first report.
    public var remoteId: String?
    public var rtxSsrc: UInt32?
    public var packetsSent = 0
    /// Payload.
    public var bytesSent = 0
    public var retransmittedPacketsSent = 0
    public var nackCount = 0
    /// Of video; requests of either kind for a key frame.
    public var pliCount: Int?
    /// Bits a second that the encoder aims at.
    public var targetBitrate: Double?
    public var framesEncoded: Int?
    /// Seconds.
    public var totalEncodeTime: Double?
    public var frameWidth: Int?
    public var frameHeight: Int?
    /// Nobody has it paused, and it is not held back.
    public var active: Bool?

    public init(
        id: String, timestamp: Double, ssrc: UInt32, kind: MediaType, transportId: String, codecId: String,
        mid: String?
    ) {
        self.id = id
        self.timestamp = timestamp
        self.ssrc = ssrc
        self.kind = kind
        self.transportId = transportId
        self.codecId = codecId
        self.mid = mid
    }
}
