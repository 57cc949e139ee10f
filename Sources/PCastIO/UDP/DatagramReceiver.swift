import CLinux
import Glibc
import PCastCore

/// The reusable memory of a `recvmmsg` call.
///
/// A message is one datagram, or several consecutive ones of the same sender (`UDP_GRO`). These are stored one after
/// the other and are split in place. Each message has space for the largest one that the kernel delivers, because
/// longer ones would be truncated. Memory that was never written uses no physical pages.
struct DatagramReceiver: ~Copyable {
    /// A datagram, which is valid until the next call of `receive`.
    struct Datagram {
        let bytes: UnsafeMutableRawBufferPointer
        let remote: TransportAddress

        /// The destination address, from which the reply must be sent; nil if the kernel does not report it because the
        /// socket has only one.
        let local: IPAddress?

        /// The time at which the kernel received the datagram, or the first one of its message; nil if it is unknown.
        /// It excludes the time in the socket's buffer, which would falsify delay measurements.
        let arrival: WallTime?

        /// The number of datagrams that the socket has dropped since it was bound, as reported by the kernel
        /// (`SO_RXQ_OVFL`).
        let drops: UInt32

        let isTruncated: Bool
    }

    /// The properties that all datagrams of a message share.
    private struct Message {
        /// Nil if the family of the sender's address is unknown.
        var remote: TransportAddress?
        var local: IPAddress?
        var arrival: WallTime?
        var drops: UInt32 = 0
    }

    /// The position of a datagram.
    private struct DatagramRange {
        var message: Int
        var offset: Int
        var length: Int
        var isTruncated: Bool
    }

    /// The maximum number of messages of a call.
    static let batchSize = 32
    static let datagramSize = DatagramBatch.maximumDatagramSize
    private static let messageSize = 65_536
    /// The distance between the memory of two messages. With a power of two, all of them would share few sets of the
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
    private var ranges: [DatagramRange] = []

    /// The number of messages with several datagrams, and of the datagrams in them.
    private(set) var coalescedMessages = 0
    private(set) var coalesced = 0

    /// Whether the last call returned the maximum, so that more messages may be pending.
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
        ranges.reserveCapacity(4 * Self.batchSize)
    }

    deinit {
        headers.deallocate()
        vectors.deallocate()
        names.deallocate()
        control.deallocate()
        data.deallocate()
    }

    /// Receives up to `batchSize` messages from a socket. Returns the number of datagrams.
    mutating func receive(from socket: UDPSocket) -> Int {
        ranges.removeAll(keepingCapacity: true)
        let count = fill(from: socket)
        isFull = count == Self.batchSize
        for index in 0..<count { cut(index) }
        return ranges.count
    }

    private func fill(from socket: UDPSocket) -> Int {
        for index in 0..<Self.batchSize {
            headers[index].header.msg_namelen = socklen_t(SocketAddress.maximumSize)
            headers[index].header.msg_controllen = Self.controlSize
        }
        while true {
            let count = clinux_recvmmsg(socket.number, headers, UInt32(Self.batchSize), Int32(MSG_DONTWAIT), nil)
            if count >= 0 { return Int(count) }
            // An ICMP error of an earlier datagram is reported once, here, and is ignored.
            if Errno.current == EAGAIN { return 0 }
            if Errno.current != EINTR, Errno.current != ECONNREFUSED { return 0 }
        }
    }

    /// Splits a message into its datagrams. All have the same size, except that the last one may be shorter.
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
        let first = ranges.count
        var offset = 0
        repeat {
            let rest = min(size, length - offset)
            let isLast = offset + rest == length
            ranges.append(
                DatagramRange(
                    message: index, offset: offset, length: min(rest, Self.datagramSize),
                    isTruncated: rest > Self.datagramSize || (isCutOff && isLast)))
            offset += rest
        } while offset < length
        guard ranges.count - first > 1 else { return }
        coalescedMessages += 1
        coalesced += ranges.count - first
    }

    /// Returns a datagram of the last call; nil if its sender's address is unknown.
    func datagram(_ index: Int) -> Datagram? {
        let range = ranges[index]
        let message = messages[range.message]
        guard let remote = message.remote else { return nil }
        let start = range.message * Self.stride + range.offset
        return Datagram(
            bytes: UnsafeMutableRawBufferPointer(rebasing: data[start..<start + range.length]), remote: remote,
            local: message.local, arrival: message.arrival, drops: message.drops, isTruncated: range.isTruncated)
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
