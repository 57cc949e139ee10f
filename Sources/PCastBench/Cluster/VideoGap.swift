import Foundation
import Glibc
import PCastCore
import PCastTestSupport
import Synchronization

/// The times at which one viewer receives frames, over all its sessions.
final class VideoGap: Sendable {
    private struct State {
        var last: Instant?
        var longest = TimeSpan.zero
        var frames = 0
    }

    private let state = Mutex(State())

    func receiveFrame(at now: Instant) {
        state.withLock { state in
            if let last = state.last { state.longest = max(state.longest, now - last) }
            state.last = max(state.last ?? now, now)
            state.frames += 1
        }
    }

    /// Forgets the longest time without a frame, and counts frames from zero.
    func begin() {
        state.withLock { state in
            state.longest = .zero
            state.frames = 0
        }
    }

    /// Returns the longest time without a frame since `begin()`, including the time since the last one; nil if no frame
    /// has ever arrived.
    func longest(until now: Instant) -> TimeSpan? {
        state.withLock { state in state.last.map { max(state.longest, now - $0) } }
    }

    /// Returns the time since the last frame; nil if none has ever arrived.
    func silence(at now: Instant) -> TimeSpan? { state.withLock { state in state.last.map { now - $0 } } }

    /// The number of frames since `begin()`.
    var frames: Int { state.withLock { $0.frames } }
}

/// The server-sent events of a WHIP or WHEP session. A thread reads them until the session ends or its connection
/// closes, as a page does.
final class SessionEvents: Sendable {
    /// The end of the events.
    enum End: Sendable {
        /// The connection has closed, as when the process of the node was killed.
        case closed
        /// The session has ended.
        case ended
        /// The node requests the client to connect again.
        case reconnect
    }

    private final class State: Sendable {
        let isCancelled = Atomic(false)
        let end = Mutex<End?>(nil)
    }

    private let state = State()

    /// Requests the events at the URI of an event stream.
    init(_ uri: String) {
        let state = state
        Thread.detachNewThread {
            let end = Self.read(uri, state)
            state.end.withLock { $0 = end }
        }
    }

    deinit { state.isCancelled.store(true, ordering: .relaxed) }

    /// The end of the events; nil while they are read.
    var end: End? { state.end.withLock { $0 } }

    private static func read(_ uri: String, _ state: State) -> End {
        guard let (server, path) = target(of: uri), let socket = try? ProxySocket(.stream),
            (try? socket.connect(server)) != nil
        else { return .closed }
        var left = Array("GET \(path) HTTP/1.1\r\nHost: \(server)\r\nAccept: text/event-stream\r\n\r\n".utf8)[...]
        var text = ""
        var buffer = [UInt8](repeating: 0, count: 4_096)
        while !state.isCancelled.load(ordering: .relaxed) {
            var waiting = [pollfd(fd: socket.number, events: Int16(left.isEmpty ? POLLIN : POLLOUT), revents: 0)]
            guard poll(&waiting, 1, 100) > 0 else { continue }
            if !left.isEmpty {
                let sent = left.withUnsafeBytes { send(socket.number, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
                if sent > 0 { left = left.dropFirst(sent) }
                if sent < 0, errno != EAGAIN, errno != EINTR { return .closed }
                continue
            }
            let count = recv(socket.number, &buffer, buffer.count, 0)
            if count == 0 || count < 0 && errno != EAGAIN && errno != EINTR { return .closed }
            guard count > 0 else { continue }
            text += String(decoding: buffer[..<count], as: UTF8.self)
            if let end = end(in: text) { return end }
            // An event may be in two segments.
            text = String(text.suffix(32))
        }
        return .closed
    }

    /// Returns the end that a part of an event stream reports; nil if it reports none.
    static func end(in text: String) -> End? {
        if text.contains("event: ended") { return .ended }
        return text.contains("event: reconnect") ? .reconnect : nil
    }

    /// Returns the server and the path of a URI such as `http://10.0.0.1:8080/whep/resource/a/events`; nil if it is
    /// another kind of URI.
    static func target(of uri: String) -> (server: TransportAddress, path: String)? {
        let scheme = "http://"
        guard uri.hasPrefix(scheme) else { return nil }
        let rest = uri.dropFirst(scheme.count)
        let slash = rest.firstIndex(of: "/") ?? rest.endIndex
        guard let server = TransportAddress(String(rest[..<slash])) else { return nil }
        return (server, slash == rest.endIndex ? "/" : String(rest[slash...]))
    }
}
