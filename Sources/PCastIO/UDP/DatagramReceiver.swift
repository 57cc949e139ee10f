import CLinux
import Glibc
import PCastMedia

/// The memory of one `recvmmsg` call, used again and again.
struct DatagramReceiver: ~Copyable {
    /// One datagram, until the next call of `receive`.
    struct Datagram {
        let bytes: UnsafeMutableRawBufferPointer
        let remote: TransportAddress

        /// The address that it was sent to (IO5); nil when the kernel did not say.
        let local: IPAddress?

        /// When the kernel took it in (CC6); nil when it did not say.
        let arrival: WallTime?

        /// Datagrams that the socket has lost since it was bound, as far as the kernel says (IO9).
        let drops: UInt32

        let isTruncated: Bool
    }

    static let batchSize = 32
    static let datagramSize = DatagramBatch.maximumDatagramSize
    private static let controlSize = 192

    private let data = UnsafeMutableRawBufferPointer.allocate(byteCount: batchSize * datagramSize, alignment: 64)
    private let control = UnsafeMutableRawBufferPointer.allocate(byteCount: batchSize * controlSize, alignment: 16)
    private let names = UnsafeMutableRawBufferPointer.allocate(
        byteCount: batchSize * SocketAddress.maximumSize, alignment: 16)
    private let vectors = UnsafeMutablePointer<iovec>.allocate(capacity: batchSize)
    private let messages = UnsafeMutablePointer<clinux_message>.allocate(capacity: batchSize)

    init() {
        for index in 0..<Self.batchSize {
            (vectors + index).initialize(
                to: iovec(iov_base: data.baseAddress! + index * Self.datagramSize, iov_len: Self.datagramSize))
            (messages + index).initialize(to: clinux_message())
            messages[index].header.msg_name = names.baseAddress! + index * SocketAddress.maximumSize
            messages[index].header.msg_iov = vectors + index
            messages[index].header.msg_iovlen = 1
            messages[index].header.msg_control = control.baseAddress! + index * Self.controlSize
        }
    }

    deinit {
        messages.deallocate()
        vectors.deallocate()
        names.deallocate()
        control.deallocate()
        data.deallocate()
    }

    /// Takes up to `batchSize` datagrams from the socket; answers how many there were.
    mutating func receive(from socket: UDPSocket) -> Int {
        for index in 0..<Self.batchSize {
            messages[index].header.msg_namelen = socklen_t(SocketAddress.maximumSize)
            messages[index].header.msg_controllen = Self.controlSize
        }
        while true {
            let count = clinux_recvmmsg(socket.number, messages, UInt32(Self.batchSize), Int32(MSG_DONTWAIT), nil)
            if count >= 0 { return Int(count) }
            // An error that an earlier datagram met at its destination is reported once, here, and means nothing.
            if Errno.current == EAGAIN { return 0 }
            if Errno.current != EINTR, Errno.current != ECONNREFUSED { return 0 }
        }
    }

    /// Nil when its sender's address cannot be read.
    func datagram(_ index: Int) -> Datagram? {
        let message = messages + index
        guard let remote = SocketAddress.read(from: message.pointee.header.msg_name) else { return nil }
        var arrival = clinux_arrival()
        clinux_read_arrival(&message.pointee.header, &arrival)
        let start = index * Self.datagramSize
        let length = min(Int(message.pointee.length), Self.datagramSize)
        return Datagram(
            bytes: UnsafeMutableRawBufferPointer(rebasing: data[start..<start + length]), remote: remote,
            local: Self.local(&arrival),
            arrival: arrival.realtime == 0 ? nil : WallTime(nanosecondsSinceEpoch: arrival.realtime),
            drops: arrival.drops, isTruncated: message.pointee.header.msg_flags & Int32(MSG_TRUNC) != 0)
    }

    private static func local(_ arrival: inout clinux_arrival) -> IPAddress? {
        let family = arrival.local_family
        return withUnsafeBytes(of: &arrival.local) { bytes in
            switch family {
            case AF_INET: SocketAddress.readV4(bytes.baseAddress!)
            case AF_INET6: SocketAddress.readV6(bytes.baseAddress!)
            default: nil
            }
        }
    }
}
