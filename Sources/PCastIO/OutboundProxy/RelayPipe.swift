import CLinux
import Glibc
import PCastCore

/// Functions that forward bytes between two connections. They block the calling thread.
enum RelayPipe {
    private static let connectTimeout: Int32 = 8_000
    /// The maximum time without data in either direction in milliseconds, which exceeds the timeouts of the library.
    private static let silence: Int32 = 60_000
    private static let longestHead = 16_384

    /// Connects to an address; nil if the connection fails or takes more than 8 s.
    static func connect(to address: TransportAddress) -> Descriptor? {
        guard let socket = try? Descriptor.socket(address.ip.family, CLINUX_SOCK_STREAM) else { return nil }
        let answer = SocketAddress.with(address) { Glibc.connect(socket.number, $0, $1) }
        if answer != 0 {
            guard Errno.current == EINPROGRESS, wait(for: [(socket.number, POLLOUT)], connectTimeout) != nil,
                socket.get(SOL_SOCKET, SO_ERROR) == 0
            else { return nil }
        }
        socket.set(Int32(IPPROTO_TCP), TCP_NODELAY, 1)
        return socket
    }

    /// Reads the head of a request and the bytes after it; nil if the connection ends before, or the head is too long.
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

    /// Forwards bytes in both directions until a peer closes its connection. `silence` is the timeout in milliseconds;
    /// nil for none. `passes` returns whether bytes of the server may be forwarded. Returns false if it did not permit
    /// them.
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

    /// Returns received bytes; empty at the end of the stream, nil if the connection broke or the timeout was reached.
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

    /// Waits until a descriptor is readable. Returns false after the timeout.
    static func wait(reading descriptor: Int32, milliseconds: Int32) -> Bool {
        wait(for: [(descriptor, POLLIN)], milliseconds) != nil
    }

    /// Returns which of the descriptors are ready or broken; nil after the timeout.
    private static func wait(for wanted: [(Int32, Int32)], _ milliseconds: Int32) -> [Bool]? {
        var polled = wanted.map { pollfd(fd: $0.0, events: Int16($0.1), revents: 0) }
        let count = poll(&polled, nfds_t(polled.count), milliseconds)
        if count < 0, Errno.current == EINTR { return wait(for: wanted, milliseconds) }
        return count > 0 ? polled.map { $0.revents != 0 } : nil
    }
}
