import PCastCore

/// The server's part of the handshake (RTMP 1.0, section 5.2).
///
/// Clients with a digest in their first packet (the complex handshake of Flash Player) receive an echo, too. They accept
/// it, because the server's packet has version 0 and thus announces no digest.
package struct RTMPHandshake: Sendable {
    /// The size of the client's first packet and of the server's in bytes, without the version.
    package static let packetSize = 1_536
    /// The version of the protocol, the first byte of each direction.
    package static let version: UInt8 = 3

    private var received: [UInt8] = []
    private var hasAnswered = false
    /// The state of the generator of the server's packet, which need not be unpredictable.
    private var state: UInt64

    /// Creates a handshake.
    ///
    /// - Parameter seed: A number that differs between connections.
    package init(seed: UInt64) { state = seed }

    /// Whether the client has completed the handshake.
    package var isComplete: Bool { hasAnswered && received.count == Self.packetSize }

    /// Reads bytes of the client, at most those of the handshake.
    ///
    /// - Parameters:
    ///   - input: The bytes that have arrived.
    ///   - position: The offset of the first byte that was not read, which is moved.
    ///   - output: The bytes of the connection, to which the server's packets are appended.
    /// - Throws: `RTMPError.notRTMP` at the first byte if the version is not 3.
    package mutating func read(
        _ input: Span<UInt8>, from position: inout Int, into output: inout [UInt8]
    ) throws(RTMPError) {
        if !hasAnswered {
            take(1 + Self.packetSize, input, &position)
            if let first = received.first, first != Self.version { throw .notRTMP(firstByte: first) }
            guard received.count == 1 + Self.packetSize else { return }
            output.append(Self.version)
            appendRandomPacket(to: &output)
            output += received.dropFirst()
            received.removeAll(keepingCapacity: true)
            hasAnswered = true
        }
        // The client's second packet is an echo that only its sender needs.
        take(Self.packetSize, input, &position)
    }

    private mutating func take(_ size: Int, _ input: Span<UInt8>, _ position: inout Int) {
        let taken = min(size - received.count, input.count - position)
        guard taken > 0 else { return }
        received.append(contentsOf: input.extracting(position..<position + taken))
        position += taken
    }

    /// Appends the server's first packet: a time of zero, version 0 and arbitrary bytes.
    private mutating func appendRandomPacket(to output: inout [UInt8]) {
        output += [UInt8](repeating: 0, count: 8)
        for _ in 0..<(Self.packetSize - 8) / 8 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            output.append(bigEndian: state ^ state >> 29)
        }
    }
}
