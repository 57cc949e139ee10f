/// A test for in-band forward error correction (low bit-rate redundancy, LBRR) in Opus packets (RFC 6716, section
/// 4.2.4).
package enum OpusCorrection {
    /// The configurations with a SILK layer: 0 to 11 are SILK-only, 12 to 15 are hybrid (RFC 6716, table 2).
    private static let voiceConfigurations = 0..<16 as Range<UInt8>

    /// Returns whether the packet contains a redundant copy of the previous one. Returns false for packets with more
    /// than one frame.
    package static func containsRedundancy(by packet: [UInt8]) -> Bool {
        guard packet.count > 1, packet[0] & 0x03 == 0, voiceConfigurations.contains(packet[0] >> 3) else {
            return false
        }
        // Each channel starts with one voice-activity bit per 20 ms frame, then the LBRR flag (RFC 6716, section
        // 4.2.3).
        let parts = packet[0] >> 3 < 12 ? max(1, packet[0] >> 3 & 0x03) : 1
        let isFirst = packet[1] >> (7 - parts) & 1 == 1
        let isStereo = packet[0] & 0x04 != 0
        return isFirst || isStereo && 2 * parts <= 6 && packet[1] >> (6 - 2 * parts) & 1 == 1
    }
}
