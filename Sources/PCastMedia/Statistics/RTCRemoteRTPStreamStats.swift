/// What the receiver reports of a stream that is sent (W3C webrtc-stats, `RTCRemoteInboundRtpStreamStats`).
public struct RTCRemoteInboundRTPStreamStats: RTCStats {
    public let type = RTCStatsType.remoteInboundRTP
    public var id: String
    public var timestamp: Double
    public var ssrc: UInt32
    public var kind: MediaType
    public var transportId: String
    public var codecId: String
    /// Of the stream as it is sent.
    public var localId: String
    public var packetsLost: Int
    /// Seconds.
    public var jitter: Double
    /// Of the packets before its last report, 0 to 1.
    public var fractionLost: Double
    /// Seconds; absent before it was measured.
    public var roundTripTime: Double?

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

/// What the sender reports of a stream that arrives (W3C webrtc-stats, `RTCRemoteOutboundRtpStreamStats`).
public struct RTCRemoteOutboundRTPStreamStats: RTCStats {
    public let type = RTCStatsType.remoteOutboundRTP
    public var id: String
    public var timestamp: Double
    public var ssrc: UInt32
    public var kind: MediaType
    public var transportId: String
    public var codecId: String
    /// Of the stream as it arrives.
    public var localId: String
    public var packetsSent: Int
    public var bytesSent: Int
    /// When the report was written, by the sender's clock: milliseconds since 1970.
    public var remoteTimestamp: Double

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
