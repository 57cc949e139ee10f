public import PCastMedia

/// Packets that leave together at a rate above the usual, to learn whether the path carries it (libwebrtc: five
/// packets at least, in 15 ms).
public struct ProbeCluster: Hashable, Sendable {
    public static let minimumPackets = 5
    static let duration = TimeSpan.milliseconds(15)

    /// Never 0, which stands for no probe.
    public let id: UInt16
    public let rate: Bitrate

    /// Bytes that make it whole.
    public var size: Int { Int(Double(rate.bitsPerSecond) / 8 * Self.duration.seconds) }
}
