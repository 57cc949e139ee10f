import PCastIO
import PCastMedia
import PCastPlayback
import PCastTimeline
import Synchronization

/// A live game with a viewer who seeks about, and a producer who is late, early, and wrong. The picture is the witness: what
/// was told is compared with what was on the screen at that moment.
struct TimelineProgramme {
    struct Figures {
        /// Deliveries to the viewer.
        var told = 0
        var seeks = 0
        /// Told before their picture.
        var early = 0
        /// From the picture to being told, in milliseconds.
        var late: [Double] = []
        /// How often, of those times when it was looked, the viewer knew something else than he should.
        var wrongSets = 0
    }

    private final class Witness: EventSendableDelegate {
        struct Told: Sendable {
            var delivery: TimelineDelivery
            var moment: Instant
        }

        private let told = Mutex<[Told]>([])

        var all: [Told] { told.withLock { $0 } }

        func didReceive(
            event: StreamTimelineEvent, suggestedAction: SuggestedAction, metadata: (any StreamTimelineMetadata)?
        ) {
            let moment = MonotonicClock.now()
            guard let data = metadata as? TimelineEventMetadata else { return }
            told.withLock { $0.append(Told(delivery: data.delivery, moment: moment)) }
        }
    }

    /// What a playlist's date is rounded to, and a picture's time beside it.
    private static let rounding = TimeSpan.milliseconds(2)
    private static let game = "BENCH/programme"
    /// What a live programme has when it is joined.
    private static let head = TimeSpan.seconds(16 as Int64)

    private let stage: TimelineStage
    private let film: StampedFilm
    private let count: Int
    private let seconds: Int
    private let seed: UInt64

    init(_ stage: TimelineStage, film: StampedFilm, count: Int, seconds: Int, seed: UInt64) {
        (self.stage, self.film, self.count, self.seconds, self.seed) = (stage, film, count, seconds, seed)
    }

    func run() async throws -> Figures {
        let origin = try await FilmOrigin.open(film, head: Self.head)
        let playback = MeasuredPlayback()
        let witness = Witness()
        playback.player.eventDelegate = witness
        let timeline = GameTimeline(
            TimelineConfiguration(leagueName: "BENCH", gameId: "programme"), player: playback.player,
            source: TimelinePlatform(uri: stage.uri))
        var info = TimelineObject()
        info["venue_name"] = "Arena"
        try await stage.tell("PUT", Self.game, info)
        _ = try await playback.start(origin.uri("live.m3u8"))
        try await timeline.subscribeEvents()
        var figures = Figures()
        async let producing: Void = produce()
        figures.seeks = try await seekAbout(playback.player)
        try await producing
        figures.wrongSets = try await wrongSets(timeline, playback, origin)
        await playback.player.settled()
        await timeline.settled()
        judge(witness.all, playback.witness.sights, origin, &figures)
        timeline.shutdown()
        await playback.stop()
        await origin.close()
        return figures
    }

    // MARK: The producer

    /// Tells of an event, of something else about one, or that one is not so, at even intervals.
    private func produce() async throws {
        var chance = Chance(seed: seed)
        let begun = MonotonicClock.now()
        var ids: [String] = []
        for index in 0..<count {
            let due = begun + TimeSpan(seconds: Double(seconds) * Double(index) / Double(count))
            let rest = due - MonotonicClock.now()
            if rest > .zero { try await Task.sleep(for: rest.duration) }
            let draw = chance.next(below: 10)
            if draw < 2, let id = ids.randomElement(using: &chance) {
                ids.removeAll { $0 == id }
                try await stage.tell("DELETE", "\(Self.game)/events/\(id)", nil)
            } else if draw < 5, let id = ids.randomElement(using: &chance) {
                var change = TimelineObject()
                change["description"] = .string("change \(index)")
                try await stage.tell("PATCH", "\(Self.game)/events/\(id)", change)
            } else {
                ids.append("e\(index)")
                var event = GameEvent()
                event.type = GameEventKind.known[chance.next(below: GameEventKind.known.count)]
                // Up to three seconds late, and up to three before it happens.
                let offset = TimeSpan.milliseconds(Int64(chance.next(below: 6_000)) - 3_000)
                event.timestamp = Timestamp.text(MonotonicClock.wallTime() + offset)
                try await stage.tell("POST", "\(Self.game)/events/e\(index)", event.object)
            }
        }
    }

