/// A codec that a stream has (W3C webrtc-stats, `RTCCodecStats`).
public struct RTCCodecStats: RTCStats {
    public let type = RTCStatsType.codec
    public var id: String
    public var timestamp: Double
    public var payloadType: UInt8
    public var transportId: String
    /// Such as `video/H264`.
    public var mimeType: String
    /// Hertz.
    public var clockRate: Int
    /// Of sound.
    public var channels: Int?

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
