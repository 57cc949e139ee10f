public import PCastMedia

/// What the first bytes of an Opus packet tell without decoding it (RFC 6716, section 3.1).
public struct OpusTOC: Hashable, Sendable {
    /// 0...31: mode, bandwidth and frame size together.
    public let configuration: UInt8

    /// Whether the packet was coded in two channels.
    public let isStereo: Bool

    /// Frames in the packet, 1...48.
    public let frameCount: Int

    /// Whether the packet holds silence only: of discontinuous transmission, at most two bytes (RFC 7587, section
    /// 3.1.3; RFC 6716, section 2.1.9).
    public let isDiscontinuous: Bool

    /// The longest packet (RFC 6716, section 3.2.5, R5).
    public static let maximumDuration = TimeSpan.milliseconds(120)

    /// Nil for an empty packet, and for one whose length of sound is none or more than 120 ms.
    public init?(_ packet: Span<UInt8>) {
        guard !packet.isEmpty else { return nil }
        let first = packet[0]
        configuration = first >> 3
        isStereo = first & 0x04 != 0
        isDiscontinuous = packet.count <= 2
        switch first & 0x03 {
        case 0: frameCount = 1
        case 1, 2: frameCount = 2
        default:
            guard packet.count >= 2 else { return nil }
            frameCount = Int(packet[1] & 0x3F)
        }
        guard frameCount > 0, duration <= Self.maximumDuration else { return nil }
    }

    /// Of one frame (RFC 6716, table 2).
    public var frameDuration: TimeSpan {
        let step = Int64(configuration & 0x03)
        switch configuration {
        case 0..<12: return step == 0 ? .milliseconds(10) : .milliseconds(20 * step)
        case 12..<16: return .milliseconds(step & 1 == 0 ? 10 : 20)
        default: return .microseconds(2_500 << step)
        }
    }

    /// Of the whole packet.
    public var duration: TimeSpan { frameDuration * Int64(frameCount) }

    /// The duration in ticks of the RTP clock, 48 kHz (RFC 7587, section 4.1).
    public var tickCount: Int64 { ClockRate.opus.ticks(in: duration) }
}
