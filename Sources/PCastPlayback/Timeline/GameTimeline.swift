import Dispatch
public import Logging
import PCastCore
import PCastIO
import PCastJSON
public import PCastTimeline
import Synchronization

/// What happens in a game, told to who watches it when his picture comes there and not before (seed 002,
/// `StreamTimelineManager`).
///
///     let timeline = GameTimeline(configuration, player: player, source: TimelinePlatform(uri: "https://…", token: token))
///     try await timeline.subscribeEvents()
///
/// Does nothing before it is asked to. Whoever seeks back is told that what is still to come there is not so, and told anew
/// as it comes. What was released also stands among the cue points of the player's session, as `timeline.` and the event's
/// type, where it happened.
public final class GameTimeline: Sendable {
    private enum Phase {
        case idle
        case subscribing
        case subscribed
        case over
    }

    private struct State {
        var phase = Phase.idle
        var release: TimelineCursor
        var log: TimelineLogID?
        /// Which revision makes it be subscribed.
        var goal: SequenceNumber?
        var attempts = 0
        var failure: TimelineTrouble?
        var following: Task<Void, Never>?
        var follower: TimelineFollower?
        var waiting: [CheckedContinuation<Void, any Error>] = []
        var readers = StreamReaders<TimelineDelivery>(.everything(GameTimeline.backlog))
        var audience: [WeakTimelineAudience] = []
        var session: PlaybackSession?
        /// Of the picture that was shown last, and the player's epoch that it was of.
        var position: TimeSpan?
        var epoch = PlayheadEpoch()
        var cuePoints: [TimelineEventID: CuePoint] = [:]
    }

    /// Deliveries that wait for a slow reader at most; beyond them its stream ends.
    private static let backlog = 65_536
    /// The wait before coming again, at first and at most.
    private static let (firstWait, longestWait) = (TimeSpan.milliseconds(200), TimeSpan.seconds(10))

    public let configuration: TimelineConfiguration
    public let player: Player
    private let source: any TimelineSource
    private let logger: Logger
    private let state: Mutex<State>
    private let outbox = DispatchQueue(label: "pcast.timeline.events")

    /// - Parameters:
    ///   - player: whose playhead counts, and whose ``Player/eventDelegate`` is told.
    ///   - source: where the timeline comes from; nil for the platform of the stream that the player plays.
    ///   - logger: receives why the timeline cannot be subscribed to.
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

    // MARK: Following

    /// Whether there is a timeline of the game that may be followed. If not, ``subscriptionFailure`` says why, and the reason
    /// is logged.
    public func canSubscribeEvents() async -> Bool {
        do throws(TimelineTrouble) {
            guard try await source.exists(try game()) else { throw .noGame }
            note(nil)
            return true
        } catch {
            note(error)
            return false
        }
    }

    /// Why the timeline could not be subscribed to when that was last asked for or tried; nil when it could, and before.
    public var subscriptionFailure: TimelineTrouble? { state.withLock { $0.failure } }

    private func note(_ failure: TimelineTrouble?) {
        let isNew = state.withLock { state in
            defer { state.failure = failure }
            return state.failure != failure
        }
        // Who tries again and again is told once.
        guard let failure, isNew else { return }
        logger.notice("the timeline cannot be subscribed to: \(failure)", metadata: ["game": "\(gameName)"])
    }

    /// For people.
    private var gameName: String { "\(configuration.leagueName)/\(configuration.gameId)" }

