/// All that was counted of one stream's connection, under WebRTC's own names (W3C webrtc-stats; what `getStats` of
/// W3C webrtc answers): a list of objects that name each other by their ids, and as JSON an object of them by id.
public struct RTCStatsReport: Encodable, Sendable {
    public var codecs: [RTCCodecStats] = []
    public var inbound: [RTCInboundRTPStreamStats] = []
    public var outbound: [RTCOutboundRTPStreamStats] = []
    public var remoteInbound: [RTCRemoteInboundRTPStreamStats] = []
    public var remoteOutbound: [RTCRemoteOutboundRTPStreamStats] = []
    public var mediaSources: [RTCMediaSourceStats] = []
    public var transports: [RTCTransportStats] = []
    public var candidates: [RTCIceCandidateStats] = []
    public var candidatePairs: [RTCIceCandidatePairStats] = []

    public init() {}

    /// All of them.
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

    public subscript(id: String) -> (any RTCStats)? { all.first { $0.id == id } }

    private struct Key: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }
        init(_ text: String) { stringValue = text }
        init?(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        for stats in all { try stats.encode(to: container.superEncoder(forKey: Key(stats.id))) }
    }
}
