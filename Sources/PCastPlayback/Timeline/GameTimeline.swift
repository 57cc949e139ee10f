import Dispatch
public import Logging
import PCastCore
import PCastIO
import PCastJSON
public import PCastTimeline
import Synchronization

/// The timeline of a game, whose events are released when the player reaches their times and not before (Quickplay's
/// `StreamTimelineManager`).
///
///     let timeline = GameTimeline(configuration, player: player, source: TimelinePlatform(uri: "https://…", token: token))
///     try await timeline.subscribeEvents()
///
/// It does nothing before ``canSubscribeEvents()`` or ``subscribeEvents()`` is called. After a seek back, the events
/// that lie ahead are withdrawn as deletions, and released again when playback reaches them. Each released event is
/// also a cue point of the player's session, with the type `timeline.` and the event's type.
public final class GameTimeline: Sendable {
    /// The phase of the subscription.
    private enum Phase {
        case idle
        case subscribing
        case subscribed
        case over
    }

    private struct State {
        var phase = Phase.idle
        var release: TimelineCursor
        /// The log that the service sent; nil before the first.
        var log: TimelineLogID?
        /// The newest sequence number of the log when the connection began; nil before. The subscription is complete
        /// when it has arrived.
        var goal: SequenceNumber?
        var attempts = 0
        var failure: TimelineFollowError?
        var following: Task<Void, Never>?
        var follower: TimelineFollower?
        var waiting: [CheckedContinuation<Void, any Error>] = []
        var readers = StreamReaders<TimelineDelivery>(.unbroken(GameTimeline.backlog))
        var receivers: [WeakTimelineReceiver] = []
        var session: PlaybackSession?
        /// The position of the last displayed frame; nil if none was displayed.
        var position: Duration?
        var epoch = PlayheadEpoch()
        var cuePoints: [TimelineEventID: CuePoint] = [:]
    }

    /// The maximum number of deliveries that wait for a slow reader. Its stream ends if there are more.
    private static let backlog = 65_536
    /// The minimum and the maximum of the wait before a reconnect.
    private static let (firstWait, longestWait) = (TimeSpan.milliseconds(200), TimeSpan.seconds(10))

    /// The game, and the mode of release.
    public let configuration: TimelineConfiguration
    /// The player whose playhead releases the events.
    public let player: Player
    private let source: any TimelineSource
    private let logger: Logger
    private let state: Mutex<State>
    private let outbox = DispatchQueue(label: "pcast.timeline.events")

    /// Creates a timeline. Its events are released by the playhead of `player` and reported to its
    /// ``Player/eventDelegate``. A nil `source` is the platform of the stream that the player plays. `logger` receives
    /// the reasons why a subscription fails.
    public init(
        _ configuration: TimelineConfiguration, player: Player, source: (any TimelineSource)? = nil,
        logger: Logger = Logger(label: "pcast.timeline")
    ) {
        (self.configuration, self.player, self.logger) = (configuration, player, logger)
        self.source = source ?? PlayedPlatform(player: player)
        state = Mutex(State(release: TimelineCursor(spoiler: configuration.spoiler)))
    }

    deinit {
        let (task, follower) = state.withLock { state in
            state.readers.finish()
            return (state.following, state.follower)
        }
        task?.cancel()
        if let follower { player.remove(follower) }
    }

    // MARK: Subscription

    /// Returns whether the service has a timeline of the game and permits a subscription. If not, the reason is logged,
    /// and ``subscriptionFailure`` returns it.
    public func canSubscribeEvents() async -> Bool {
        do throws(TimelineFollowError) {
            guard try await source.exists(try game()) else { throw .noGame }
            note(nil)
            return true
        } catch {
            note(error)
            return false
        }
    }

    /// The reason why the last check or subscription failed; nil if it succeeded, and before the first.
    public var subscriptionFailure: TimelineFollowError? { state.withLock { $0.failure } }

    /// Records the result of a check or subscription, and logs a failure.
    private func note(_ failure: TimelineFollowError?) {
        let isNew = state.withLock { state in
            defer { state.failure = failure }
            return state.failure != failure
        }
        // Repeated attempts with the same failure log it once.
        guard let failure, isNew else { return }
        logger.notice("the timeline cannot be subscribed to: \(failure)", metadata: ["game": "\(gameName)"])
    }

