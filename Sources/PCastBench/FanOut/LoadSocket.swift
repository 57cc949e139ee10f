import CLinux
import Glibc
import PCastCore
import PCastIO

/// A socket for many peers. It is bound to a port at all addresses of this machine. The loopback network has millions
/// of addresses, so that each peer has its own, and one batch contains datagrams for many peers.
///
/// Datagrams that were sent as one message are received as one (UDP_GRO), which is the cheapest way to receive.
final class LoadSocket {
    /// The datagrams of one message, valid until the next call of `receive`.
    struct Arrival {
        let bytes: UnsafeMutableRawBufferPointer
        /// The size of each datagram except the last, which may be smaller.
        let segmentSize: Int
        let path: NetworkPath
        /// The time at which the kernel received it.
        let time: WallTime?
        /// The number of datagrams that the socket has lost since it was bound (SO_RXQ_OVFL).
        let drops: UInt32
    }

    private static let batchSize = 64
    private static let messageSize = 65_536
    private static let controlSize = 256
    /// The option UDP_GRO of linux/udp.h, at the level SOL_UDP.
    private static let segmentation: Int32 = 104
    /// The size of the receive buffer. It holds the packets of a frame for thousands of viewers while they are
    /// decrypted.
    private static let buffer: Int32 = 512 << 20

    let number: Int32
    let port: UInt16
    private let memory = UnsafeMutableRawPointer.allocate(byteCount: batchSize * messageSize, alignment: 64)
    private let control = UnsafeMutableRawPointer.allocate(byteCount: batchSize * controlSize, alignment: 16)
    private let names = UnsafeMutablePointer<sockaddr_in>.allocate(capacity: batchSize)
    private let vectors = UnsafeMutablePointer<iovec>.allocate(capacity: batchSize)
    private let messages = UnsafeMutablePointer<clinux_message>.allocate(capacity: batchSize)
    private(set) var unsent = 0

