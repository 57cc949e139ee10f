package import PCastCore

/// A bandwidth probe: packets that are sent together at a rate above the present one, to measure whether the path
/// carries it. As in libwebrtc it has at least five packets and lasts 15 ms.
package struct ProbeCluster: Hashable, Sendable {
    /// The minimum number of packets.
    package static let minimumPackets = 5
    /// The duration at the rate of the probe.
    static let duration = TimeSpan.milliseconds(15)

    /// The ID; never 0, which means no probe.
    package let id: UInt16
    /// The bit rate at which the packets are sent.
    package let rate: Bitrate

    /// The number of bytes to send.
    package var size: Int { Int(Double(rate.bitsPerSecond) / 8 * Self.duration.seconds) }
}
