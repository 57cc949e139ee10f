import Foundation
import Glibc
import PCastCore
import PCastIO
import Synchronization

/// A web server of one test on a loopback port. It simulates failures of networks and servers: delays, low rates,
/// truncation, endless bodies and redirects. Each connection has a thread.
final class TestOrigin: Sendable {
    struct Request: Sendable {
        var path: String
        var query: [String: String]
        /// The requested range; the end is that of the last byte.
        var range: (first: Int, last: Int?)?
        /// The header fields by their lowercase names.
        var fields: [String: String] = [:]
    }

    struct Answer: Sendable {
        /// The way in which the head is sent.
        enum Head { case whole, endless, dripping }

        var status = 200
        var head = Head.whole
        var headers: [String: String] = [:]
        /// The length of the body that the head states if it is wrong; nil if it is right.
        var claimedLength: Int?
        /// Whether a request for a range is answered with the range.
        var hasRanges = true
        var body: [UInt8] = []
        /// The number of body bytes after which the connection ends; nil for none.
        var cutAfter: Int?
        /// After so much of the body nothing more is sent, and the connection stays open.
        var hangsAfter: Int?
        /// The bytes per second; nil for no limit.
        var bytesPerSecond: Int?
        /// The number of body bytes that are sent at once nevertheless.
        var burst = 0
        /// Whether the head states no length, so that the body ends with the connection.
        var endsWithConnection = false
        /// Whether the body is repeated endlessly.
        var isEndless = false

        static func text(_ text: String) -> Answer { Answer(body: Array(text.utf8)) }

        static func status(_ status: Int) -> Answer { Answer(status: status) }

        static func redirect(_ location: String) -> Answer { Answer(status: 302, headers: ["Location": location]) }
    }

    typealias Handler = @Sendable (Request) -> Answer?

    let port: Int
    private let listener: Int32
    private let handler: Handler
    private let paths = Mutex<[(path: String, at: Instant)]>([])
    private let connections = Mutex<Set<Int32>>([])
    private let isOver = Atomic(false)
    private let acceptor = Mutex<WorkerThread?>(nil)

