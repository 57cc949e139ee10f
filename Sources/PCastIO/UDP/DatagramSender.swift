import CLinux
import Glibc
import PCastCore

/// Sends batches of datagrams. Adjacent datagrams of one path become one message that the kernel splits
/// (`UDP_SEGMENT`), and one `sendmmsg` call sends many messages.
struct DatagramSender: ~Copyable {
    /// The counters since the start.
    struct Counts {
        var sent = 0
        var errors = 0
        var tooLarge = 0
        var dropped = 0
        var segmentedMessages = 0
        var segments = 0
        var segmentationRefusals = 0
    }

    /// The kernel's limit of segments in a message (`UDP_MAX_SEGMENTS`). The writer of the batch limits the burst for
    /// each peer.
    static let maximumSegments = 64

    /// The maximum payload of a message in bytes. The limit of IPv4 is 65,507, and that of IPv6 is a little higher.
    private static let maximumMessageSize = 65_000
    private static let messageCapacity = 64
    private static let controlSize = Int(CLINUX_CONTROL_SIZE)

    /// The time in milliseconds to wait for a full socket, once per batch. After that the rest of the batch is dropped.
    private static let timeout: Int32 = 1

    private let control = UnsafeMutableRawBufferPointer.allocate(
        byteCount: messageCapacity * controlSize, alignment: 16)
    private let names = UnsafeMutableRawBufferPointer.allocate(
        byteCount: messageCapacity * SocketAddress.maximumSize, alignment: 16)
    private let vectors = UnsafeMutablePointer<iovec>.allocate(capacity: messageCapacity)
    private let messages = UnsafeMutablePointer<clinux_message>.allocate(capacity: messageCapacity)
    private let runs = UnsafeMutablePointer<GSOBatch>.allocate(capacity: messageCapacity)
    private var pending = 0
    private var hasWaited = false
    private var routes = GSOSupport()
    private let fault: Fault?

    private(set) var counts = Counts()

    /// A simulated error of the kernel, for tests.
    enum Fault {
        /// Each segmented message fails with this error number.
        case segmentation(errno: Int32)
    }

    init(fault: Fault? = nil) {
        self.fault = fault
        control.initializeMemory(as: UInt8.self, repeating: 0)
        for index in 0..<Self.messageCapacity {
            (vectors + index).initialize(to: iovec())
            (messages + index).initialize(to: clinux_message())
            messages[index].header.msg_name = names.baseAddress! + index * SocketAddress.maximumSize
            messages[index].header.msg_iov = vectors + index
            messages[index].header.msg_iovlen = 1
            messages[index].header.msg_control = control.baseAddress! + index * Self.controlSize
        }
    }

    deinit {
        runs.deallocate()
        messages.deallocate()
        vectors.deallocate()
        names.deallocate()
        control.deallocate()
    }

    /// Sends the UDP datagrams of the batch, each from the socket with its local address. A datagram that cannot be
    /// sent is counted and dropped.
    mutating func send(_ batch: borrowing DatagramBatch, over sockets: [UDPSocket], at now: Instant) {
        hasWaited = false
        var index = 0
        var current: UDPSocket?
        var local: TransportAddress?
        while index < batch.count {
            let path = batch[index].path
            guard path.transport == .udp else {
                index += 1
                continue
            }
            let run = GSOBatch(
                in: batch, from: index, limit: routes.allowsSegmentation(on: path, at: now) ? Self.maximumSegments : 1,
                byteLimit: Self.maximumMessageSize)
            index += run.count
            if path.local != local {
                guard let socket = sockets.first(where: { $0.canSend(from: path.local) }) else {
                    counts.errors += run.count
                    continue
                }
                if let current, current !== socket { flush(current, at: now) }
                current = socket
                local = path.local
            }
            if pending == Self.messageCapacity { flush(current!, at: now) }
            append(run, from: batch, to: current!)
        }
        if let current { flush(current, at: now) }
    }

