/// An `a=rtpmap` line: the encoding that a payload type stands for (RFC 8866, section 6.6).
public struct RTPMap: Hashable, Sendable {
    /// 0–127.
    public var payloadType: UInt8
    /// The encoding's name as written; names compare without regard to case.
    public var encoding: String
    /// Ticks a second.
    public var clockRate: UInt32
    /// 1 unless written.
    public var channels: UInt8

    public init(payloadType: UInt8, encoding: String, clockRate: UInt32, channels: UInt8 = 1) {
        self.payloadType = payloadType
        self.encoding = encoding
        self.clockRate = clockRate
        self.channels = channels
    }

    init?(parsing text: SDPText) {
        let fields = text.pieces()
        guard fields.count >= 2, let payloadType = fields[0].decimal(UInt8.self), payloadType <= 127 else { return nil }
        let parts = fields[1].pieces(at: "/")
        guard parts.count >= 2, let encoding = parts[0].token, let clockRate = parts[1].decimal(UInt32.self) else {
            return nil
        }
        let channels = parts.count > 2 ? parts[2].decimal(UInt8.self) ?? 1 : 1
        self.init(payloadType: payloadType, encoding: encoding, clockRate: clockRate, channels: channels)
    }

    var text: String { "\(payloadType) \(encoding)/\(clockRate)" + (channels == 1 ? "" : "/\(channels)") }
}
