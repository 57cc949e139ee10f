import PCastCore

/// An IPv4 packet (RFC 791) that carries UDP or TCP.
struct IPPacket: Sendable {
    enum TransportProtocol: UInt8 { case tcp = 6, udp = 17 }

    private(set) var bytes: [UInt8]
    private let headerSize: Int

    /// Creates a packet; nil if the bytes are not an IPv4 packet.
    init?(_ bytes: [UInt8]) {
        guard bytes.count >= 20, bytes[0] >> 4 == 4, case let size = Int(bytes[0] & 15) * 4, size >= 20,
            bytes.count >= size + 8
        else { return nil }
        self.bytes = bytes
        headerSize = size
    }

    /// The transport protocol; nil for other protocols and for all fragments except the first, which have no ports.
    var transport: TransportProtocol? {
        word(6) & 0x1FFF == 0 ? TransportProtocol(rawValue: bytes[9]) : nil
    }

    /// Whether the packet is a fragment of a larger packet.
    var isFragment: Bool { word(6) & 0x3FFF != 0 }

    var source: TransportAddress {
        get { TransportAddress(ip: address(12), port: word(headerSize)) }
        set { rewrite(newValue, addressAt: 12, portAt: headerSize) }
    }

    var destination: TransportAddress {
        get { TransportAddress(ip: address(16), port: word(headerSize + 2)) }
        set { rewrite(newValue, addressAt: 16, portAt: headerSize + 2) }
    }

    private func word(_ offset: Int) -> UInt16 { UInt16(bytes[offset]) << 8 | UInt16(bytes[offset + 1]) }

    private func address(_ offset: Int) -> IPAddress {
        IPAddress(v4: UInt32(word(offset)) << 16 | UInt32(word(offset + 2)))
    }

    /// Replaces an address and port and updates the checksums (RFC 1624, equation 3). A UDP checksum of zero means that
    /// there is none (RFC 768).
    private mutating func rewrite(_ new: TransportAddress, addressAt: Int, portAt: Int) {
        guard let transport, let ip = new.ip.v4 else { return }
        let words = [
            (addressAt, UInt16(ip >> 16)), (addressAt + 2, UInt16(truncatingIfNeeded: ip)), (portAt, new.port),
        ]
        let sumAt = headerSize + (transport == .udp ? 6 : 16)
        for (offset, value) in words {
            let old = word(offset)
            if offset != portAt { adjust(10, old, value) }
            if transport == .tcp || word(sumAt) != 0 { adjust(sumAt, old, value) }
            put(value, at: offset)
        }
    }

    private mutating func adjust(_ offset: Int, _ old: UInt16, _ new: UInt16) {
        var sum = UInt32(~word(offset)) + UInt32(~old) + UInt32(new)
        while sum >> 16 != 0 { sum = sum & 0xFFFF + sum >> 16 }
        put(~UInt16(sum), at: offset)
    }

    private mutating func put(_ value: UInt16, at offset: Int) {
        bytes[offset] = UInt8(value >> 8)
        bytes[offset + 1] = UInt8(truncatingIfNeeded: value)
    }
}
