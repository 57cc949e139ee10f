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