    init() throws {
        let number = socket(AF_INET, Int32(CLINUX_SOCK_DGRAM | CLINUX_SOCK_NONBLOCK | CLINUX_SOCK_CLOEXEC), 0)
        guard number >= 0 else { throw Self.failure("socket") }
        self.number = number
        for index in 0..<Self.batchSize {
            (names + index).initialize(to: sockaddr_in())
            (vectors + index).initialize(to: iovec())
            (messages + index).initialize(to: clinux_message())
        }
        control.initializeMemory(as: UInt8.self, repeating: 0, count: Self.batchSize * Self.controlSize)
        var name = sockaddr_in()
        name.sin_family = sa_family_t(AF_INET)
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &name) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(number, address, size) == 0 && getsockname(number, address, &size) == 0
            }
        }
        guard isBound else { throw Self.failure("bind") }
        port = UInt16(bigEndian: name.sin_port)
        if !set(SOL_SOCKET, Int32(CLINUX_SO_RCVBUFFORCE), Self.buffer) { set(SOL_SOCKET, SO_RCVBUF, Self.buffer) }
        if !set(SOL_SOCKET, Int32(CLINUX_SO_SNDBUFFORCE), 8 << 20) { set(SOL_SOCKET, SO_SNDBUF, 8 << 20) }
        set(Int32(IPPROTO_IP), IP_PKTINFO, 1)
        set(SOL_SOCKET, Int32(CLINUX_SO_RXQ_OVFL), 1)
        set(SOL_SOCKET, Int32(CLINUX_SO_TIMESTAMPNS), 1)
        guard set(Int32(CLINUX_SOL_UDP), Self.segmentation, 1) else { throw Self.failure("UDP_GRO") }
    }

    deinit {
        close(number)
        memory.deallocate()
        control.deallocate()
        names.deallocate()
        vectors.deallocate()
        messages.deallocate()
    }

    @discardableResult
    private func set(_ level: Int32, _ option: Int32, _ value: Int32) -> Bool {
        var value = value
        return setsockopt(number, level, option, &value, socklen_t(MemoryLayout<Int32>.size)) == 0
    }

    private static func failure(_ call: String) -> BenchFailure {
        BenchFailure("\(call) failed: \(String(cString: strerror(errno)))")
    }

    private func prepare(_ index: Int, bytes: UnsafeMutableRawPointer, count: Int, controlSize: Int) {
        vectors[index] = iovec(iov_base: bytes, iov_len: count)
        messages[index].header.msg_iov = vectors + index
        messages[index].header.msg_iovlen = 1
        messages[index].header.msg_name = UnsafeMutableRawPointer(names + index)
        messages[index].header.msg_namelen = socklen_t(MemoryLayout<sockaddr_in>.size)
        messages[index].header.msg_control = control + index * Self.controlSize
        messages[index].header.msg_controllen = controlSize
    }

    // MARK: Receiving

    /// Receives up to 64 messages and returns their number.
    func receive() -> Int {
        for index in 0..<Self.batchSize {
            prepare(
                index, bytes: memory + index * Self.messageSize, count: Self.messageSize,
                controlSize: Self.controlSize)
        }
        return max(0, Int(clinux_recvmmsg(number, messages, UInt32(Self.batchSize), Int32(MSG_DONTWAIT), nil)))
    }

    func arrival(_ index: Int) -> Arrival {
        let length = Int(messages[index].length)
        var arrival = clinux_arrival()
        clinux_read_arrival(&messages[index].header, &arrival)
        let segment = segmentSize(of: index)
        let local = withUnsafeBytes(of: &arrival.local) { UInt32(bigEndian: $0.loadUnaligned(as: UInt32.self)) }
        return Arrival(
            bytes: UnsafeMutableRawBufferPointer(start: memory + index * Self.messageSize, count: length),
            segmentSize: segment > 0 ? segment : max(1, length),
            path: NetworkPath(
                local: TransportAddress(ip: IPAddress(v4: local), port: port), remote: Self.address(names[index])),
            time: arrival.realtime == 0 ? nil : WallTime(nanosecondsSinceEpoch: arrival.realtime),
            drops: arrival.drops)
    }

    /// Returns the size of the datagrams that the kernel has merged; 0 for a single one. A control message starts with
    /// its length, level and type, and is aligned to eight bytes (cmsg(3)).
    private func segmentSize(of index: Int) -> Int {
        let start = UnsafeRawPointer(control + index * Self.controlSize)
        let end = Int(messages[index].header.msg_controllen)
        var offset = 0
        while offset + 16 <= end {
            let length = start.load(fromByteOffset: offset, as: Int.self)
            guard length >= 16 else { return 0 }
            if start.load(fromByteOffset: offset + 8, as: Int32.self) == Int32(CLINUX_SOL_UDP),
                start.load(fromByteOffset: offset + 12, as: Int32.self) == Self.segmentation
            {
                return Int(start.load(fromByteOffset: offset + 16, as: Int32.self))
            }
            offset += (length + 7) & ~7
        }
        return 0
    }

    private static func address(_ name: sockaddr_in) -> TransportAddress {
        TransportAddress(
            ip: IPAddress(v4: UInt32(bigEndian: name.sin_addr.s_addr)), port: UInt16(bigEndian: name.sin_port))
    }

    // MARK: Sending

    /// Sends a batch, each datagram from the local address of its path.
    func send(_ batch: borrowing DatagramBatch) {
        var index = 0
        while index < batch.count {
            let count = min(Self.batchSize, batch.count - index)
            for offset in 0..<count { prepare(batch[index + offset], of: batch, at: offset) }
            transmit(count)
            index += count
        }
    }

    private func prepare(_ entry: DatagramBatch.Entry, of batch: borrowing DatagramBatch, at index: Int) {
        names[index].sin_family = sa_family_t(AF_INET)
        names[index].sin_port = entry.path.remote.port.bigEndian
        names[index].sin_addr.s_addr = (entry.path.remote.ip.v4 ?? 0).bigEndian
        let memory = (control + index * Self.controlSize).assumingMemoryBound(to: UInt8.self)
        prepare(
            index, bytes: batch.memory.baseAddress! + entry.offset, count: entry.length,
            controlSize: clinux_put_source4(memory, (entry.path.local.ip.v4 ?? 0).bigEndian))
    }

    private func transmit(_ count: Int) {
        var first = 0
        while first < count {
            let sent = clinux_sendmmsg(number, messages + first, UInt32(count - first), Int32(MSG_NOSIGNAL))
            if sent < 0, errno == EINTR { continue }
            if sent < 0 { unsent += 1 }
            first += max(1, Int(sent))
        }
    }
}