    /// The name of the game for people.
    private var gameName: String { "\(configuration.leagueName)/\(configuration.gameId)" }

    /// Subscribes to the game, and returns when all past events have arrived. It returns at once if the subscription
    /// exists. Later, a lost connection is restored automatically. It throws a ``TimelineFollowError`` if the subscription
    /// fails. Cancelling the task does not end the wait; ``shutdown()`` does.
    public func subscribeEvents() async throws {
        let game: TimelineGame
        do throws(TimelineFollowError) {
            game = try self.game()
        } catch {
            note(error)
            throw error
        }
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            let phase = state.withLock { state -> Phase in
                let phase = state.phase
                guard phase == .idle || phase == .subscribing else { return phase }
                state.waiting.append(continuation)
                if phase == .idle { begin(game, &state) }
                return phase
            }
            switch phase {
            case .idle: player.add(state.withLock { $0.follower } ?? TimelineFollower(self))
            case .subscribing: break
            case .subscribed: continuation.resume()
            case .over: continuation.resume(throwing: TimelineFollowError.over)
            }
        }
    }

    /// Begins to follow the game in a task, with reconnects.
    private func begin(_ game: TimelineGame, _ state: inout State) {
        state.phase = .subscribing
        state.follower = TimelineFollower(self)
        let source = source
        state.following = Task { [weak self] in
            while let resumePosition = self?.resumePosition {
                do {
                    try await source.follow(game, since: resumePosition.since, of: resumePosition.log) {
                        [weak self] message in
                        guard let self else { throw TimelineFollowError.over }
                        try take(message)
                    }
                    self?.lost(.unreachable("the connection ended"))
                } catch {
                    self?.lost(error as? TimelineFollowError ?? .unreachable("\(error)"))
                }
                guard let wait = self?.nextWait, (try? await Task.sleep(for: wait.duration)) != nil else { return }
            }
        }
    }

    /// Returns the game of the configuration. Throws ``TimelineFollowError/broken(_:)`` if league or game is not valid.
    private func game() throws(TimelineFollowError) -> TimelineGame {
        do throws(TimelineError) {
            return try TimelineGame(league: configuration.leagueName, game: configuration.gameId)
        } catch {
            throw .broken(error)
        }
    }

    /// Ends the timeline permanently. Its events are removed from the session's cue points, and nothing is reported any
    /// more.
    public func shutdown() {
        let (task, follower, waiting, cuePoints) = state.withLock { state in
            defer {
                let receivers = state.receivers
                outbox.async { for each in receivers { each.value?.ended() } }
                (state.phase, state.following, state.follower, state.waiting) = (.over, nil, nil, [])
                state.receivers = []
                state.cuePoints = [:]
                state.readers.finish()
            }
            return (state.following, state.follower, state.waiting, (state.session, Array(state.cuePoints.values)))
        }
        task?.cancel()
        if let follower { player.remove(follower) }
        if let session = cuePoints.0 { player.exchange(cuePoints.1, for: [], of: session) }
        for continuation in waiting { continuation.resume(throwing: TimelineFollowError.over) }
    }

    // MARK: Deliveries

    /// Returns a stream of all deliveries from now on, in order. It ends with ``shutdown()``, or if its reader falls
    /// 65536 deliveries behind.
    public func events() -> AsyncStream<TimelineDelivery> { state.withLock { $0.readers.add() } }

    /// Subscribes while `body` runs, and then shuts the timeline down. Past events come first, when they are due. It
    /// throws a ``TimelineFollowError`` if the subscription fails, or the error of `body`.
    public func withSubscription<Result>(
        _ body: (AsyncStream<TimelineDelivery>) async throws -> Result
    ) async throws -> Result {
        let events = events()
        try await subscribeEvents()
        defer { shutdown() }
        return try await body(events)
    }

    /// The released events, ordered by the times at which they happened.
    public var shownEvents: [GameEvent] {
        state.withLock { state in
            state.release.shown.events.values.compactMap { state.release.log[$0] }
                .sorted { ($0.at, $0.number) < ($1.at, $1.number) }.compactMap(\.event)
        }
    }

    /// The released information about the game; nil if there is none.
    public var gameInfo: GameInfo? {
        state.withLock { state in state.release.shown.info.flatMap { state.release.log[$0] }?.info }
    }

    /// The newest sequence number that has arrived, whether it is released or not.
    public var newest: SequenceNumber { state.withLock { $0.release.log.newest } }

    // MARK: Service

    /// The sequence number and the log after which to resume; nil when the timeline is over.
    private var resumePosition: (since: SequenceNumber, log: TimelineLogID?)? {
        state.withLock { $0.following == nil || $0.phase == .over ? nil : ($0.release.log.newest, $0.log) }
    }

    /// The wait before the next attempt; nil when the timeline is over. It increases exponentially.
    private var nextWait: TimeSpan? {
        state.withLock { state in
            guard state.phase == .subscribing || state.phase == .subscribed else { return nil }
            state.attempts += 1
            let wait = Self.firstWait * Int64(1 << min(state.attempts - 1, 8))
            // The randomness prevents that all clients reconnect at the same moment.
            return TimeSpan(seconds: min(wait, Self.longestWait).seconds * Double.random(in: 0.5...1))
        }
    }

    /// Handles a message of the service. Throws a ``TimelineFollowError`` to end the connection.
    private func take(_ message: TimelineMessage) throws {
        let waiting = try state.withLock { state -> [CheckedContinuation<Void, any Error>] in
            guard state.phase == .subscribing || state.phase == .subscribed else { throw TimelineFollowError.over }
            switch message {
            case .begin(let id, let newest, let from):
                // In a cluster, a log may continue another one.
                if let log = state.log, log != id, from != state.release.log.newest {
                    notify(state.release.startOver(), &state)
                }
                (state.log, state.goal) = (id, newest)
            case .changes(let revisions):
                do throws(TimelineError) {
                    notify(try state.release.take(revisions, holding: isSeeking(state)), &state)
                } catch {
                    throw TimelineFollowError.broken(error)
                }
            case .refused("not-found", _): throw TimelineFollowError.noGame
            case .refused(_, let reason): throw TimelineFollowError.refused(reason)
            case .behind, .unknown: return []
            }
            state.attempts = 0
            guard state.phase == .subscribing, let goal = state.goal, state.release.log.newest >= goal else {
                return []
            }
            (state.phase, state.failure) = (.subscribed, nil)
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }

    /// Handles the loss of the connection. A subscription that was not complete fails; otherwise it reconnects.
    private func lost(_ trouble: TimelineFollowError) {
        let (waiting, follower) = state.withLock {
            state -> ([CheckedContinuation<Void, any Error>], TimelineFollower?) in
            // After a gap or an unreadable message, the log is requested from its beginning.
            if case .broken = trouble, state.phase == .subscribed {
                notify(state.release.startOver(), &state)
                state.log = nil
            }
            guard state.phase == .subscribing else { return ([], nil) }
            defer {
                (state.phase, state.following, state.follower, state.waiting) = (.idle, nil, nil, [])
                state.log = nil
            }
            notify(state.release.startOver(), &state)
            return (state.waiting, state.follower)
        }
        if let follower { player.remove(follower) }
        if !waiting.isEmpty { note(trouble) }
        for continuation in waiting { continuation.resume(throwing: trouble) }
    }

    // MARK: Playhead

    /// Changes to another session.
    func advanced(to session: PlaybackSession, in epoch: PlayheadEpoch) {
        state.withLock { state in
            guard state.session !== session else { return }
            leave(&state)
            state.session = session
        }
        // If the timeline subscribes in the middle of a session, a frame is displayed already.
        if case .at(let position) = session.progress { shown(position, of: session, in: epoch) }
    }

    /// Leaves a session that is over.
    func ended(_ session: PlaybackSession) {
        state.withLock { state in
            guard state.session === session else { return }
            leave(&state)
            state.session = nil
        }
    }

    /// Leaves the session: no displayed frame has a known time any more, and its cue points are over.
    private func leave(_ state: inout State) {
        (state.position, state.session) = (nil, nil)
        state.cuePoints = [:]
        notify(state.release.move(to: nil), &state)
    }

    /// Releases events up to a displayed frame. A frame from before a seek in progress is ignored, because a frame of
    /// the new position may be displayed already.
    func shown(_ position: Duration, of session: PlaybackSession, in epoch: PlayheadEpoch) {
        guard epoch >= session.playhead.epoch else { return }
        show(position, of: session, in: epoch)
    }

    /// Releases events up to the wall-clock time of a position.
    private func show(_ position: Duration, of session: PlaybackSession, in epoch: PlayheadEpoch) {
        let timecode = session.timecode(at: position)
        state.withLock { state in
            guard state.session === session else { return }
            let isFirst = state.position == nil
            (state.position, state.epoch) = (position, epoch)
            notify(state.release.move(to: timecode), &state)
            // Events that are released without a frame become cue points with the first frame.
            if isFirst, configuration.spoiler {
                let release = state.release
                mark(
                    TimelineGate.deliveries(
                        from: DeliveredRevisions(), to: release.shown, of: release.log, at: .ungated),
                    &state)
            }
        }
    }

    /// Releases events again after the wall-clock times of a session have changed.
    func updateClock(of session: PlaybackSession) {
        guard
            let (position, epoch) = state.withLock({ state in
                state.session === session ? state.position.map { ($0, state.epoch) } : nil
            })
        else { return }
        show(position, of: session, in: epoch)
    }

    /// Whether a seek is in progress. Then the last reported frame must not release events, because a frame of the new
    /// position may be displayed already.
    private func isSeeking(_ state: State) -> Bool {
        guard state.position != nil, let session = state.session else { return false }
        return session.playhead.epoch > state.epoch
    }

    // MARK: Reports

    /// Adds an audience, which receives all that is released, at once and from now on. It has no effect on an audience
    /// that was added before.
    func add(_ receivers: any TimelineReceiver) {
        state.withLock { state in
            guard state.phase != .over, !state.receivers.contains(where: { $0.value === receivers }) else { return }
            state.receivers.append(WeakTimelineReceiver(value: receivers))
            let release = state.release
            let known = TimelineGate.deliveries(
                from: DeliveredRevisions(), to: release.shown, of: release.log, at: release.moment)
            outbox.async { receivers.receive(known) }
        }
    }

    /// Removes an audience. It receives no more calls.
    func remove(_ receivers: any TimelineReceiver) {
        state.withLock { state in state.receivers.removeAll { $0.value == nil || $0.value === receivers } }
    }

    /// Reports deliveries to the cue points, the readers, the audiences and the delegate.
    private func notify(_ deliveries: [TimelineDelivery], _ state: inout State) {
        guard !deliveries.isEmpty else { return }
        mark(deliveries, &state)
        for delivery in deliveries { state.readers.yield(delivery) }
        let receivers = state.receivers
        outbox.async { [weak self] in
            guard let self, !isOver else { return }
            for each in receivers { each.value?.receive(deliveries) }
            guard let delegate = player.eventDelegate else { return }
            for delivery in deliveries {
                delegate.didReceive(
                    event: delivery.info == nil ? .gameEvent : .gameInfo, suggestedAction: .none,
                    metadata: TimelineEventMetadata(delivery))
            }
        }
    }

    /// Changes the session's cue points according to deliveries.
    private func mark(_ deliveries: [TimelineDelivery], _ state: inout State) {
        guard let session = state.session else { return }
        var removed: [CuePoint] = []
        var added: [ReleasedCuePoint] = []
        for delivery in deliveries {
            guard let id = delivery.eventID, let event = delivery.event else { continue }
            let old = state.cuePoints.removeValue(forKey: id)
            if let old { removed.append(old) }
            guard delivery.type != .deleted, let position = session.position(of: delivery.at) else { continue }
            let cuePoint = CuePoint(
                type: CuePoint.timelinePrefix + (event.type?.rawValue ?? "event"), at: position,
                properties: event.object.dictionary)
            state.cuePoints[id] = cuePoint
            added.append(ReleasedCuePoint(cuePoint: cuePoint, hasChanged: delivery.type == .added))
        }
        player.exchange(removed, for: added, of: session)
    }

    /// Whether the timeline was shut down.
    private var isOver: Bool { state.withLock { if case .over = $0.phase { true } else { false } } }

    /// Waits until all earlier deliveries have been reported to the delegate.
    public func settled() async {
        await withCheckedContinuation { continuation in outbox.async { continuation.resume() } }
    }
}
