import PCastJSON
import PCastOverlay
import PCastWeb
import Synchronization

/// A page without a browser, which refers to the last epoch that it received, as the real one does.
final class ScriptedPage: Sendable {
    private struct State {
        var received: [OverlayEnvelope] = []
        /// The number of received envelopes for each event.
        var taken: [String: Int] = [:]
    }

    private let state = Mutex(State())
    /// Signals each received message, and finishes with the connection.
    private let news: AsyncStream<Void>
    private let saying: AsyncStream<WebSocketMessage>.Continuation
    private let task: Task<Void, any Error>

    /// Connects to an address. Nothing is received before `gate` is finished; nil for at once.
    init(_ address: String, behind gate: AsyncStream<Void>? = nil) {
        let (news, telling) = AsyncStream.makeStream(of: Void.self)
        let (words, saying) = AsyncStream.makeStream(of: WebSocketMessage.self)
        let (heard, hearing) = AsyncStream.makeStream(of: OverlayEnvelope.self)
        (self.news, self.saying) = (news, saying)
        task = Task {
            defer { hearing.finish() }
            try await WebSocketClient().connect(to: address) { connection in
                try await withThrowingTaskGroup { group in
                    group.addTask { for await word in words { try await connection.send(word) } }
                    defer { group.cancelAll() }
                    if let gate { for await _ in gate {} }
                    try await connection.forEachMessage { message in
                        if case .text(let text) = message, let envelope = try? OverlayEnvelope(text: text) {
                            hearing.yield(envelope)
                        }
                    }
                }
            }
        }
        Task { [weak self] in
            for await envelope in heard {
                self?.state.withLock { $0.received.append(envelope) }
                telling.yield()
            }
            telling.finish()
        }
    }

    func say(_ event: String, _ metadata: String = "{}", seq: Int) {
        let epoch = state.withLock { $0.received.last?.epoch ?? 0 }
        saying.yield(
            .text("{\"v\":1,\"event\":\"\(event)\",\"metadata\":\(metadata),\"seq\":\(seq),\"epoch\":\(epoch)}"))
    }

    func sayBytes(_ bytes: [UInt8]) { saying.yield(.binary(bytes)) }

    /// Returns the next envelope of an event, regardless of others.
    func next(_ event: String) async -> OverlayEnvelope? {
        if let envelope = take(event) { return envelope }
        for await _ in news {
            if let envelope = take(event) { return envelope }
        }
        return nil
    }

    /// Waits for a matching message of an event.
    ///
    /// - Returns: False if there is none before the end of the connection.
    func hears(_ event: String, where matches: (JSONObject) -> Bool) async -> Bool {
        while let envelope = await next(event) {
            if matches(envelope.metadata) { return true }
        }
        return false
    }

    /// Waits for a message with a value in one field; see ``hears(_:where:)``.
    func hears(_ event: String, _ field: String, _ value: JSONValue) async -> Bool {
        await hears(event) { $0[field] == value }
    }

    private func take(_ event: String) -> OverlayEnvelope? {
        state.withLock { state in
            let count = state.taken[event, default: 0]
            guard let envelope = state.received.lazy.filter({ $0.event == event }).dropFirst(count).first else {
                return nil
            }
            state.taken[event] = count + 1
            return envelope
        }
    }

    /// Returns the number of received messages of an event.
    func count(_ event: String) -> Int { state.withLock { state in state.received.count { $0.event == event } } }

    /// Waits until the connection is over.
    func end() async { for await _ in news {} }

    func close() { task.cancel() }
}
