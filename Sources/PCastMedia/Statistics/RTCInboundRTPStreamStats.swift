/// A stream that arrives (W3C webrtc-stats, `RTCInboundRtpStreamStats`). What was not measured is absent.
public struct RTCInboundRTPStreamStats: RTCStats {
    public let type = RTCStatsType.inboundRTP
    public var id: String
    public var timestamp: Double
    public var ssrc: UInt32
    public var kind: MediaType
    public var transportId: String
    public var codecId: String
    public var mid: String?
    /// Of what the sender reports of the same stream; absent before its first report.
    public var remoteId: String?
    /// Those that came again included.
    public var packetsReceived = 0
    /// As the numbers tell; less than zero when some came twice.
    public var packetsLost = 0
    /// Seconds (RFC 3550, section 6.4.1).
    public var jitter = 0.0
    /// Payload, retransmissions included.
    public var bytesReceived = 0
    public var retransmittedPacketsReceived: Int?
    public var nackCount = 0
    /// Of video.
    public var pliCount: Int?
    /// Packets that came too late, or twice.
    public var packetsDiscarded: Int?
    /// Frames that came whole, and those of them that can be decoded alone.
    public var framesReceived: Int?
    public var framesDecoded: Int?
    public var keyFramesDecoded: Int?
    public var framesRendered: Int?
    public var framesDropped: Int?
    public var framesPerSecond: Double?
    public var frameWidth: Int?
    public var frameHeight: Int?
    public var freezeCount: Int?
    /// Seconds.
    public var totalFreezesDuration: Double?

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
