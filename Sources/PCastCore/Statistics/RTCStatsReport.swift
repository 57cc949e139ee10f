/// The statistics of a stream's connection with WebRTC's names (W3C webrtc-stats), as the result of `getStats` (W3C
/// webrtc).
///
/// The objects refer to each other by their identifiers. The JSON form is an object with the identifiers as keys.
public struct RTCStatsReport: Encodable, Sendable {
    /// The codecs of the streams.
    public var codecs: [RTCCodecStats] = []
    /// The received RTP streams.
    public var inbound: [RTCInboundRTPStreamStats] = []
    /// The sent RTP streams.
    public var outbound: [RTCOutboundRTPStreamStats] = []
    /// The receivers' reports of sent streams.
    public var remoteInbound: [RTCRemoteInboundRTPStreamStats] = []
    /// The senders' reports of received streams.
    public var remoteOutbound: [RTCRemoteOutboundRTPStreamStats] = []
    /// The sources of sent streams.
    public var mediaSources: [RTCMediaSourceStats] = []
    /// The transports.
    public var transports: [RTCTransportStats] = []
    /// The candidates of the selected pairs.
    public var candidates: [RTCIceCandidateStats] = []
    /// The selected candidate pairs.
    public var candidatePairs: [RTCIceCandidatePairStats] = []

    /// Creates an empty report.
    public init() {}

    /// All objects.
    public var all: [any RTCStats] {
        var all: [any RTCStats] = codecs
        all += inbound as [any RTCStats]
        all += outbound as [any RTCStats]
        all += remoteInbound as [any RTCStats]
        all += remoteOutbound as [any RTCStats]
        all += mediaSources as [any RTCStats]
        all += transports as [any RTCStats]
        all += candidates as [any RTCStats]
        all += candidatePairs as [any RTCStats]
        return all
    }

    /// Returns the object with an identifier; nil if there is none.
    public subscript(id: String) -> (any RTCStats)? { all.first { $0.id == id } }

    private struct Key: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }
        init(_ text: String) { stringValue = text }
        init?(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    /// Encodes the report as an object with the identifiers as keys.
    ///
    /// - Throws: The errors of `encoder`.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        for stats in all { try stats.encode(to: container.superEncoder(forKey: Key(stats.id))) }
    }
}

/// The members that each object of a statistics report has (W3C webrtc, `RTCStats`).
public protocol RTCStats: Encodable, Sendable {
    /// The identifier of the object, which is the same in each report.
    var id: String { get }
    /// The time of the values in milliseconds since 1970, with a fraction.
    var timestamp: Double { get }
    /// The type of the object.
    var type: RTCStatsType { get }
}

/// The type of an object of a statistics report (W3C webrtc-stats, `RTCStatsType`).
public enum RTCStatsType: String, Hashable, Sendable, Encodable, CaseIterable {
    case codec
    case inboundRTP = "inbound-rtp"
    case outboundRTP = "outbound-rtp"
    case remoteInboundRTP = "remote-inbound-rtp"
    case remoteOutboundRTP = "remote-outbound-rtp"
    case mediaSource = "media-source"
    case transport
    case candidatePair = "candidate-pair"
    case localCandidate = "local-candidate"
    case remoteCandidate = "remote-candidate"
}

/// The source of a sent stream (W3C webrtc-stats, `RTCVideoSourceStats` and `RTCAudioSourceStats`).
public struct RTCMediaSourceStats: RTCStats {
    /// The type of the object, `media-source`.
    public let type = RTCStatsType.mediaSource
    /// The identifier of the object.
    public var id: String
    /// The time of the values in milliseconds since 1970.
    public var timestamp: Double
    /// Video or audio.
    public var kind: MediaType
    /// The name of the device.
    public var trackIdentifier: String
    /// The width of the source in pixels; nil for audio.
    public var width: Int?
    /// The height of the source in pixels; nil for audio.
    public var height: Int?
    /// The number of frames that the source delivered; nil for audio.
    public var frames: Int?

    /// Creates a value without measurements.
    public init(id: String, timestamp: Double, kind: MediaType, trackIdentifier: String) {
        self.id = id
        self.timestamp = timestamp
        self.kind = kind
        self.trackIdentifier = trackIdentifier
    }
}

