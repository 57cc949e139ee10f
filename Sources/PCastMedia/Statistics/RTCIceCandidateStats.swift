/// One end of the path in use (W3C webrtc-stats, `RTCIceCandidateStats`).
public struct RTCIceCandidateStats: RTCStats {
    public let type: RTCStatsType
    public var id: String
    public var timestamp: Double
    public var transportId: String
    public var address: String
    public var port: UInt16
    /// `udp` or `tcp`.
    public var `protocol`: String

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

/// The path in use (W3C webrtc-stats, `RTCIceCandidatePairStats`).
public struct RTCIceCandidatePairStats: RTCStats {
    public let type = RTCStatsType.candidatePair
    public var id: String
    public var timestamp: Double
    public var transportId: String
    public var localCandidateId: String
    public var remoteCandidateId: String
    public var state = "succeeded"
    public var nominated = true
    /// Seconds, of the last check or report; absent before it was measured.
    public var currentRoundTripTime: Double?
    /// Bits a second that congestion control lets through; absent for who sends no media.
    public var availableOutgoingBitrate: Double?
    /// When something authentic came last: milliseconds since 1970.
    public var lastPacketReceivedTimestamp: Double?

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