    private mutating func append(_ run: GSOBatch, from batch: borrowing DatagramBatch, to socket: UDPSocket) {
        let index = pending
        pending += 1
        (runs + index).initialize(to: run)
        vectors[index] = iovec(iov_base: batch.memory.baseAddress! + run.offset, iov_len: run.byteCount)
        let message = messages + index
        message.pointee.header.msg_namelen = SocketAddress.write(run.path.remote, into: message.pointee.header.msg_name)
        let sourceSize = writeSource(run.path.local.ip, of: socket, at: index)
        message.pointee.header.msg_controllen = sourceSize + writeSegmentSize(run, at: index, after: sourceSize)
    }

    private func controlMemory(_ index: Int) -> UnsafeMutablePointer<UInt8> {
        (control.baseAddress! + index * Self.controlSize).assumingMemoryBound(to: UInt8.self)
    }

    /// Writes the source address of a message, so that a reply leaves from the address to which the request was sent.
    /// It is not necessary for a socket with only one address. Returns the size of the control message.
    private func writeSource(_ ip: IPAddress, of socket: UDPSocket, at index: Int) -> Int {
        if ip.isUnspecified || ip == socket.address.ip { return 0 }
        if let v4 = ip.v4 { return clinux_put_source4(controlMemory(index), v4.bigEndian) }
        return withUnsafeTemporaryAllocation(byteCount: 16, alignment: 8) { bytes in
            SocketAddress.write(v6: ip, into: bytes.baseAddress!)
            return clinux_put_source6(
                controlMemory(index), bytes.baseAddress!.assumingMemoryBound(to: UInt8.self))
        }
    }

    private func writeSegmentSize(_ run: GSOBatch, at index: Int, after offset: Int) -> Int {
        run.count > 1 ? clinux_put_segment_size(controlMemory(index) + offset, UInt16(run.segmentSize)) : 0
    }

    /// Sends all pending messages. `sendmmsg` stops at the first message that fails and only reports the error if it is
    /// the first of the call. Therefore sending resumes with that message, and only the failed one is skipped.
    private mutating func flush(_ socket: UDPSocket, at now: Instant) {
        var first = 0
        while first < pending {
            let accepted = transmit(socket, from: first)
            if accepted > 0 {
                for index in first..<first + accepted { countSent(runs[index]) }
                first += accepted
                continue
            }
            switch Errno.current {
            case EINTR: continue
            case EAGAIN, ENOBUFS:
                if waitOnce(for: socket) { continue }
                for index in first..<pending { counts.dropped += runs[index].count }
                first = pending
            case let error:
                skip(first, failedWith: error, on: socket, at: now)
                first += 1
            }
        }
        pending = 0
    }

    private mutating func transmit(_ socket: UDPSocket, from first: Int) -> Int {
        var end = pending
        if case .segmentation(let number) = fault,
            let refused = (first..<pending).first(where: { runs[$0].count > 1 })
        {
            errno = number
            if refused == first { return -1 }
            end = refused
        }
        return Int(
            clinux_sendmmsg(
                socket.number, messages + first, UInt32(end - first), Int32(MSG_NOSIGNAL)))
    }

    /// Waits for a full send buffer once per batch. It empties within microseconds if the link works.
    private mutating func waitOnce(for socket: UDPSocket) -> Bool {
        if hasWaited { return false }
        hasWaited = true
        return socket.waitUntilWritable(milliseconds: Self.timeout)
    }

    private mutating func countSent(_ run: GSOBatch) {
        counts.sent += run.count
        if run.count > 1 {
            counts.segmentedMessages += 1
            counts.segments += run.count
        }
    }

