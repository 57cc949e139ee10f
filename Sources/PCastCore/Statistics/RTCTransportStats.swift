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
