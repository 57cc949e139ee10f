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