/// The transport that all streams of a connection share (W3C webrtc-stats, `RTCTransportStats`).
public struct RTCTransportStats: RTCStats {
    /// The type of the object, `transport`.
    public let type = RTCStatsType.transport
    /// The identifier of the object.
    public var id: String
    /// The time of the values in milliseconds since 1970.
    public var timestamp: Double
    /// The number of sent datagrams of all kinds, including checks and handshakes.
    public var packetsSent = 0
    /// The number of received datagrams of all kinds.
    public var packetsReceived = 0
    /// The sent bytes of all datagrams without IP and UDP headers.
    public var bytesSent = 0
    /// The received bytes of all datagrams without IP and UDP headers.
    public var bytesReceived = 0
    /// The state of DTLS: `connecting`, `connected` or `closed`.
    public var dtlsState = "connecting"
    /// The role in ICE: `controlling` or `controlled`.
    public var iceRole = "controlling"
    /// The SRTP cipher, such as `AEAD_AES_128_GCM`; nil before the handshake is complete.
    public var srtpCipher: String?
    /// The `id` of the ``RTCIceCandidatePairStats``; nil before a pair is selected.
    public var selectedCandidatePairId: String?

    /// Creates a value without measurements.
    public init(id: String, timestamp: Double) {
        self.id = id
        self.timestamp = timestamp
    }
}

/// A codec that a stream uses (W3C webrtc-stats, `RTCCodecStats`).
public struct RTCCodecStats: RTCStats {
    /// The type of the object, `codec`.
    public let type = RTCStatsType.codec
    /// The identifier of the object.
    public var id: String
    /// The time of the values in milliseconds since 1970.
    public var timestamp: Double
    /// The RTP payload type.
    public var payloadType: UInt8
    /// The `id` of the ``RTCTransportStats``.
    public var transportId: String
    /// The media type, such as `video/H264`.
    public var mimeType: String
    /// The clock rate in hertz.
    public var clockRate: Int
    /// The number of audio channels; nil for video.
    public var channels: Int?

    /// Creates a value from its properties.
    public init(
        id: String, timestamp: Double, payloadType: UInt8, transportId: String, mimeType: String, clockRate: Int,
        channels: Int? = nil
    ) {
        self.id = id
        self.timestamp = timestamp
        self.payloadType = payloadType
        self.transportId = transportId
        self.mimeType = mimeType
        self.clockRate = clockRate
        self.channels = channels
    }
}

/// A candidate of the selected pair (W3C webrtc-stats, `RTCIceCandidateStats`).
public struct RTCIceCandidateStats: RTCStats {
    /// The type of the object, `local-candidate` or `remote-candidate`.
    public let type: RTCStatsType
    /// The identifier of the object.
    public var id: String
    /// The time of the values in milliseconds since 1970.
    public var timestamp: Double
    /// The `id` of the ``RTCTransportStats``.
    public var transportId: String
    /// The IP address.
    public var address: String
    /// The port.
    public var port: UInt16
    /// The transport, `udp` or `tcp`.
    public var `protocol`: String

    /// Creates the value of a local or remote candidate.
    public init(
        isRemote: Bool, id: String, timestamp: Double, transportId: String, address: String, port: UInt16,
        protocol: String
    ) {
        type = isRemote ? .remoteCandidate : .localCandidate
        self.id = id
        self.timestamp = timestamp
        self.transportId = transportId
        self.address = address
        self.port = port
        self.protocol = `protocol`
    }
}

/// The selected candidate pair (W3C webrtc-stats, `RTCIceCandidatePairStats`).
public struct RTCIceCandidatePairStats: RTCStats {
    /// The type of the object, `candidate-pair`.
    public let type = RTCStatsType.candidatePair
    /// The identifier of the object.
    public var id: String
    /// The time of the values in milliseconds since 1970.
    public var timestamp: Double
    /// The `id` of the ``RTCTransportStats``.
    public var transportId: String
    /// The `id` of the local candidate.
    public var localCandidateId: String
    /// The `id` of the remote candidate.
    public var remoteCandidateId: String
    /// The state of the checks, always `succeeded` for a selected pair.
    public var state = "succeeded"
    /// Whether the pair is nominated, always true for a selected pair.
    public var nominated = true
    /// The round-trip time of the last check or report in seconds; nil before it was measured.
    public var currentRoundTripTime: Double?
    /// The available bandwidth in bits per second according to congestion control; nil if no media is sent.
    public var availableOutgoingBitrate: Double?
    /// The time at which the last authenticated packet arrived, in milliseconds since 1970; nil if none did.
    public var lastPacketReceivedTimestamp: Double?

    /// Creates the value of a selected pair without measurements.
    public init(
        id: String, timestamp: Double, transportId: String, localCandidateId: String, remoteCandidateId: String
    ) {
        self.id = id
        self.timestamp = timestamp
        self.transportId = transportId
        self.localCandidateId = localCandidateId
        self.remoteCandidateId = remoteCandidateId
    }
}
