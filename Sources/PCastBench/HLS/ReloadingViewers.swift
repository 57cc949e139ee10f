import CLinux
import Foundation
import Glibc
import PCastCore
import PCastIO

/// Viewers that only reload a media playlist, as players do at the live edge. All connections belong to one thread, which
/// does as little as possible for an answer, so that the server is measured and not the viewers.
struct ReloadingViewers: Sendable {
    /// The results of all viewers.
    struct Metrics: Sendable {
        /// The times from the first answer with a part to each other answer with it, in milliseconds.
        var delays: [Double] = []
        var failures = 0
    }

    private struct Answer {
        let part: HintedPart
        let moment: Instant
    }

    /// A viewer, whose connection is nil after a failure.
    private struct Viewer {
        var connection: Int32?
        var answers: [Answer] = []
        var received: [UInt8] = []
    }

    /// The address of the media playlist. Its host must be an IPv4 address.
    let uri: String
    let count: Int

    /// Runs all viewers for some seconds. The first two answers of each are left out, because viewers join one after the
    /// other.
    ///
    /// - Throws: `BenchFailure` if the address has no host, port and path.
    func run(seconds: Int) async throws -> Metrics {
        guard let address = URLComponents(string: uri), let host = address.host, let port = address.port,
            let port = UInt16(exactly: port)
        else { throw BenchFailure("\(uri) has no host and port") }
        let path = address.percentEncodedPath
        return await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                continuation.resume(returning: watch(host, port, path, for: .seconds(Int64(seconds))))
            }
        }
    }

    private func watch(_ host: String, _ port: UInt16, _ path: String, for duration: TimeSpan) -> Metrics {
        let end = MonotonicClock.now() + duration
        var viewers = (0..<count).map { _ in Viewer(connection: Self.connect(host, port)) }
        let poller = clinux_epoll_create()
        defer { close(poller) }
        let ready = UnsafeMutablePointer<clinux_event>.allocate(capacity: Int(CLINUX_EVENTS_PER_WAIT))
        defer { ready.deallocate() }
        for (index, viewer) in viewers.enumerated() {
            guard let connection = viewer.connection else { continue }
            clinux_epoll_control(poller, Int32(CLINUX_ADD), connection, UInt32(CLINUX_READABLE), UInt64(index))
            Self.request(path, host, on: connection)
        }
        var buffer = [UInt8](repeating: 0, count: 256 << 10)
        while MonotonicClock.now() < end {
            let events = clinux_epoll_wait(poller, ready, TimeSpan.milliseconds(100).nanoseconds)
            for event in 0..<max(0, Int(events)) {
                let index = Int(ready[event].token)
                guard let connection = viewers[index].connection else { continue }
                let size = recv(connection, &buffer, buffer.count, Int32(MSG_DONTWAIT))
                viewers[index].received += buffer[..<max(0, size)]
                let part = HintedPart.take(from: &viewers[index].received)
                guard size > 0, part != .some(nil) else {
                    close(connection)
                    viewers[index].connection = nil
                    continue
                }
                guard case .some(.some(let next)) = part else { continue }
                viewers[index].answers.append(Answer(part: next, moment: MonotonicClock.now()))
                Self.request(path + "?_HLS_msn=\(next.segment)&_HLS_part=\(next.index)", host, on: connection)
            }
        }
        for viewer in viewers { if let connection = viewer.connection { close(connection) } }
        return Self.metrics(viewers)
    }

    private static func metrics(_ viewers: [Viewer]) -> Metrics {
        var metrics = Metrics()
        metrics.failures = viewers.count { $0.connection == nil }
        let answers = viewers.map { $0.answers.dropFirst(2) }
        var first: [HintedPart: Instant] = [:]
        for answer in answers.joined() { first[answer.part] = min(first[answer.part] ?? answer.moment, answer.moment) }
        for answer in answers.joined() {
            guard let earliest = first[answer.part] else { continue }
            metrics.delays.append((answer.moment - earliest).seconds * 1_000)
        }
        return metrics
    }

    // MARK: Connections

    private static func connect(_ host: String, _ port: UInt16) -> Int32? {
        let connection = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard connection >= 0 else { return nil }
        var name = sockaddr_in()
        name.sin_family = sa_family_t(AF_INET)
        name.sin_port = port.bigEndian
        name.sin_addr.s_addr = inet_addr(host)
        let isConnected = withUnsafePointer(to: &name) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                Glibc.connect(connection, address, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        guard isConnected else {
            close(connection)
            return nil
        }
        return connection
    }

    /// Sends a request. If this fails, receiving fails, too.
    private static func request(_ target: String, _ host: String, on connection: Int32?) {
        guard let connection else { return }
        let bytes = Array("GET \(target) HTTP/1.1\r\nHost: \(host)\r\n\r\n".utf8)
        _ = send(connection, bytes, bytes.count, Int32(MSG_NOSIGNAL))
    }
}

