/// What every object of a statistics report has (W3C webrtc, `RTCStats`).
public protocol RTCStats: Encodable, Sendable {
    /// Stays the same for the same thing from one report to the next.
    var id: String { get }
    /// When the values were taken: milliseconds since 1970, with fraction.
    var timestamp: Double { get }
    var type: RTCStatsType { get }
}

/// What an object of a statistics report is about (W3C webrtc-stats, `RTCStatsType`).
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
