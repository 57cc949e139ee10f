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
