package import PCastCore

/// The properties of an Opus packet that its first bytes contain (RFC 6716, section 3.1).
package struct OpusTOC: Hashable, Sendable {
    /// The configuration from 0 to 31: mode, bandwidth and frame duration.
    package let configuration: UInt8

    /// Whether the packet is encoded in stereo.
    package let isStereo: Bool

    /// The number of Opus frames in the packet, from 1 to 48.
    package let frameCount: Int

    /// Whether the packet contains only silence of discontinuous transmission: it has at most two bytes (RFC 7587,
    /// section 3.1.3; RFC 6716, section 2.1.9).
    package let isDiscontinuous: Bool

    /// The maximum duration of a packet (RFC 6716, section 3.4, requirement R5).
    package static let maximumDuration = TimeSpan.milliseconds(120)

    /// Parses a packet. Returns nil if it is empty, or if its duration is 0 or more than 120 ms.
    package init?(_ packet: Span<UInt8>) {
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

    /// The duration of an Opus frame (RFC 6716, table 2).
    package var frameDuration: TimeSpan {
        let step = Int64(configuration & 0x03)
        switch configuration {
        case 0..<12: return step == 0 ? .milliseconds(10) : .milliseconds(20 * step)
        case 12..<16: return .milliseconds(step & 1 == 0 ? 10 : 20)
        default: return .microseconds(2_500 << step)
        }
    }

    /// The duration of the packet.
    package var duration: TimeSpan { frameDuration * Int64(frameCount) }

    /// The duration of the packet in ticks of the 48 kHz RTP clock (RFC 7587, section 4.1).
    package var tickCount: Int64 { ClockRate.opus.ticks(in: duration) }
}

/// Returns Opus packets from RTP payloads; each payload is a packet (RFC 7587, section 4.2).
package struct OpusDepacketizer: Sendable {
    /// Whether the frame is a valid Opus packet.
    private var isIntact = false
    /// Whether nothing was appended to the frame.
    private var isEmpty = true

    /// The number of invalid packets.
    package private(set) var malformedUnits = 0

    /// Creates a depacketizer.
    package init() {}

    /// Appends a payload, which must be the only one of its frame.
    package mutating func append(_ payload: Span<UInt8>, to bytes: inout [UInt8]) {
        isIntact = isEmpty && OpusTOC(payload) != nil
        isEmpty = false
        guard isIntact else {
            malformedUnits += 1
            return
        }
        bytes.append(contentsOf: payload)
    }

    /// Finishes the frame. Returns nil if it cannot be decoded.
    package mutating func finish(_ bytes: inout [UInt8]) -> DepacketizedFrame? {
        defer {
            isIntact = false
            isEmpty = true
        }
        return isIntact ? DepacketizedFrame(isKeyFrame: true, hasSlice: true) : nil
    }
}

/// Writes an Opus packet as one RTP payload (RFC 7587, section 4.2).
package struct OpusPacketizer {
    private let packet: ByteView
    /// Whether the payload was written.
    private var isDone: Bool

    /// Creates a packetizer for a packet.
    ///
    /// - Parameter packet: The packet, which must be valid until ``next(into:)`` has returned nil. An empty packet has
    ///   no payload.
    package init(packet: ByteView) {
        self.packet = packet
        isDone = packet.isEmpty
    }

    /// Writes the payload at the beginning of a buffer of at least the packet's size. Returns nil the second time.
    package mutating func next(into buffer: MutableByteView) -> PayloadPacket? {
        guard !isDone else { return nil }
        isDone = true
        buffer.copyMemory(from: packet)
        return PayloadPacket(length: packet.count, isLast: true)
    }
}