/// The part that a media playlist announces: the number of its segment and its index.
struct HintedPart: Hashable, Sendable {
    let segment: Int64
    let index: Int64

    private static let headEnd = Array("\r\n\r\n".utf8)
    private static let success = Array("HTTP/1.1 200".utf8)
    private static let length = Array("content-length:".utf8)
    private static let hint = Array("TYPE=PART,URI=\"".utf8)

    init(segment: Int64, index: Int64) { (self.segment, self.index) = (segment, index) }

    /// Removes a complete response with a playlist from received bytes.
    ///
    /// - Returns: The part that the playlist announces. Nil if the response is not complete yet, and `.some(nil)` if it is
    ///   no such response.
    static func take(from bytes: inout [UInt8]) -> HintedPart?? {
        guard let headSize = headSize(bytes) else { return nil }
        guard bytes.starts(with: success), let size = contentLength(bytes[..<headSize]) else { return .some(nil) }
        let end = headSize + headEnd.count + size
        guard bytes.count >= end else { return nil }
        let part = HintedPart(hintIn: bytes[(headSize + headEnd.count)..<end])
        if bytes.count == end { bytes.removeAll(keepingCapacity: true) } else { bytes.removeFirst(end) }
        return .some(part)
    }

    /// Returns the size of the head before its empty line; nil if it is not complete.
    private static func headSize(_ bytes: [UInt8]) -> Int? {
        bytes.withUnsafeBytes { buffer in
            var index = 0
            while index + headEnd.count <= buffer.count {
                if buffer[index] == headEnd[0], buffer[index...].starts(with: headEnd) { return index }
                index += 1
            }
            return nil
        }
    }

    private static func contentLength(_ head: ArraySlice<UInt8>) -> Int? {
        var start = head.startIndex
        while start + length.count <= head.endIndex {
            let line = head[start...]
            if line.first.map({ $0 | 0x20 }) == length[0], zip(line, length).allSatisfy({ $0 | 0x20 == $1 | 0x20 }) {
                let digits = line.dropFirst(length.count).drop { $0 == UInt8(ascii: " ") }
                    .prefix { $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }
                return Int(String(decoding: digits, as: UTF8.self))
            }
            guard let end = line.firstIndex(of: UInt8(ascii: "\n")) else { return nil }
            start = end + 1
        }
        return nil
    }

    /// Finds the next part in the preload hint of a playlist, which is near its end; nil if there is none.
    init?(hintIn playlist: ArraySlice<UInt8>) {
        let first = UInt8(ascii: "T")
        var rest = playlist
        while let start = rest.lastIndex(of: first) {
            if playlist[start...].starts(with: Self.hint) {
                let uri = playlist[(start + Self.hint.count)...].prefix { $0 != UInt8(ascii: "\"") }
                let name = uri.split(separator: UInt8(ascii: "-")).last ?? []
                let fields = name.split(separator: UInt8(ascii: ".")).map { String(decoding: $0, as: UTF8.self) }
                guard fields.count == 3, let segment = Int64(fields[0]), let index = Int64(fields[1]) else {
                    return nil
                }
                self.init(segment: segment, index: index)
                return
            }
            rest = rest[..<start]
        }
        return nil
    }
}
