import COpenSSL

/// What OpenSSL reads and writes: one datagram a call, where a memory BIO would glue them together (DTLS5).
final class DatagramBIO {
    /// The datagram to be read; it lies in the caller's memory while `OpenSSLHandshake` feeds it.
    var incoming: UnsafeRawBufferPointer?

    /// Whether what is written now is thrown away.
    var isMuted = false

    /// Datagrams written since they were taken last.
    private(set) var outgoing: [[UInt8]] = []

    /// More than a handshake's largest flight; further ones are dropped, and sent again with their flight.
    private static let outgoingLimit = 16

    func takeOutgoing() -> [[UInt8]] {
        defer { outgoing.removeAll() }
        return outgoing
    }

    fileprivate func write(_ bytes: UnsafeRawBufferPointer) {
        if !isMuted, outgoing.count < Self.outgoingLimit { outgoing.append(Array(bytes)) }
    }

    /// A BIO that refers to this object without keeping it alive; the `SSL` that it is given to frees it.
    func makeBIO() -> OpaquePointer? {
        guard let bio = BIO_new(Self.method) else { return nil }
        BIO_set_data(bio, Unmanaged.passUnretained(self).toOpaque())
        BIO_set_init(bio, 1)
        return bio
    }

    private static func of(_ bio: OpaquePointer?) -> DatagramBIO? {
        BIO_get_data(bio).map { Unmanaged<DatagramBIO>.fromOpaque($0).takeUnretainedValue() }
    }

    /// Made once and never changed.
    private nonisolated(unsafe) static let method: OpaquePointer? = {
        // BIO_TYPE_SOURCE_SINK and a number of our own.
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
            // Flushing succeeds; the path's size is what the handshake was told, and other questions have no answer.
            switch command {
            case BIO_CTRL_FLUSH: 1
            case BIO_CTRL_DGRAM_QUERY_MTU, BIO_CTRL_DGRAM_GET_FALLBACK_MTU: OpenSSLHandshake.datagramSize
            default: 0
            }
        }
        return method
    }()
}
