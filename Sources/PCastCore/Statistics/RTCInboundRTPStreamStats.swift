/// A received RTP stream (W3C webrtc-stats, `RTCInboundRtpStreamStats`). A value that was not measured is nil.
public struct RTCInboundRTPStreamStats: RTCStats {
    /// The type of the object, `inbound-rtp`.
    public let type = RTCStatsType.inboundRTP
    /// The identifier of the object.
    public var id: String
    /// The time of the values in milliseconds since 1970.
    public var timestamp: Double
    /// The SSRC of the stream.
    public var ssrc: UInt32
    /// Video or audio.
    public var kind: MediaType
    /// The `id` of the ``RTCTransportStats``.
    public var transportId: String
    /// The `id` of the ``RTCCodecStats``.
    public var codecId: String
    /// The `mid` of the media section; nil if it has none.
    public var mid: String?
    /// The `id` of the ``RTCRemoteOutboundRTPStreamStats``; nil before the sender's first report.
    public var remoteId: String?
    /// The number of received packets, including retransmissions.
    public var packetsReceived = 0
    /// The number of lost packets according to the sequence numbers; negative if packets arrived twice (RFC 3550,
    /// section 6.4.1).
    public var packetsLost = 0
    /// The interarrival jitter in seconds (RFC 3550, section 6.4.1).
    public var jitter = 0.0
    /// The received payload in bytes, including retransmissions.
    public var bytesReceived = 0
    /// The number of sent NACK packets.
    public var nackCount = 0
    /// The number of sent PLI packets; nil for audio.
    public var pliCount: Int?
    /// The number of packets that arrived too late or twice.
    public var packetsDiscarded: Int?
    /// The number of complete frames.
    public var framesReceived: Int?
    /// The number of decoded frames.
    public var framesDecoded: Int?
    /// The number of rendered frames.
    public var framesRendered: Int?
    /// The number of frames that were dropped before they were decoded or rendered.
    public var framesDropped: Int?
    /// The frame rate of the last second.
    public var framesPerSecond: Double?
    /// The width of the last decoded frame in pixels.
    public var frameWidth: Int?
    /// The height of the last decoded frame in pixels.
    public var frameHeight: Int?
    /// The number of freezes.
    public var freezeCount: Int?
    /// The total duration of freezes in seconds.
    public var totalFreezesDuration: Double?

    /// Creates a value without measurements.
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
