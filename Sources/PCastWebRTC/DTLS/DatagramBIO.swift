import COpenSSL

/// An OpenSSL BIO that reads and writes whole datagrams. A memory BIO would concatenate them.
final class DatagramBIO {
    /// The datagram to read, in the caller's memory; nil if there is none.
    var incoming: UnsafeRawBufferPointer?

    /// Whether written datagrams are discarded.
    var isMuted = false

    /// The datagrams that were written since ``takeOutgoing()`` was last called.
    private(set) var outgoing: [[UInt8]] = []

    /// The maximum number of written datagrams, more than the largest flight has. Others are dropped, and are
    /// retransmitted with their flight.
    private static let outgoingLimit = 16

    /// Returns the written datagrams and clears them.
    func takeOutgoing() -> [[UInt8]] {
        defer { outgoing.removeAll() }
        return outgoing
    }

    /// Appends a datagram that OpenSSL writes.
    fileprivate func write(_ bytes: UnsafeRawBufferPointer) {
        if !isMuted, outgoing.count < Self.outgoingLimit { outgoing.append(Array(bytes)) }
    }

    /// Returns a BIO with an unretained reference to this object. The `SSL` that receives the BIO frees it.
    func makeBIO() -> OpaquePointer? {
        guard let bio = BIO_new(Self.method) else { return nil }
        BIO_set_data(bio, Unmanaged.passUnretained(self).toOpaque())
        BIO_set_init(bio, 1)
        return bio
    }

    /// Returns the object of a BIO.
    private static func of(_ bio: OpaquePointer?) -> DatagramBIO? {
        BIO_get_data(bio).map { Unmanaged<DatagramBIO>.fromOpaque($0).takeUnretainedValue() }
    }

    /// The BIO method, which is created once and never changed.
    private nonisolated(unsafe) static let method: OpaquePointer? = {
        // The type is BIO_TYPE_SOURCE_SINK with a new index.
        let method = BIO_meth_new(BIO_get_new_index() | 0x0400, "datagram")
        BIO_meth_set_write(method) { bio, bytes, count in
            guard let owner = DatagramBIO.of(bio), let bytes, count > 0 else { return -1 }
            owner.write(UnsafeRawBufferPointer(start: bytes, count: Int(count)))
            return count
        }
        BIO_meth_set_read(method) { bio, buffer, count in
            pcast_bio_clear_retry(bio)
            guard let owner = DatagramBIO.of(bio), let buffer, let incoming = owner.incoming else {
                pcast_bio_set_retry_read(bio)
                return -1
            }
            owner.incoming = nil
            let size = min(Int(count), incoming.count)
            UnsafeMutableRawBufferPointer(start: buffer, count: size)
                .copyMemory(from: UnsafeRawBufferPointer(rebasing: incoming[..<size]))
            return Int32(size)
        }
        BIO_meth_set_ctrl(method) { _, command, _, _ in
            // Flushing succeeds, the MTU is the configured datagram size, and other controls are not supported.
            switch command {
            case BIO_CTRL_FLUSH: 1
            case BIO_CTRL_DGRAM_QUERY_MTU, BIO_CTRL_DGRAM_GET_FALLBACK_MTU: OpenSSLHandshake.datagramSize
            default: 0
            }
        }
        return method
    }()
}