    /// Handles a failed message. If it was segmented, its datagrams are sent individually. EIO and EINVAL are errors of
    /// drivers, tunnels and old kernels that do not support segmentation, so the route does not use it for a while. A
    /// datagram that exceeds the MTU is sent in fragments, because that is no sign of congestion. Other errors concern
    /// the destination only.
    private mutating func skip(_ index: Int, failedWith error: Int32, on socket: UDPSocket, at now: Instant) {
        let run = runs[index]
        if error == EMSGSIZE || run.count > 1 && (error == EIO || error == EINVAL) {
            if error != EMSGSIZE {
                counts.segmentationRefusals += 1
                routes.refuseSegmentation(on: run.path, at: now)
            }
            sendSingly(index, on: socket)
        } else {
            counts.errors += run.count
        }
    }

    private func sendOne(_ message: UnsafeMutablePointer<clinux_message>, on socket: UDPSocket) -> Bool {
        sendmsg(socket.number, &message.pointee.header, Int32(MSG_NOSIGNAL)) >= 0
    }

    private mutating func sendSingly(_ index: Int, on socket: UDPSocket) {
        let run = runs[index]
        let header = messages + index
        header.pointee.header.msg_controllen = writeSource(run.path.local.ip, of: socket, at: index)
        let start = vectors[index].iov_base!
        var offset = 0
        while offset < run.byteCount {
            let size = min(run.segmentSize, run.byteCount - offset)
            vectors[index] = iovec(iov_base: start + offset, iov_len: size)
            if sendOne(header, on: socket) {
                counts.sent += 1
            } else {
                switch Errno.current {
                case EINTR: continue
                case EMSGSIZE where socket.allowingFragments({ sendOne(header, on: socket) }): counts.sent += 1
                case EAGAIN, ENOBUFS:
                    if waitOnce(for: socket) { continue }
                    counts.dropped += 1
                case EMSGSIZE: counts.tooLarge += 1
                default: counts.errors += 1
                }
            }
            offset += size
        }
    }
}

/// Adjacent datagrams of a batch that one GSO message can carry. They have the same path and size, except that the last
/// one may be shorter (`UDP_SEGMENT`, udp(7)).
struct GSOBatch {
    let path: NetworkPath
    let offset: Int
    let segmentSize: Int
    private(set) var byteCount: Int
    private(set) var count = 1

    /// Creates a run that begins with entry `first` and has at most `limit` datagrams and `byteLimit` bytes.
    init(in batch: borrowing DatagramBatch, from first: Int, limit: Int, byteLimit: Int) {
        let entry = batch[first]
        path = entry.path
        offset = entry.offset
        segmentSize = entry.length
        byteCount = entry.length
        // An empty datagram has no segment size.
        guard entry.length > 0 else { return }
        while count < limit, first + count < batch.count {
            guard let length = batch.lengthOfMore(first + count), length > 0, length <= segmentSize,
                byteCount + length <= byteLimit
            else { return }
            byteCount += length
            count += 1
            if length < segmentSize { return }
        }
    }
}

/// The routes on which the kernel refused segmentation (`UDP_SEGMENT`), each until the next attempt.
///
/// A refusal depends on the interface or tunnel of the route, and may occur after segmentation has worked.
struct GSOSupport {
    private struct Route: Hashable {
        let local: IPAddress
        let remote: IPAddress
    }

    /// The maximum number of routes. Beyond it, one is forgotten and costs another refusal.
    static let capacity = 1024

    static let retryInterval = TimeSpan.seconds(60)

    private var retries: [Route: Instant] = [:]

    func allowsSegmentation(on path: NetworkPath, at now: Instant) -> Bool {
        if retries.isEmpty { return true }
        guard let retry = retries[Route(local: path.local.ip, remote: path.remote.ip)] else { return true }
        return now >= retry
    }

    mutating func refuseSegmentation(on path: NetworkPath, at now: Instant) {
        if retries.count >= Self.capacity {
            retries = retries.filter { $0.value > now }
            if retries.count >= Self.capacity, let any = retries.keys.first { retries[any] = nil }
        }
        retries[Route(local: path.local.ip, remote: path.remote.ip)] = now + Self.retryInterval
    }

    var count: Int { retries.count }
}
