import NIOCore
import PCastCore
import PCastIO
import PCastTimeline
import PCastWeb
import Synchronization

/// A consumer of a game's timeline. Its position in the log replaces a queue, and at most one message is being sent at
/// a time.
final class TimelineConsumer: Sendable {
    private struct State {
        /// The number of the last revision that was sent.
        var lastSent: SequenceNumber
        /// The time at which the current message was sent; nil if none is being sent.
        var sendingSince: Instant?
        var hasCaughtUp = false
        var isOver = false
        var lastReceivedAt: Instant
        var unexpectedMessages = 0
    }

    private enum Step {
        case send(SharedText)
        case tellBehind(newest: SequenceNumber)
        case rest
    }

    /// The close statuses "try again later" and "policy violation" (RFC 6455, section 7.4.1, and the WebSocket
    /// registry).
    private static let tryAgainLater: UInt16 = 1_013
    private static let policyViolation: UInt16 = 1_008

    let connection: WebSocketConnection
    private let channel: TimelineChannel
    private let state: Mutex<State>

    init(_ connection: WebSocketConnection, of channel: TimelineChannel, from lastSent: SequenceNumber) {
        (self.connection, self.channel) = (connection, channel)
        state = Mutex(State(lastSent: lastSent, lastReceivedAt: MonotonicClock.now()))
    }

    /// Sends the identifier of the log, and then all revisions after the position.
    func begin(_ newest: SequenceNumber) {
        let lastSent = state.withLock { state in
            state.sendingSince = MonotonicClock.now()
            return state.lastSent
        }
        post(SharedText(TimelineMessage.begin(channel.id, newest: newest, from: lastSent).bytes))
    }

    /// Sends the next message unless one is being sent. It must be called on the connection's event loop.
    func pump() {
        let step = state.withLock { state -> Step in
            guard !state.isOver, state.sendingSince == nil else { return .rest }
            guard let batch = channel.batch(after: state.lastSent) else {
                state.hasCaughtUp = true
                return .rest
            }
            if state.hasCaughtUp, batch.newest.value - state.lastSent.value > TimelineConsumerLimits.backlog {
                state.isOver = true
                return .tellBehind(newest: batch.newest)
            }
            state.lastSent = batch.last
            state.sendingSince = MonotonicClock.now()
            return .send(batch.text)
        }
        switch step {
        case .rest: break
        case .send(let text): post(text)
        case .tellBehind(let newest):
            connection.post(SharedText(TimelineMessage.behind(newest: newest).bytes)) { _ in }
            connection.postClose(status: Self.tryAgainLater)
        }
    }

    private func post(_ text: SharedText) {
        connection.post(text) { isSent in
            // This is read before `sendingSince` is reset, because later revisions call `pump` themselves.
            let newest = self.channel.newest
            let hasMore = self.state.withLock { state in
                state.sendingSince = nil
                if !isSent { state.isOver = true }
                if state.lastSent >= newest { state.hasCaughtUp = true }
                return isSent && state.lastSent < newest
            }
            // The next message is sent in a separate iteration, so that a consumer that is far behind does not delay
            // others.
            if hasMore { self.connection.eventLoop.execute { self.pump() } }
        }
    }

    // MARK: Liveness

    func markAlive() {
        let now = MonotonicClock.now()
        state.withLock { $0.lastReceivedAt = now }
    }

    /// Counts a message of the consumer, which should send none. Closes the connection after too many.
    func countMessage() {
        let isTooMuch = state.withLock { state in
            state.unexpectedMessages += 1
            return state.unexpectedMessages == TimelineConsumerLimits.unexpectedMessages
        }
        if isTooMuch { connection.postClose(status: Self.policyViolation) }
    }

    /// Sends a ping. Closes the connection of a consumer that does not respond or receives no messages.
    func check(at now: Instant) {
        let isGone = state.withLock { state in
            now - state.lastReceivedAt > TimelineConsumerLimits.silence
                || state.sendingSince.map { now - $0 > TimelineConsumerLimits.timeout } ?? false
        }
        if isGone { connection.cut() } else { connection.postPing() }
    }

    func end() { state.withLock { $0.isOver = true } }
}
