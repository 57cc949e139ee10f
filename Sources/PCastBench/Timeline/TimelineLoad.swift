import CLinux
import Glibc
import PCastCore
import PCastIO
import PCastTimeline
import PCastWeb
import Synchronization

/// Thousands of consumers of one game's timeline on sockets that one thread reads, so that the load is mostly that of
/// the platform.
enum TimelineLoad {
    struct Metrics: Sendable {
        /// The latencies of each event at each consumer, in milliseconds.
        var latencies: [Double]
        /// The time until all consumers were connected, in milliseconds.
        var joining: Double
        /// The number of events that did not arrive at a consumer.
        var missing: Int
    }

    private static let game = "BENCH/crowd"
    /// The pause between two events.
    private static let pause = TimeSpan.milliseconds(700)
    /// The timeout for the last event.
    private static let timeout = TimeSpan.seconds(20 as Int64)

    static func measure(_ setup: TimelineSetup, _ count: Int, rounds: Int) async throws -> Metrics {
        var event = GameEvent()
        event.type = .goal
        event.description = "The one that was there before"
        try await setup.send("POST", game + "/events/first", event.object)
        let address = try WebAddress(setup.uri)
        let readers = try TimelineReaders(count, port: UInt16(address.port), path: "/timeline/\(game)/changes")
        defer { readers.stop() }
        let begun = MonotonicClock.now()
        try await readers.await(count, within: .seconds(120))
        let joining = (MonotonicClock.now() - begun).seconds * 1_000
        var sent: [Instant] = []
        for round in 0..<rounds {
            event.description = "Goal \(round)"
            event.timestamp = Timestamp.text(MonotonicClock.wallTime())
            sent.append(MonotonicClock.now())
            try await setup.send("POST", game + "/events/goal-\(round)", event.object)
            try await Task.sleep(for: pause.duration)
        }
        try? await readers.await(count * (1 + rounds), within: timeout)
        let arrivals = readers.arrivals
        // The first message contains the events from before the connection.
        let latencies = zip(sent, arrivals.dropFirst()).flatMap { sent, arrived in
            arrived.map { ($0 - sent).seconds * 1_000 }
        }
        return Metrics(latencies: latencies, joining: joining, missing: count * rounds - latencies.count)
    }
}

/// Sockets that follow a timeline; one thread reads them and records the arrival of each message.
final class TimelineReaders: Sendable {
    private struct Consumer {
        var descriptor: Int32
        var buffer: [UInt8] = []
        var hasUpgraded = false
        /// The number of `changes` messages.
        var changes = 0
    }

    private struct State {
        /// For each index of a `changes` message, the times of its arrival at the consumers.
        var arrivals: [[Instant]] = []
        var total = 0
        var failed = 0
    }

    private let state = Mutex(State())
    private let isOver = Atomic(false)
    private let threads = Mutex<[WorkerThread]>([])
    private let count: Int
    private let port: UInt16
    private let path: String

    /// The maximum number of connections in progress.
    private static let opening = 256

    init(_ count: Int, port: UInt16, path: String) throws {
        (self.count, self.port, self.path) = (count, port, path)
        let thread = try WorkerThread(name: "consumers") { [self] in read() }
        threads.withLock { $0.append(thread) }
    }

    var arrivals: [[Instant]] { state.withLock { $0.arrivals } }

    /// Waits until the given number of messages has arrived. Throws `BenchFailure` if connections fail or the time
    /// passes.
    func `await`(_ total: Int, within limit: TimeSpan) async throws {
        let end = MonotonicClock.now() + limit
        while state.withLock({ $0.total }) < total {
            let failed = state.withLock { $0.failed }
            guard failed == 0 else { throw BenchFailure("\(failed) consumers were rejected") }
            guard MonotonicClock.now() < end else {
                throw BenchFailure("only \(state.withLock { $0.total }) of \(total) messages arrived")
            }
            try await Task.sleep(for: .milliseconds(10))
        }
    }

    func stop() {
        isOver.store(true, ordering: .relaxed)
        for thread in threads.withLock({ $0 }) { thread.join() }
    }