    /// Begins to follow the game, and returns when all that was said of it so far is here. From then on it comes again by itself
    /// when the connection is lost. Returns at once where it is followed already.
    ///
    /// - Throws: a ``TimelineTrouble``, when it does not follow; `CancellationError` is not thrown: a task that is cancelled
    ///   waits, and ``shutdown()`` ends it.
    public func subscribeEvents() async throws {
        let game: TimelineGame
        do throws(TimelineTrouble) {
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
            case .over: continuation.resume(throwing: TimelineTrouble.over)
            }
        }
    }

    private func begin(_ game: TimelineGame, _ state: inout State) {
        state.phase = .subscribing
        state.follower = TimelineFollower(self)
        let source = source
        state.following = Task { [weak self] in
            while let place = self?.place {
                do {
                    try await source.follow(game, since: place.since, of: place.log) { [weak self] message in
                        guard let self else { throw TimelineTrouble.over }
                        try take(message)
                    }
                    self?.lost(.unreachable("the connection ended"))
                } catch {
                    self?.lost(error as? TimelineTrouble ?? .unreachable("\(error)"))
                }
                guard let wait = self?.nextWait, (try? await Task.sleep(for: wait.duration)) != nil else { return }
            }
        }
    }

    private func game() throws(TimelineTrouble) -> TimelineGame {
        do throws(TimelineError) {
            return try TimelineGame(league: configuration.leagueName, game: configuration.gameId)
        } catch {
            throw .broken(error)
        }
    }

    /// Ends it for good: nobody is told anything any more.
    public func shutdown() {
        let (task, follower, waiting, cuePoints) = state.withLock { state in
            defer {
                let audience = state.audience
                outbox.async { for each in audience { each.value?.ended() } }
                (state.phase, state.following, state.follower, state.waiting) = (.over, nil, nil, [])
                state.audience = []
                state.cuePoints = [:]
                state.readers.finish()
            }
            return (state.following, state.follower, state.waiting, (state.session, Array(state.cuePoints.values)))
        }
        task?.cancel()
        if let follower { player.remove(follower) }
        if let session = cuePoints.0 { player.exchange(cuePoints.1, for: [], of: session) }
        for continuation in waiting { continuation.resume(throwing: TimelineTrouble.over) }
    }

    // MARK: What is told

    /// All that is told from now on, in order, for as long as it is iterated; ends with ``shutdown()``.
    public func events() -> AsyncStream<TimelineDelivery> { state.withLock { $0.readers.add() } }

    /// Follows the game as long as `body` runs: what was known before comes first, as it is due.
    public func withSubscription<Result>(
        _ body: (AsyncStream<TimelineDelivery>) async throws -> Result
    ) async throws -> Result {
        let events = events()
        try await subscribeEvents()
        defer { shutdown() }
        return try await body(events)
    }

    /// The events that the viewer may know of now, by when they happened.
    public var shownEvents: [GameEvent] {
        state.withLock { state in
            state.release.shown.events.values.compactMap { state.release.log[$0] }
                .sorted { ($0.at, $0.number) < ($1.at, $1.number) }.compactMap(\.event)
        }
    }

    /// The game, as the viewer may know it.
    public var gameInfo: GameInfo? {
        state.withLock { state in state.release.shown.info.flatMap { state.release.log[$0] }?.info }
    }

    /// The newest of what was said of the game, whether it may be known or not.
    public var newest: SequenceNumber { state.withLock { $0.release.log.newest } }

    // MARK: The service

    /// What is had already; nil when it is over.
    private var place: (since: SequenceNumber, log: TimelineLogID?)? {
        state.withLock { $0.following == nil || $0.phase == .over ? nil : ($0.release.log.newest, $0.log) }
    }

    private var nextWait: TimeSpan? {
        state.withLock { state in
            guard state.phase == .subscribing || state.phase == .subscribed else { return nil }
            state.attempts += 1
            let wait = Self.firstWait * Int64(1 << min(state.attempts - 1, 8))
            // Not all who lost the same service come again at the same moment.
            return TimeSpan(seconds: min(wait, Self.longestWait).seconds * Double.random(in: 0.5...1))
        }
    }

    private func take(_ message: TimelineMessage) throws {
        let waiting = try state.withLock { state -> [CheckedContinuation<Void, any Error>] in
            guard state.phase == .subscribing || state.phase == .subscribed else { throw TimelineTrouble.over }
            switch message {
            case .begin(let id, let newest, _):
                if let log = state.log, log != id { tell(state.release.startOver(), &state) }
                (state.log, state.goal) = (id, newest)
            case .changes(let revisions):
                do throws(TimelineError) {
                    tell(try state.release.take(revisions, holding: isLeavingPicture(state)), &state)
                } catch {
                    throw TimelineTrouble.broken(error)
                }
            case .refused("not-found", _): throw TimelineTrouble.noGame
            case .refused(_, let reason): throw TimelineTrouble.refused(reason)
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

    /// The connection is over. Who was never subscribed is told; else it comes again.
    private func lost(_ trouble: TimelineTrouble) {
        let (waiting, follower) = state.withLock {
            state -> ([CheckedContinuation<Void, any Error>], TimelineFollower?) in
            // A gap, or what cannot be read, is not mended by asking for what follows it.
            if case .broken = trouble, state.phase == .subscribed {
                tell(state.release.startOver(), &state)
                state.log = nil
            }
            guard state.phase == .subscribing else { return ([], nil) }
            defer {
                (state.phase, state.following, state.follower, state.waiting) = (.idle, nil, nil, [])
                state.log = nil
            }
            tell(state.release.startOver(), &state)
            return (state.waiting, state.follower)
        }
        if let follower { player.remove(follower) }
        if !waiting.isEmpty { note(trouble) }
        for continuation in waiting { continuation.resume(throwing: trouble) }
    }

    // MARK: The playhead

    func advanced(to session: PlaybackSession, in epoch: PlayheadEpoch) {
        state.withLock { state in
            guard state.session !== session else { return }
            leave(&state)
            state.session = session
        }
        // Who begins to follow in the middle of a session finds its picture there already.
        if case .at(let position) = session.progress { shown(position, of: session, in: epoch) }
    }

    func ended(_ session: PlaybackSession) {
        state.withLock { state in
            guard state.session === session else { return }
            leave(&state)
            state.session = nil
        }
    }

    /// Nothing is on the screen whose time is known, and the session that the cue points were of is over.
    private func leave(_ state: inout State) {
        (state.position, state.session) = (nil, nil)
        state.cuePoints = [:]
        tell(state.release.move(to: nil), &state)
    }

    /// A picture is on the screen. One of before a seek that is on its way is none to go by: another may be there already.
    func shown(_ position: TimeSpan, of session: PlaybackSession, in epoch: PlayheadEpoch) {
        guard epoch >= session.playhead.epoch else { return }
        show(position, of: session, in: epoch)
    }

    private func show(_ position: TimeSpan, of session: PlaybackSession, in epoch: PlayheadEpoch) {
        let timecode = session.timecode(at: position)
        state.withLock { state in
            guard state.session === session else { return }
            let isFirst = state.position == nil
            (state.position, state.epoch) = (position, epoch)
            tell(state.release.move(to: timecode), &state)
            // What is known without a picture gets its place in the session with the first.
            if isFirst, configuration.spoiler {
                let release = state.release
                mark(
                    TimelineGate.deliveries(from: TimelineShown(), to: release.shown, of: release.log, at: .everything),
                    &state)
            }
        }
    }

    func learned(of session: PlaybackSession) {
        guard
            let (position, epoch) = state.withLock({ state in
                state.session === session ? state.position.map { ($0, state.epoch) } : nil
            })
        else { return }
        show(position, of: session, in: epoch)
    }

    /// A seek is on its way: the picture that was told of last is not to be gone by, for that of the seek may be there before
    /// this is told so.
    private func isLeavingPicture(_ state: State) -> Bool {
        guard state.position != nil, let session = state.session else { return false }
        return session.playhead.epoch > state.epoch
    }

    // MARK: Telling

    /// Tells somebody what the viewer knows, and from then on all that is told to him; once, however often it is added.
    func add(_ audience: any TimelineAudience) {
        state.withLock { state in
            guard state.phase != .over, !state.audience.contains(where: { $0.value === audience }) else { return }
            state.audience.append(WeakTimelineAudience(value: audience))
            let release = state.release
            let known = TimelineGate.deliveries(
                from: TimelineShown(), to: release.shown, of: release.log, at: release.moment)
            outbox.async { audience.told(known) }
        }
    }

    func remove(_ audience: any TimelineAudience) {
        state.withLock { state in state.audience.removeAll { $0.value == nil || $0.value === audience } }
    }

    private func tell(_ deliveries: [TimelineDelivery], _ state: inout State) {
        guard !deliveries.isEmpty else { return }
        mark(deliveries, &state)
        for delivery in deliveries { state.readers.yield(delivery) }
        let audience = state.audience
        outbox.async { [weak self] in
            guard let self, !isOver else { return }
            for each in audience { each.value?.told(deliveries) }
            guard let delegate = player.eventDelegate else { return }
            for delivery in deliveries {
                delegate.didReceive(
                    event: delivery.info == nil ? .gameEvent : .gameInfo, suggestedAction: .none,
                    metadata: TimelineEventMetadata(delivery))
            }
        }
    }

    /// Changes the session's cue points by what was told.
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
            added.append(ReleasedCuePoint(cuePoint: cuePoint, isNews: delivery.type == .added))
        }
        player.exchange(removed, for: added, of: session)
    }

    private var isOver: Bool { state.withLock { if case .over = $0.phase { true } else { false } } }

    /// Returns when everything that was told before has been delivered to the delegate.
    public func settled() async {
        await withCheckedContinuation { continuation in outbox.async { continuation.resume() } }
    }
}
