import PCastTimeline
import PCastWeb
import Synchronization
import Testing

/// A consumer of a timeline that records the messages that it receives.
final class TimelineListener: Sendable {
    private let taken = Mutex<[TimelineMessage]>([])

    var messages: [TimelineMessage] { taken.withLock { $0 } }

    var revisions: [TimelineRevision] {
        messages.flatMap { if case .changes(let revisions) = $0 { revisions } else { [TimelineRevision]() } }
    }

    /// The log that it follows, and the revision at which it starts.
    var beginning: (log: TimelineLogID, newest: Int, from: Int)? {
        for case .begin(let id, let newest, let from) in messages { return (id, newest.value, from.value) }
        return nil
    }

    /// Follows the timeline while `body` runs. `body` also gets the WebSocket.
    static func follow(
        _ platform: TestPlatform, _ path: String, token: String? = nil,
        _ body: @escaping @Sendable (TimelineListener, WebSocketConnection) async throws -> Void
    ) async throws {
        let listener = TimelineListener()
        let headers = token.map { [("Authorization", "Bearer \($0)")] } ?? []
        try await WebSocketClient().connect(to: platform.uri + path, headers: headers) { connection in
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    try await connection.forEachMessage { message in
                        guard case .text(let text) = message else { return }
                        let read = try TimelineMessage(parsing: Array(text.utf8))
                        listener.taken.withLock { $0.append(read) }
                    }
                }
                do {
                    try await body(listener, connection)
                } catch {
                    connection.cut()
                    throw error
                }
                connection.cut()
            }
        }
    }

    /// Waits for a number of revisions.
    func reaches(_ count: Int) async throws -> Bool { try await eventually { self.revisions.count >= count } }
}
