/// How loud the sound of a packet is (RFC 6464).
public struct AudioLevel: Hashable, Sendable {
    /// The byte on the wire: voice activity in the top bit, the level in the others.
    public let rawValue: UInt8

    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// `level` in −dBov, 0 the loudest; bounded to 0...127.
    public init(level: UInt8, isVoice: Bool) {
        rawValue = min(level, 127) | (isVoice ? 0x80 : 0)
    }

    /// In −dBov: 0 is the loudest, 127 silence.
    public var level: UInt8 { rawValue & 0x7F }

    /// Meaningful only where `vad=on` was negotiated.
    public var isVoice: Bool { rawValue & 0x80 != 0 }
}
