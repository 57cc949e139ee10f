import CLinux
import Glibc
import PCastMedia

/// The memory of one `recvmmsg` call, used again and again.
///
/// A message is one datagram, or several that came from one sender in a row (UDP_GRO): they lie one behind the other, and
/// are told apart where they lie. Each message has room for the longest that the kernel hands on, for it cuts off what does
/// not fit (IO10); memory that no message has reached takes none.
struct DatagramReceiver: ~Copyable {
    /// One datagram, until the next call of `receive`.
    struct Datagram {
        let bytes: UnsafeMutableRawBufferPointer
        let remote: TransportAddress

        /// The address that it was sent to (IO5); nil when the kernel did not say, as where the socket has no other.
        let local: IPAddress?

        /// When the kernel took it in (CC6), or the first of its message; nil when it did not say.
        let arrival: WallTime?

        /// Datagrams that the socket has lost since it was bound, as far as the kernel says (IO9).
        let drops: UInt32

        let isTruncated: Bool
    }

    /// What holds for all datagrams of a message.
    private struct Message {
        /// Nil when the sender's address cannot be read.
        var remote: TransportAddress?
        var local: IPAddress?
        var arrival: WallTime?
        var drops: UInt32 = 0
    }

    /// Where a datagram lies.
    private struct Place {
        var message: Int
        var offset: Int
        var length: Int
        var isTruncated: Bool
    }

    /// Messages in one call.
    static let batchSize = 32
    static let datagramSize = DatagramBatch.maximumDatagramSize
    private static let messageSize = 65_536
    /// From one message's memory to the next one's: at a power of two all of them would share a few places of the
    /// processor's caches.
    private static let stride = messageSize + 576
    private static let controlSize = 192

    private let data = UnsafeMutableRawBufferPointer.allocate(byteCount: batchSize * stride, alignment: 4096)
    private let control = UnsafeMutableRawBufferPointer.allocate(byteCount: batchSize * controlSize, alignment: 16)
    private let names = UnsafeMutableRawBufferPointer.allocate(
        byteCount: batchSize * SocketAddress.maximumSize, alignment: 16)
    private let vectors = UnsafeMutablePointer<iovec>.allocate(capacity: batchSize)
    private let headers = UnsafeMutablePointer<clinux_message>.allocate(capacity: batchSize)
    private var messages = [Message](repeating: Message(), count: batchSize)
    private var places: [Place] = []

    /// Messages of more than one datagram, and the datagrams in them, since the start.
    private(set) var coalescedMessages = 0
    private(set) var coalesced = 0

    /// Whether the last call filled the memory, so that more may wait.
    private(set) var isFull = false

    init() {
        for index in 0..<Self.batchSize {
            (vectors + index).initialize(
                to: iovec(iov_base: data.baseAddress! + index * Self.stride, iov_len: Self.messageSize))
            (headers + index).initialize(to: clinux_message())
            headers[index].header.msg_name = names.baseAddress! + index * SocketAddress.maximumSize
            headers[index].header.msg_iov = vectors + index
            headers[index].header.msg_iovlen = 1
            headers[index].header.msg_control = control.baseAddress! + index * Self.controlSize
        }
        places.reserveCapacity(4 * Self.batchSize)
    }

    deinit {
        headers.deallocate()
        vectors.deallocate()
        names.deallocate()
        control.deallocate()
        data.deallocate()
    }

    /// Takes up to `batchSize` messages from the socket; answers how many datagrams there were.
    mutating func receive(from socket: UDPSocket) -> Int {
        places.removeAll(keepingCapacity: true)
        let count = fill(from: socket)
        isFull = count == Self.batchSize
        for index in 0..<count { cut(index) }
        return places.count
    }

    private func fill(from socket: UDPSocket) -> Int {
        for index in 0..<Self.batchSize {
            headers[index].header.msg_namelen = socklen_t(SocketAddress.maximumSize)
            headers[index].header.msg_controllen = Self.controlSize
        }
        while true {
            let count = clinux_recvmmsg(socket.number, headers, UInt32(Self.batchSize), Int32(MSG_DONTWAIT), nil)
            if count >= 0 { return Int(count) }
            // An error that an earlier datagram met at its destination is reported once, here, and means nothing.
            if Errno.current == EAGAIN { return 0 }
            if Errno.current != EINTR, Errno.current != ECONNREFUSED { return 0 }
        }
    }

    /// Finds the datagrams of a message: all of one size, and the last one of that or less.
    private mutating func cut(_ index: Int) {
        let header = headers + index
        var arrival = clinux_arrival()
        clinux_read_arrival(&header.pointee.header, &arrival)
        messages[index] = Message(
            remote: SocketAddress.read(from: header.pointee.header.msg_name), local: Self.local(&arrival),
            arrival: arrival.realtime == 0 ? nil : WallTime(nanosecondsSinceEpoch: arrival.realtime),
            drops: arrival.drops)
        let length = min(Int(header.pointee.length), Self.messageSize)
        let size = arrival.segment_size > 0 ? Int(arrival.segment_size) : max(length, 1)
        let isCutOff = header.pointee.header.msg_flags & Int32(MSG_TRUNC) != 0
        let first = places.count
        var offset = 0
        repeat {
            let rest = min(size, length - offset)
            let isLast = offset + rest == length
            places.append(
                Place(
                    message: index, offset: offset, length: min(rest, Self.datagramSize),
                    isTruncated: rest > Self.datagramSize || (isCutOff && isLast)))
            offset += rest
        } while offset < length
        guard places.count - first > 1 else { return }
        coalescedMessages += 1
        coalesced += places.count - first
    }

    /// Nil when its sender's address cannot be read.
    func datagram(_ index: Int) -> Datagram? {
        let place = places[index]
        let message = messages[place.message]
        guard let remote = message.remote else { return nil }
        let start = place.message * Self.stride + place.offset
        return Datagram(
            bytes: UnsafeMutableRawBufferPointer(rebasing: data[start..<start + place.length]), remote: remote,
            local: message.local, arrival: message.arrival, drops: message.drops, isTruncated: place.isTruncated)
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
