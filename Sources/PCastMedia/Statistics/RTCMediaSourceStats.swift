/// Where a stream that is sent comes from (W3C webrtc-stats, `RTCVideoSourceStats`
/// and `RTCAudioSourceStats`).
public struct RTCMediaSourceStats: RTCStats {
    public let type = RTCStatsType.mediaSource
    public var id: String
    public var timestamp: Double
    public var kind: MediaType
    /// The name of the device.
    public var trackIdentifier: String
    public var width: Int?
    public var height: Int?
    /// Pictures that came from the source.
    public var frames: Int?

    public init(id: String, timestamp: Double, kind: MediaType, trackIdentifier: String) {
        self.id = id
        self.timestamp = timestamp
        self.kind = kind
        self.trackIdentifier = trackIdentifier
    }
}
