/// A sent RTP stream (W3C webrtc-stats, `RTCOutboundRtpStreamStats`). A value that was not measured is nil.
public struct RTCOutboundRTPStreamStats: RTCStats {
    /// The type of the object, `outbound-rtp`.
    public let type = RTCStatsType.outboundRTP
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
    /// The restriction identifier of a simulcast layer (RFC 8852); nil without simulcast.
    public var rid: String?
    /// The `id` of the ``RTCMediaSourceStats``.
    public var mediaSourceId: String?
    /// The `id` of the ``RTCRemoteInboundRTPStreamStats``; nil before the receiver's first report.
    public var remoteId: String?
    /// The SSRC of the retransmissions (RFC 4588).
    public var rtxSsrc: UInt32?
    /// The number of sent packets.
    public var packetsSent = 0
    /// The sent payload in bytes.
    public var bytesSent = 0
    /// The number of sent retransmissions.
    public var retransmittedPacketsSent = 0
    /// The number of received NACK packets.
    public var nackCount = 0
    /// The number of received PLI and FIR requests; nil for audio.
    public var pliCount: Int?
    /// The target bit rate of the encoder in bits per second.
    public var targetBitrate: Double?
    /// The number of encoded frames.
    public var framesEncoded: Int?
    /// The total time of encoding in seconds.
    public var totalEncodeTime: Double?
    /// The width of the last encoded frame in pixels.
    public var frameWidth: Int?
    /// The height of the last encoded frame in pixels.
    public var frameHeight: Int?
    /// Whether the stream is sent, which is neither paused nor withheld by congestion control.
    public var active: Bool?

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
