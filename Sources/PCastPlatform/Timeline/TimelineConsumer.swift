import NIOCore
import PCastIO
import PCastMedia
import PCastTimeline
import PCastWeb
import Synchronization

/// Who follows a game's timeline: a place in its log, which is all the queue there is, and one message at a time on its way.
final class TimelineConsumer: Sendable {
    private struct State {
        /// What was sent last.
        var place: SequenceNumber
        /// Since when a message is on its way.
        var sendingSince: Instant?
        var hasCaughtUp = false
        var isOver = false
        var heardAt: Instant
        var strangeMessages = 0
    }

    private enum Step {
        case send(SharedText)
        case tellBehind(newest: SequenceNumber)
        case rest
    }

    /// RFC 6455, section 7.4.1, and the registry it makes: try again later; broken rules.
    private static let tryAgainLater: UInt16 = 1_013
    private static let policyViolation: UInt16 = 1_008

    let connection: WebSocketConnection
    private let channel: TimelineChannel
    private let state: Mutex<State>

    init(_ connection: WebSocketConnection, of channel: TimelineChannel, from place: SequenceNumber) {
        (self.connection, self.channel) = (connection, channel)
        state = Mutex(State(place: place, heardAt: MonotonicClock.now()))
    }

    /// Says which log it is; everything behind the place follows.
    func begin(_ newest: SequenceNumber) {
        let place = state.withLock { state in
            state.sendingSince = MonotonicClock.now()
            return state.place
        }
        post(SharedText(TimelineMessage.begin(channel.id, newest: newest, from: place).bytes))
    }

    /// Sends the next, unless a message is on its way. On the connection's thread.
    func pump() {
        let step = state.withLock { state -> Step in
            guard !state.isOver, state.sendingSince == nil else { return .rest }
            guard let batch = channel.batch(after: state.place) else {
                state.hasCaughtUp = true
                return .rest
            }
            if state.hasCaughtUp, batch.newest.value - state.place.value > TimelineTerms.backlog {
                state.isOver = true
                return .tellBehind(newest: batch.newest)
            }
            state.place = batch.last
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
            // Looked at first: what is recorded from now on is pumped behind this.
            let newest = self.channel.newest
            let hasMore = self.state.withLock { state in
                state.sendingSince = nil
                if !isSent { state.isOver = true }
                if state.place >= newest { state.hasCaughtUp = true }
                return isSent && state.place < newest
            }
            // In a turn of its own: who is far behind must not keep the others of the thread.
            if hasMore { self.connection.eventLoop.execute { self.pump() } }
        }
    }

    // MARK: Who is still there

    func heard() {
        let now = MonotonicClock.now()
        state.withLock { $0.heardAt = now }
    }

    /// A message, of which there is none that a consumer should send.
    func said() {
        let isTooMuch = state.withLock { state in
            state.strangeMessages += 1
            return state.strangeMessages == TimelineTerms.strangeMessages
        }
        if isTooMuch { connection.postClose(status: Self.policyViolation) }
    }

    /// Asks for a sign of life; ends the connection of who has given none for long, or takes nothing.
    func check(at now: Instant) {
        let isGone = state.withLock { state in
            now - state.heardAt > TimelineTerms.silence
                || state.sendingSince.map { now - $0 > TimelineTerms.patience } ?? false
        }
        if isGone { connection.cut() } else { connection.postPing() }
    }

    func end() { state.withLock { $0.isOver = true } }
}
