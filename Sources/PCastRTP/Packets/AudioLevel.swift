/// The audio level of a packet (RFC 6464).
package struct AudioLevel: Hashable, Sendable {
    /// The byte of the extension: voice activity in the top bit, and the level in the others.
    package let rawValue: UInt8

    /// Creates a level from the byte of the extension.
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Creates a level. `level` is in -dBov, 0 is the loudest, and is limited to 127.
    package init(level: UInt8, isVoice: Bool) {
        rawValue = min(level, 127) | (isVoice ? 0x80 : 0)
    }

    /// The level in -dBov: 0 is the loudest, and 127 is silence.
    package var level: UInt8 { rawValue & 0x7F }

    /// Whether the packet contains voice; meaningful only if `vad=on` was negotiated.
    package var isVoice: Bool { rawValue & 0x80 != 0 }
}
