/// A codec that a stream uses (W3C webrtc-stats, `RTCCodecStats`).
public struct RTCCodecStats: RTCStats {
    /// The type of the object, `codec`.
    public let type = RTCStatsType.codec
    /// The identifier of the object.
    public var id: String
    /// The time of the values in milliseconds since 1970.
    public var timestamp: Double
    /// The RTP payload type.
    public var payloadType: UInt8
    /// The `id` of the ``RTCTransportStats``.
    public var transportId: String
    /// The media type, such as `video/H264`.
    public var mimeType: String
    /// The clock rate in hertz.
    public var clockRate: Int
    /// The number of audio channels; nil for video.
    public var channels: Int?

    /// Creates a value from its properties.
    public init(
        id: String, timestamp: Double, payloadType: UInt8, transportId: String, mimeType: String, clockRate: Int,
        channels: Int? = nil
    ) {
        self.id = id
        self.timestamp = timestamp
        self.payloadType = payloadType
        self.transportId = transportId
        self.mimeType = mimeType
        self.clockRate = clockRate
        self.channels = channels
    }
}
