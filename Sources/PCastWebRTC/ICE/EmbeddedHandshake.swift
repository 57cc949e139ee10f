import PCastCore

/// DTLS datagrams in the connectivity checks of a client, on the side of a lite agent (SPED,
/// draft-hancke-webrtc-sped-00).
///
/// The client's first request has its first flight, and the response has that of this side, so that the handshake takes
/// a round trip less. Each message acknowledges the datagrams that its sender has received by their CRC-32, and a sender
/// repeats what is not acknowledged in its next message.
///
/// A lite agent sends no requests. Therefore a response has one datagram of the flight at most, and the others, like all
/// retransmissions, are sent without a check: the path is valid, because its check was authenticated.
struct EmbeddedHandshake: Sendable {
    /// The maximum number of acknowledgements in a message (section 4 of the draft). The oldest one is dropped.
    static let acknowledgementLimit = 4

    /// The maximum size of an embedded datagram in bytes. With it, a response fits into the IPv6 minimum MTU.
    static let datagramLimit = 1_100

    /// The ICE options by which a client offers it: that of the draft, and those of libwebrtc.
    static let options = ["sped", "googspedv1", "goog-sped-v1"]

    /// The CRC-32 of the last datagrams that were received.
    private(set) var received: [UInt32] = []
    /// The datagrams of this side's last flight that the client has not acknowledged.
    private var flight: [[UInt8]] = []
    private var next = 0

    /// Records a received datagram. Returns false if it is a repetition.
    mutating func receive(_ datagram: ByteView) -> Bool {
        let checksum = CRC32.value(of: datagram)
        guard !received.contains(checksum) else { return false }
        if received.count == Self.acknowledgementLimit { received.removeFirst() }
        received.append(checksum)
        return true
    }

    /// Removes the datagrams that the client has received.
    ///
    /// - Parameters:
    ///   - range: The range of the acknowledgements.
    ///   - bytes: The message.
    mutating func acknowledge(_ range: Range<Int>, of bytes: Span<UInt8>) {
        guard !flight.isEmpty else { return }
        for offset in stride(from: range.lowerBound, to: range.upperBound, by: 4) {
            let checksum = bytes.bigEndian32(at: offset)
            flight.removeAll { $0.withByteView { CRC32.value(of: $0) } == checksum }
        }
    }

    /// Replaces the flight. Returns the datagrams that must be sent without a check.
    mutating func send(_ datagrams: [[UInt8]]) -> [[UInt8]] {
        guard !datagrams.isEmpty else { return [] }
        flight = datagrams.filter { $0.count <= Self.datagramLimit }
        next = 0
        let embedded = flight.first
        return datagrams.filter { $0 != embedded }
    }

    /// Returns the datagram for the next response; nil if all are acknowledged. All of them take turns.
    mutating func nextDatagram() -> [UInt8]? {
        guard !flight.isEmpty else { return nil }
        defer { next += 1 }
        return flight[next % flight.count]
    }

    /// Forgets the flight, because the client has shown that it has the keys.
    mutating func release() { flight = [] }
}
