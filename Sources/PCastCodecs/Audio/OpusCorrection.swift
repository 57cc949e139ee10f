/// Whether a packet of Opus holds the one before it once more, in less quality (low bit-rate redundancy; RFC 6716, section
/// 4.2.4).
public enum OpusCorrection {
    /// The configurations that have a part of the voice coder: the first twelve alone, the next four with the other one
    /// (RFC 6716, table 2).
    private static let voiceConfigurations = 0..<16 as Range<UInt8>

    /// Of packets with one frame; of others it is not looked for.
    public static func isCarried(by packet: [UInt8]) -> Bool {
        guard packet.count > 1, packet[0] & 0x03 == 0, voiceConfigurations.contains(packet[0] >> 3) else {
            return false
        }
        // Each channel begins with a bit of voice activity for each 20 ms, and then the flag.
        let parts = packet[0] >> 3 < 12 ? max(1, packet[0] >> 3 & 0x03) : 1
        let isFirst = packet[1] >> (7 - parts) & 1 == 1
        let isStereo = packet[0] & 0x04 != 0
        return isFirst || isStereo && 2 * parts <= 6 && packet[1] >> (6 - 2 * parts) & 1 == 1
    }
}
