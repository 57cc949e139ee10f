import NIOCore
import Synchronization

/// The connections of an attempt to reach a server, so that a waiting caller can cancel it.
final class ConnectionAttempt: Sendable {
    private struct State {
        /// One connection for each address of the server.
        var channels: [any Channel] = []
        var isOver = false
        var hasTimedOut = false
    }

    /// The time limit from the beginning to the server's response to the whole handshake.
    static let limit = TimeAmount.seconds(10)

    private let state = Mutex(State())

    func opened(_ channel: any Channel) {
        let isOver = state.withLock { state in
            if !state.isOver { state.channels.append(channel) }
            return state.isOver
        }
        if isOver { return channel.close(promise: nil) }
        channel.eventLoop.scheduleTask(in: Self.limit) { [weak self] in self?.timeOut() }
    }

    /// Whether the attempt failed because the time limit was reached.
    var hasTimedOut: Bool { state.withLock { $0.hasTimedOut } }

    private func timeOut() {
        state.withLock { $0.hasTimedOut = !$0.isOver }
        giveUp()
    }

    /// Ends the attempt successfully and keeps the connection.
    func succeeded() { _ = end() }

    /// Closes all connections, so that waiting callers fail.
    func giveUp() {
        for channel in end() { channel.close(promise: nil) }
    }

    private func end() -> [any Channel] {
        state.withLock { state in
            defer { state.channels = [] }
            state.isOver = true
            return state.channels
        }
    }
}
