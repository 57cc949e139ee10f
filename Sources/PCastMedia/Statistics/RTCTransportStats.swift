/// The transport that all streams of a connection share (W3C webrtc-stats, `RTCTransportStats`).
public struct RTCTransportStats: RTCStats {
    public let type = RTCStatsType.transport
    public var id: String
    public var timestamp: Double
    /// Datagrams of all kinds, checks and handshakes included.
    public var packetsSent = 0
    public var packetsReceived = 0
    /// Of the datagrams, without IP and UDP.
    public var bytesSent = 0
    public var bytesReceived = 0
    /// `connecting`, `connected` or `closed`.
    public var dtlsState = "connecting"
    public var iceRole = "controlling"
    /// Such as `AEAD_AES_128_GCM`; absent before keys were agreed on.
    public var srtpCipher: String?
    public var selectedCandidatePairId: String?

    public init(id: String, timestamp: Double) {
        self.id = id
        self.timestamp = timestamp
    }
}