    // MARK: The viewer

    /// Seeks now and then, within the window.
    private func seekAbout(_ player: Player) async throws -> Int {
        var chance = Chance(seed: seed &+ 1)
        let end = MonotonicClock.now() + .seconds(Int64(seconds))
        var seeks = 0
        while MonotonicClock.now() < end {
            try await Task.sleep(for: .milliseconds(Int64(1_500 + chance.next(below: 2_500))))
            guard let range = player.playhead?.seekableRange else { continue }
            let length = (range.upperBound - range.lowerBound).nanoseconds
            // Not so near to the beginning that the window leaves it behind.
            let place = length / 4 + Int64(chance.next(below: Int(max(length * 3 / 4, 1))))
            if (try? await player.seek(to: range.lowerBound + .nanoseconds(place))) != nil { seeks += 1 }
        }
        return seeks
    }

    /// Pauses here and there, and compares what the viewer knows with what anybody would work out who begins there.
    private func wrongSets(
        _ timeline: GameTimeline, _ playback: MeasuredPlayback, _ origin: FilmOrigin
    ) async throws -> Int {
        let player = playback.player
        player.pause()
        let log = try await wholeLog()
        var wrong = 0
        for share in [0.3, 0.9, 0.5] {
            guard let range = player.playhead?.seekableRange else { throw BenchFailure("the programme has no window") }
            let position = range.lowerBound + TimeSpan(seconds: (range.upperBound - range.lowerBound).seconds * share)
            _ = try await player.seek(to: position)
            await player.settled()
            await timeline.settled()
            guard let sight = playback.witness.sights.last else { throw BenchFailure("no picture was shown") }
            let moment = origin.wallTime(of: StampedFilm.position(of: sight.counter))
            // A gate within the rounding of the picture's own time may be on either side of it.
            let fresh = [moment - Self.rounding, moment, moment + Self.rounding].map { moment in
                let shown = TimelineGate.shown(of: log, at: .at(moment))
                return Set(shown.events.values.compactMap { log[$0]?.event })
            }
            if !fresh.contains(Set(timeline.shownEvents)) { wrong += 1 }
        }
        return wrong
    }

    /// As the platform has it.
    private func wholeLog() async throws -> TimelineLog {
        let log = Mutex((log: TimelineLog(), goal: SequenceNumber?.none))
        struct Whole: Error {}
        let game = try TimelineGame(league: "BENCH", game: "programme")
        do {
            try await TimelinePlatform(uri: stage.uri).follow(game, since: .none, of: nil) { message in
                try log.withLock { state in
                    if case .begin(_, let newest, _) = message { state.goal = newest }
                    if case .changes(let revisions) = message {
                        for revision in revisions { try state.log.append(revision) }
                    }
                    if let goal = state.goal, state.log.newest >= goal { throw Whole() }
                }
            }
        } catch is Whole {}
        return log.withLock { $0.log }
    }

    // MARK: The judge

    private func judge(
        _ told: [Witness.Told], _ sights: [PictureWitness.Sight], _ origin: FilmOrigin, _ figures: inout Figures
    ) {
        for each in told where each.delivery.eventID != nil {
            figures.told += 1
            guard var index = sights.lastIndex(where: { $0.moment <= each.moment }) else {
                figures.early += 1
                continue
            }
            // Going back, what is told is that the gate has not been reached any more.
            let isBack = each.delivery.reason == .seek
            func hasCome(_ sight: PictureWitness.Sight) -> Bool {
                let moment = origin.wallTime(of: StampedFilm.position(of: sight.counter))
                return isBack || moment + Self.rounding >= each.delivery.gate
            }
            guard hasCome(sights[index]) else {
                figures.early += 1
                continue
            }
            // Since its picture, or the seek: the first picture of one is not of those after the one before it.
            while index > 0, (1...5).contains(sights[index].counter - sights[index - 1].counter),
                hasCome(sights[index - 1])
            {
                index -= 1
            }
            figures.late.append((each.moment - sights[index].moment).seconds * 1_000)
        }
    }
}

/// The same numbers for the same seed (Steele, Lea and Flood: SplitMix64).
private struct Chance: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    mutating func next(below bound: Int) -> Int { Int(next() % UInt64(bound)) }
}
