import COpenSSL
import PCastCore

/// An OpenSSL BIO that reads and writes whole datagrams. A memory BIO would concatenate them.
///
/// Its pointers are safe for these reasons. The BIO belongs to an `SSL` whose owner also owns this object, and frees the
/// `SSL` first. OpenSSL states the sizes of its buffers, and they are valid during its calls. The owner sets
/// ``incoming`` only while the datagram is valid.
final class DatagramBIO {
    /// The datagram to read, in the caller's memory; nil if there is none.
    var incoming: ByteView?

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
    fileprivate func write(_ bytes: ByteView) {
        if !isMuted, outgoing.count < Self.outgoingLimit { outgoing.append(Array(bytes)) }
    }

    /// Returns a BIO with an unretained reference to this object. The `SSL` that receives the BIO frees it.
    func makeBIO() -> OpaquePointer? {
        guard let bio = unsafe BIO_new(Self.method) else { return nil }
        unsafe BIO_set_data(bio, Unmanaged.passUnretained(self).toOpaque())
        unsafe BIO_set_init(bio, 1)
        return unsafe bio
    }

    /// Returns the object of a BIO.
    private static func of(_ bio: OpaquePointer?) -> DatagramBIO? {
        unsafe BIO_get_data(bio).map { unsafe Unmanaged<DatagramBIO>.fromOpaque($0).takeUnretainedValue() }
    }

    /// The BIO method, which is created once and never changed.
    private nonisolated(unsafe) static let method: OpaquePointer? = {
        // The type is BIO_TYPE_SOURCE_SINK with a new index.
        let method = unsafe BIO_meth_new(BIO_get_new_index() | 0x0400, "datagram")
        unsafe BIO_meth_set_write(method) { bio, bytes, count in
            guard let owner = unsafe DatagramBIO.of(bio), let bytes = unsafe bytes, count > 0 else { return -1 }
            unsafe owner.write(ByteView(UnsafeRawBufferPointer(start: bytes, count: Int(count))))
            return count
        }
        unsafe BIO_meth_set_read(method) { bio, buffer, count in
            unsafe pcast_bio_clear_retry(bio)
            guard let owner = unsafe DatagramBIO.of(bio), let buffer = unsafe buffer, let incoming = owner.incoming
            else {
                unsafe pcast_bio_set_retry_read(bio)
                return -1
            }
            owner.incoming = nil
            let size = min(Int(count), incoming.count)
            unsafe MutableByteView(UnsafeMutableRawBufferPointer(start: buffer, count: size))
                .copyMemory(from: incoming.extracting(0..<size))
            return Int32(size)
        }
        unsafe BIO_meth_set_ctrl(method) { _, command, _, _ in
            // Flushing succeeds, the MTU is the configured datagram size, and other controls are not supported.
            switch command {
            case BIO_CTRL_FLUSH: 1
            case BIO_CTRL_DGRAM_QUERY_MTU, BIO_CTRL_DGRAM_GET_FALLBACK_MTU: OpenSSLHandshake.datagramSize
            default: 0
            }
        }
        return unsafe method
    }()
}