    private func read() {
        let poll = clinux_epoll_create()
        defer { close(poll) }
        var consumers: [Consumer] = []
        defer { for consumer in consumers { close(consumer.descriptor) } }
        let events = UnsafeMutablePointer<clinux_event>.allocate(capacity: Int(CLINUX_EVENTS_PER_WAIT))
        defer { events.deallocate() }
        var upgraded = 0
        var bytes = [UInt8](repeating: 0, count: 4_096)
        while !isOver.load(ordering: .relaxed) {
            while consumers.count < count, consumers.count - upgraded < Self.opening {
                guard let descriptor = open() else {
                    state.withLock { $0.failed += 1 }
                    return
                }
                _ = clinux_epoll_control(
                    poll, Int32(CLINUX_ADD), descriptor, UInt32(CLINUX_READABLE), UInt64(consumers.count))
                consumers.append(Consumer(descriptor: descriptor))
            }
            let ready = Int(clinux_epoll_wait(poll, events, 50_000_000))
            for viewerPosition in 0..<max(ready, 0) {
                let index = Int(events[viewerPosition].token)
                let before = consumers[index].hasUpgraded
                if !take(&consumers[index], &bytes) {
                    _ = clinux_epoll_control(poll, Int32(CLINUX_REMOVE), consumers[index].descriptor, 0, 0)
                    state.withLock { $0.failed += 1 }
                }
                if !before, consumers[index].hasUpgraded { upgraded += 1 }
            }
        }
    }

    private func open() -> Int32? {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isOpen = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(descriptor, $0, length) == 0 }
        }
        let request = Array(
            ("GET \(path) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                + "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n").utf8)
        guard isOpen, send(descriptor, request, request.count, Int32(MSG_NOSIGNAL)) == request.count else {
            close(descriptor)
            return nil
        }
        return descriptor
    }

    /// Reads the available bytes of a consumer into `bytes` and handles complete frames. Returns false if the
    /// connection has ended.
    private func take(_ consumer: inout Consumer, _ bytes: inout [UInt8]) -> Bool {
        let now = MonotonicClock.now()
        let read = recv(consumer.descriptor, &bytes, bytes.count, Int32(MSG_DONTWAIT))
        guard read > 0 else { return read < 0 && (errno == EAGAIN || errno == EINTR) }
        consumer.buffer += bytes.prefix(read)
        if !consumer.hasUpgraded {
            guard let end = consumer.buffer.firstRange(of: Array("\r\n\r\n".utf8)) else { return true }
            guard consumer.buffer.starts(with: "HTTP/1.1 101".utf8) else { return false }
            consumer.buffer.removeFirst(end.upperBound)
            consumer.hasUpgraded = true
        }
        while let (opcode, payload) = Self.frame(&consumer.buffer) {
            switch opcode {
            case 0x1 where payload.starts(with: #"{"type":"changes""#.utf8):
                let number = consumer.changes
                consumer.changes += 1
                state.withLock { state in
                    while state.arrivals.count <= number { state.arrivals.append([]) }
                    state.arrivals[number].append(now)
                    state.total += 1
                }
            case 0x9:
                // A pong without payload, masked with a key of zero.
                let pong: [UInt8] = [0x8A, 0x80, 0, 0, 0, 0]
                send(consumer.descriptor, pong, pong.count, Int32(MSG_NOSIGNAL))
            case 0x8: return false
            default: break
            }
        }
        return true
    }

    /// Removes and returns the next complete WebSocket frame of a server (RFC 6455, section 5.2); nil if there is none.
    private static func frame(_ buffer: inout [UInt8]) -> (opcode: UInt8, payload: ArraySlice<UInt8>)? {
        guard buffer.count >= 2 else { return nil }
        var (length, start) = (Int(buffer[1] & 0x7F), 2)
        if length == 126 {
            guard buffer.count >= 4 else { return nil }
            (length, start) = (Int(buffer[2]) << 8 | Int(buffer[3]), 4)
        } else if length == 127 {
            guard buffer.count >= 10 else { return nil }
            (length, start) = (buffer[2..<10].reduce(0) { $0 << 8 | Int($1) }, 10)
        }
        guard buffer.count >= start + length else { return nil }
        let (opcode, payload) = (buffer[0] & 0x0F, buffer[start..<start + length])
        buffer.removeFirst(start + length)
        return (opcode, payload)
    }
}
