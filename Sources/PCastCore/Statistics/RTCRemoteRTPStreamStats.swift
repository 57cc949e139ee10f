/// The receiver's report of a sent stream (W3C webrtc-stats, `RTCRemoteInboundRtpStreamStats`).
public struct RTCRemoteInboundRTPStreamStats: RTCStats {
    /// The type of the object, `remote-inbound-rtp`.
    public let type = RTCStatsType.remoteInboundRTP
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
    /// The `id` of the ``RTCOutboundRTPStreamStats``.
    public var localId: String
    /// The number of packets that the receiver lost.
    public var packetsLost: Int
    /// The interarrival jitter in seconds.
    public var jitter: Double
    /// The loss rate since the previous report, from 0 to 1.
    public var fractionLost: Double
    /// The round-trip time in seconds; nil before it was measured.
    public var roundTripTime: Double?

    /// Creates a value from its properties.
    public init(
        id: String, timestamp: Double, ssrc: UInt32, kind: MediaType, transportId: String, codecId: String,
        localId: String, packetsLost: Int, jitter: Double, fractionLost: Double, roundTripTime: Double?
    ) {
        self.id = id
        self.timestamp = timestamp
        self.ssrc = ssrc
        self.kind = kind
        self.transportId = transportId
        self.codecId = codecId
        self.localId = localId
        self.packetsLost = packetsLost
        self.jitter = jitter
        self.fractionLost = fractionLost
        self.roundTripTime = roundTripTime
    }
}

/// The sender's report of a received stream (W3C webrtc-stats, `RTCRemoteOutboundRtpStreamStats`).
public struct RTCRemoteOutboundRTPStreamStats: RTCStats {
    /// The type of the object, `remote-outbound-rtp`.
    public let type = RTCStatsType.remoteOutboundRTP
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
    /// The `id` of the ``RTCInboundRTPStreamStats``.
    public var localId: String
    /// The number of packets that the sender sent.
    public var packetsSent: Int
    /// The payload in bytes that the sender sent.
    public var bytesSent: Int
    /// The time of the report on the sender's clock, in milliseconds since 1970.
    public var remoteTimestamp: Double

    /// Creates a value from its properties.
    public init(
        id: String, timestamp: Double, ssrc: UInt32, kind: MediaType, transportId: String, codecId: String,
        localId: String, packetsSent: Int, bytesSent: Int, remoteTimestamp: Double
    ) {
        self.id = id
        self.timestamp = timestamp
        self.ssrc = ssrc
        self.kind = kind
        self.transportId = transportId
        self.codecId = codecId
        self.localId = localId
        self.packetsSent = packetsSent
        self.bytesSent = bytesSent
        self.remoteTimestamp = remoteTimestamp
    }
}