    /// Starts a server. The port may be that of a stopped server; 0 selects a free one. The handler is called on the
    /// connection's thread and may wait; nil answers 404.
    init(port: Int = 0, _ handler: @escaping Handler) throws {
        self.handler = handler
        listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var reuses: Int32 = 1
        setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &reuses, socklen_t(MemoryLayout<Int32>.size))
        var address = sockaddr_in()
        address.sin_port = in_port_t(port).bigEndian
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let descriptor = listener
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(descriptor, address, length) == 0 && listen(descriptor, 64) == 0
                    && getsockname(descriptor, address, &length) == 0
            }
        }
        guard isBound else { throw POSIXError(.EADDRINUSE) }
        self.port = Int(UInt16(bigEndian: address.sin_port))
        let thread = try WorkerThread(name: "origin") { self.accept() }
        acceptor.withLock { $0 = thread }
    }

    /// Creates a server whose port remains free after it has stopped, so that another one can listen there.
    ///
    /// The port is below the range from which the kernel gives ports to sockets that ask for any (`ip_local_port_range`,
    /// ip(7)). A port in use is not taken.
    static func returning(_ handler: @escaping Handler) throws -> TestOrigin {
        for _ in 0..<20 {
            if let origin = try? TestOrigin(port: .random(in: 20_000..<32_000), handler) { return origin }
        }
        throw POSIXError(.EADDRINUSE)
    }

    /// Serves the files of a folder.
    convenience init(serving folder: TemporaryFolder) throws {
        try self.init { request in (try? folder.read(String(request.path.dropFirst()))).map { Answer(body: $0) } }
    }

    /// Serves a film in segments. `/s.m3u8` lists them.
    convenience init(serving film: StampedVideo, segmentSeconds: Int, fragmented: Bool = false) throws {
        let folder = try TemporaryFolder()
        _ = try HLSFilm(film, segmentSeconds: segmentSeconds, in: folder, fragmented: fragmented)
        try self.init(serving: folder)
    }

    /// Pauses between two looks at a condition, because a busy loop would leave no time to the threads that fulfil it. Only
    /// the condition ends the wait.
    static func pause() async { try? await ContinuousClock().sleep(for: .milliseconds(2)) }

    func uri(_ path: String) -> String { "http://127.0.0.1:\(port)\(path)" }

    /// The requested paths in order of arrival.
    var requests: [String] { arrivals.map(\.path) }

    /// The requested paths with the times of their arrival, in order.
    var arrivals: [(path: String, at: Instant)] { paths.withLock { $0 } }

    func stop() {
        guard !isOver.exchange(true, ordering: .relaxed) else { return }
        shutdown(listener, Int32(SHUT_RDWR))
        // The descriptor's number may be reused by another test as soon as it is closed.
        acceptor.withLock { $0 }?.join()
        close(listener)
        connections.withLock { connections in for descriptor in connections { shutdown(descriptor, Int32(SHUT_RDWR)) } }
    }

    private func accept() {
        while !isOver.load(ordering: .relaxed) {
            let descriptor = Glibc.accept(listener, nil, nil)
            guard descriptor >= 0 else { return }
            _ = connections.withLock { $0.insert(descriptor) }
            _ = try? WorkerThread(name: "origin") {
                self.serve(descriptor)
                _ = self.connections.withLock { $0.remove(descriptor) }
                close(descriptor)
            }
        }
    }

    private func serve(_ descriptor: Int32) {
        var buffer: [UInt8] = []
        while !isOver.load(ordering: .relaxed), let head = readHead(descriptor, &buffer) {
            let lines = head.split(separator: "\r\n")
            let words = lines.first?.split(separator: " ") ?? []
            guard words.count == 3 else { return }
            let request = Self.request(String(words[1]), lines)
            paths.withLock { $0.append((request.path, MonotonicClock.now())) }
            guard send(handler(request) ?? .status(404), to: request, descriptor) else { return }
        }
    }

    private func readHead(_ descriptor: Int32, _ buffer: inout [UInt8]) -> String? {
        let end = Array("\r\n\r\n".utf8)
        while true {
            if let place = buffer.indices.first(where: { buffer[$0...].starts(with: end) }) {
                defer { buffer.removeFirst(place + end.count) }
                return String(decoding: buffer[..<place], as: UTF8.self)
            }
            var piece = [UInt8](repeating: 0, count: 4_096)
            let count = recv(descriptor, &piece, piece.count, 0)
            guard count > 0 else { return nil }
            buffer += piece.prefix(count)
        }
    }

    private static func request(_ target: String, _ lines: [Substring]) -> Request {
        let parts = target.split(separator: "?", maxSplits: 1)
        var request = Request(path: String(parts.first ?? "/"), query: [:], range: nil)
        for pair in parts.dropFirst().first?.split(separator: "&") ?? [] {
            let words = pair.split(separator: "=", maxSplits: 1)
            if words.count == 2 { request.query[String(words[0])] = String(words[1]) }
        }
        for line in lines.dropFirst() {
            let parts = line.split(separator: ":", maxSplits: 1)
            if parts.count == 2 { request.fields[parts[0].lowercased()] = String(parts[1].drop { $0 == " " }) }
        }
        if let line = lines.first(where: { $0.lowercased().hasPrefix("range: bytes=") }) {
            let numbers = line.dropFirst("range: bytes=".count).split(separator: "-", omittingEmptySubsequences: false)
            if let first = Int(numbers[0]) { request.range = (first, numbers.count > 1 ? Int(numbers[1]) : nil) }
        }
        return request
    }

    /// Sends an answer. Returns whether the connection continues.
    private func send(_ answer: Answer, to request: Request, _ descriptor: Int32) -> Bool {
        var (status, body) = (answer.status, answer.body)
        var text = ""
        if status == 200, answer.hasRanges, !body.isEmpty, let range = request.range {
            guard range.first < body.count else { return send(.status(416), to: request, descriptor) }
            status = 206
            let last = min(range.last ?? body.count - 1, body.count - 1)
            text += "Content-Range: bytes \(range.first)-\(last)/\(body.count)\r\n"
            body = Array(body[range.first...last])
        }
        if !answer.isEndless, !answer.endsWithConnection {
            text += "Content-Length: \(answer.claimedLength ?? body.count)\r\n"
        }
        for (name, value) in answer.headers { text += "\(name): \(value)\r\n" }
        let end = answer.head == .whole ? "\r\n" : ""
        guard write(Array("HTTP/1.1 \(status) Status\r\n\(text)\(end)".utf8), descriptor) else { return false }
        guard answer.head == .whole else {
            let line = Array("X-Header: value\r\n".utf8)
            while !isOver.load(ordering: .relaxed),
                write(line, descriptor, bytesPerSecond: answer.head == .dripping ? 20 : nil)
            {}
            return false
        }
        if answer.isEndless {
            while !isOver.load(ordering: .relaxed), write(body, descriptor) {}
            return false
        }
        if let cut = answer.cutAfter, cut < body.count {
            _ = write(Array(body.prefix(cut)), descriptor)
            shutdown(descriptor, Int32(SHUT_RDWR))
            return false
        }
        if let hang = answer.hangsAfter {
            let pause = WakeSignal()
            guard write(Array(body.prefix(hang)), descriptor) else { return false }
            while !isOver.load(ordering: .relaxed) { pause.wait(until: MonotonicClock.now() + .milliseconds(20)) }
            return false
        }
        let burst = min(answer.burst, body.count)
        return write(Array(body.prefix(burst)), descriptor)
            && write(Array(body.dropFirst(burst)), descriptor, bytesPerSecond: answer.bytesPerSecond)
            && !answer.endsWithConnection
    }

    private func write(_ bytes: [UInt8], _ descriptor: Int32, bytesPerSecond: Int? = nil) -> Bool {
        var place = 0
        let pause = WakeSignal()
        let slice = bytesPerSecond.map { max($0 / 50, 1) } ?? bytes.count
        while place < bytes.count {
            let count = bytes[place...].withUnsafeBytes { raw in
                Glibc.send(descriptor, raw.baseAddress, min(slice, raw.count), Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return false }
            place += count
            // A fiftieth of a second's bytes is followed by a pause of a fiftieth of a second, because the link is the
            // slow part.
            if bytesPerSecond != nil { pause.wait(until: MonotonicClock.now() + .milliseconds(20)) }
        }
        return true
    }
}
