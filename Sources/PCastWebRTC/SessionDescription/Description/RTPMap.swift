/// An `a=rtpmap` line: the encoding of a payload type (RFC 8866, section 6.6).
public struct RTPMap: Hashable, Sendable {
    /// The payload type, 0 to 127.
    public var payloadType: UInt8
    /// The name of the encoding as written. Names are compared without regard to case.
    public var encoding: String
    /// The clock rate in hertz.
    public var clockRate: UInt32
    /// The number of channels; 1 if it is not specified.
    public var channels: UInt8

    /// Creates a mapping.
    public init(payloadType: UInt8, encoding: String, clockRate: UInt32, channels: UInt8 = 1) {
        self.payloadType = payloadType
        self.encoding = encoding
        self.clockRate = clockRate
        self.channels = channels
    }

    /// Parses the value of the attribute. Returns nil if it is malformed.
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

    /// The value of the attribute.
    var text: String { "\(payloadType) \(encoding)/\(clockRate)" + (channels == 1 ? "" : "/\(channels)") }
}
