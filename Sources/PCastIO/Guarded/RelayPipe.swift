import CLinux
import Glibc
import PCastMedia

/// Bytes between two connections, moved by a thread that may wait.
enum RelayPipe {
    private static let connectPatience: Int32 = 8_000
    /// Nothing goes either way for so long: the library that reads has given up long before.
    private static let silence: Int32 = 60_000
    private static let longestHead = 16_384

    /// Nil when nothing answers there.
    static func connect(to address: TransportAddress) -> Descriptor? {
        guard let socket = try? Descriptor.socket(address.ip.family, CLINUX_SOCK_STREAM) else { return nil }
        let answer = SocketAddress.with(address) { Glibc.connect(socket.number, $0, $1) }
        if answer != 0 {
            guard Errno.current == EINPROGRESS, wait(for: [(socket.number, POLLOUT)], connectPatience) != nil,
                socket.get(SOL_SOCKET, SO_ERROR) == 0
            else { return nil }
        }
        socket.set(Int32(IPPROTO_TCP), TCP_NODELAY, 1)
        return socket
    }

    /// The head of a request, and what came behind it; nil when none comes.
    static func readHead(_ client: Descriptor) -> (head: String, rest: [UInt8])? {
        var bytes: [UInt8] = []
        let end = Array("\r\n\r\n".utf8)
        while bytes.count < longestHead {
            guard let more = read(client), !more.isEmpty else { return nil }
            bytes += more
            if let range = bytes.firstRange(of: end) {
                return (String(decoding: bytes[..<range.lowerBound], as: UTF8.self), Array(bytes[range.upperBound...]))
            }
        }
        return nil
    }

    /// Moves bytes both ways until one side has nothing more to say.
    ///
    /// - Parameters:
    ///   - silence: after which it ends, in milliseconds; nil for never.
    ///   - passes: what goes on to the client of what the server said; nil for nothing any more.
    /// - Returns: false when it was cut for that.
    static func run(
        _ client: Descriptor, _ server: Descriptor, silence: Int32? = RelayPipe.silence, passes: ([UInt8]) -> [UInt8]?
    ) -> Bool {
        while let ready = wait(for: [(client.number, POLLIN), (server.number, POLLIN)], silence ?? -1) {
            if ready[0] {
                guard let bytes = read(client), !bytes.isEmpty, write(bytes, to: server) else { return true }
            }
            if ready[1] {
                guard let bytes = read(server), !bytes.isEmpty else { return true }
                guard let passed = passes(bytes) else { return false }
                guard write(passed, to: client) else { return true }
            }
        }
        return true
    }

    static func write(_ bytes: [UInt8], to descriptor: Descriptor) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                send(descriptor.number, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            if count > 0 {
                rest = rest.dropFirst(count)
            } else if Errno.current == EAGAIN {
                guard wait(for: [(descriptor.number, POLLOUT)], silence) != nil else { return false }
            } else if Errno.current != EINTR {
                return false
            }
        }
        return true
    }

    /// Empty at the end; nil when the connection broke or nothing came.
    static func read(_ descriptor: Descriptor) -> [UInt8]? {
        var count = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: 65_536) { buffer, initialized in
            while true {
                count = recv(descriptor.number, buffer.baseAddress, buffer.count, 0)
                if count >= 0 { break }
                if Errno.current == EINTR { continue }
                guard Errno.current == EAGAIN, wait(for: [(descriptor.number, POLLIN)], silence) != nil else { break }
            }
            initialized = max(0, count)
        }
        return count < 0 ? nil : bytes
    }

    /// Whether something can be read within the time.
    static func wait(reading descriptor: Int32, milliseconds: Int32) -> Bool {
        wait(for: [(descriptor, POLLIN)], milliseconds) != nil
    }

    /// Which of them are ready, or broken; nil when none is in time.
    private static func wait(for wanted: [(Int32, Int32)], _ milliseconds: Int32) -> [Bool]? {
        var polled = wanted.map { pollfd(fd: $0.0, events: Int16($0.1), revents: 0) }
        let count = poll(&polled, nfds_t(polled.count), milliseconds)
        if count < 0, Errno.current == EINTR { return wait(for: wanted, milliseconds) }
        return count > 0 ? polled.map { $0.revents != 0 } : nil
    }
}
