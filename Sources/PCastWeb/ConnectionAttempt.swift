import NIOCore
import Synchronization

/// The connections by which a server is being reached, so that whoever waits can give up.
final class ConnectionAttempt: Sendable {
    private struct State {
        /// One for each address of the server that is tried.
        var channels: [any Channel] = []
        var isOver = false
        var hasTimedOut = false
    }

    /// From the beginning until the server has answered the whole handshake.
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

    /// Given up because the server took too long.
    var hasTimedOut: Bool { state.withLock { $0.hasTimedOut } }

    private func timeOut() {
        state.withLock { $0.hasTimedOut = !$0.isOver }
        giveUp()
    }

    /// What was reached is used from now on.
    func succeeded() { _ = end() }

    /// Closes what was opened, so that whatever waits for it fails.
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
