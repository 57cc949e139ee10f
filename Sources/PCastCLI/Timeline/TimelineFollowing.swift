import PCastCore
import PCastJSON
import PCastPlayback
import PCastTimeline
import Synchronization

/// A run of `pcast timeline follow`, which prints each change once, even if the connection breaks.
final class TimelineFollowing: Sendable {
    private struct State {
        var newest: SequenceNumber
        var log: TimelineLogID?
        var attempts = 0
    }

    private let game: TimelineGame
    private let source: any TimelineSource
    private let console: Console
    private let state: Mutex<State>

    /// The maximum delay before it reconnects, in seconds.
    private static let longestWait = 10.0

    init(_ game: TimelineGame, _ source: any TimelineSource, since: SequenceNumber, _ console: Console) {
        (self.game, self.source, self.console) = (game, source, console)
        state = Mutex(State(newest: since))
    }

    var newest: SequenceNumber { state.withLock { $0.newest } }

    /// Runs until the task is cancelled.
    ///
    /// - Throws: `TimelineFollowError` if it cannot begin, or `CancellationError`.
    func run() async throws {
        while true {
            try Task.checkCancellation()
            let (since, log) = state.withLock { ($0.newest, $0.log) }
            do {
                try await source.follow(game, since: since, of: log) { [self] in try take($0) }
            } catch let failure as TimelineFollowError {
                // If no message has ever arrived, the error is thrown.
                guard state.withLock({ $0.log }) != nil else { throw failure }
                console.warn("The timeline's connection was lost: \(failure). Reconnecting.")
            }
            let attempts = state.withLock { state in
                state.attempts += 1
                return state.attempts
            }
            let wait = min(0.2 * Double(1 << min(attempts, 8)), Self.longestWait)
            try await Task.sleep(for: .seconds(wait * Double.random(in: 0.5...1)))
        }
    }

    private func take(_ message: TimelineMessage) throws {
        switch message {
        case .begin(let id, let newest, let from):
            let isOther = state.withLock { state in
                defer { (state.log, state.attempts) = (id, 0) }
                // In a cluster, a log may continue another one.
                let isOther = state.log.map { $0 != id } ?? false && from != state.newest
                if isOther || from < state.newest { state.newest = from }
                return isOther
            }
            if isOther { console.warn("The timeline was replaced by a new one.") }
            console.event("following", ["log": .string(id.description), "newest": .count(newest.value)])
        case .changes(let revisions): for revision in revisions { try report(revision) }
        case .refused("not-found", _): throw TimelineFollowError.noGame
        case .refused(_, let reason): throw TimelineFollowError.refused(reason)
        case .behind, .unknown: break
        }
    }

    private func report(_ revision: TimelineRevision) throws {
        let expected = state.withLock { state in
            let expected = state.newest.next
            if revision.number == expected { state.newest = expected }
            return expected
        }
        guard revision.number == expected else {
            if revision.number < expected { return }
            throw TimelineFollowError.broken(.gap(expected: expected.value, got: revision.number.value))
        }
        let (word, text) =
            switch revision.change {
            case .info(let info): ("info", info.venueName)
            case .added(_, let event): ("added", event.description)
            case .modified(_, let event): ("modified", event.description)
            case .deleted: ("deleted", nil as String?)
            }
        let fields = revision.event?.object ?? revision.info?.object
        console.event(
            "change",
            [
                "seq": .count(revision.number.value), "change": .string(word),
                "id": .text(revision.eventID?.description), "at": .string(revision.at.timestampText),
                "recordedAt": .string(revision.recordedAt.timestampText),
                "content": fields.map(JSONValue.object) ?? .null,
            ])
        let columns = [
            "\(revision.number)", revision.at.timestampText, word, revision.event?.type?.rawValue,
            revision.eventID?.description, text,
        ]
        console.result(columns.compactMap { $0 }.joined(separator: "  "))
    }
}
