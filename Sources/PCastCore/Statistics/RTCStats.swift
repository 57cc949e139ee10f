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
