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
