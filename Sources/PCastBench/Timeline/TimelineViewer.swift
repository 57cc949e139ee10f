import PCastIO
import PCastMedia
import PCastNetwork
import PCastPlayback
import PCastTimeline
import Synchronization

/// One who watches a ``TimelineProgramme`` somewhere in it, and goes about there. What was told to him is compared with what was
/// on his screen at that moment.
final class TimelineViewer: Sendable {
    struct Place: Sendable {
        var name: String
        /// How far behind the edge he is at least and at most, in seconds.
        var behind: ClosedRange<Double>
        /// Whether he goes elsewhere now and then.
        var seeks: Bool
        var spoiler = false
    }

    struct Figures: Sendable {
        /// Deliveries to the viewer.
        var told = 0
        var seeks = 0
        /// Told before their picture.
        var early = 0
        /// From the picture, or from when the event was recorded where that is later, to being told, in milliseconds.
        var late: [Double] = []
        /// How often, of those times when it was looked, the viewer knew something else than he should.
        var wrongSets = 0
        var sets = 0
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
    /// A picture stands for so long.
    private static let pictureLength = StampedFilm.position(of: 1)
    /// What is nearer to the end of the window moves out of it, what is nearer to the edge is not made yet.
    private static let margin = 4.0

    let place: Place
    private let playback = MeasuredPlayback()
    private let witness = Witness()
    private let timeline: GameTimeline
    private let origin: FilmOrigin
    private let seed: UInt64

    init(_ place: Place, of origin: FilmOrigin, following game: TimelineGame, on stage: TimelineStage, seed: UInt64) {
        (self.place, self.origin, self.seed) = (place, origin, seed)
        timeline = GameTimeline(
            TimelineConfiguration(leagueName: game.league, gameId: game.game, spoiler: place.spoiler),
            player: playback.player, source: TimelinePlatform(uri: stage.uri))
        playback.player.eventDelegate = witness
    }

    func begin() async throws {
        _ = try await playback.start(origin.uri("live.m3u8"))
        if place.behind.lowerBound > 0 { try await go(by: 0.5) }
        try await timeline.subscribeEvents()
    }

    /// Somewhere in his part of the window.
    ///
    /// - Parameter share: from its far end.
    @discardableResult
    private func go(by share: Double) async throws -> Bool {
        guard let range = playback.player.playhead?.seekableRange else { return false }
        let length = (range.upperBound - range.lowerBound).seconds
        let (near, far) = (place.behind.lowerBound, min(place.behind.upperBound, length - Self.margin))
        guard far > near else { return false }
        let behind = far - (far - near) * share
        return (try? await playback.player.seek(to: range.upperBound - TimeSpan(seconds: behind))) != nil
    }

    /// Watches for so long; who seeks does so now and then.
    ///
    /// - Returns: how often he went elsewhere.
    func watch(_ seconds: Int) async throws -> Int {
        guard place.seeks else {
            try await Task.sleep(for: .seconds(seconds))
            return 0
        }
        var chance = SeededGenerator(seed: seed)
        let end = MonotonicClock.now() + .seconds(Int64(seconds))
        var seeks = 0
        while MonotonicClock.now() < end {
            try await Task.sleep(for: .milliseconds(Int64(1_500 + chance.next(below: 2_500))))
            if try await go(by: Double(chance.next(below: 1_000)) / 1_000) { seeks += 1 }
        }
        return seeks
    }

    /// Pauses here and there, and compares what the viewer knows with what anybody would work out who begins there; then judges
    /// all that was told to him.
    ///
    /// - Parameter log: as the platform has it.
    func judge(by log: TimelineLog, seeks: Int) async throws -> Figures {
        var figures = Figures()
        figures.seeks = seeks
        playback.player.pause()
        for share in [0.1, 0.9, 0.3, 0.7, 0.5] {
            try await go(by: share)
            await playback.player.settled()
            await timeline.settled()
            figures.sets += 1
            if try !knowsWhatHeShould(log) { figures.wrongSets += 1 }
        }
        if !place.spoiler { judge(by: log, &figures) } else { figures.told = witness.all.count }
        return figures
    }

    private func knowsWhatHeShould(_ log: TimelineLog) throws -> Bool {
        let known = Set(timeline.shownEvents)
        if place.spoiler { return known == Set(log.events) }
        guard let sight = playback.witness.sights.last else { throw BenchFailure("no picture was shown") }
        // The player's word for where it stands has to be borne out by the picture there.
        guard let moment = playback.player.playhead?.timecode else { return false }
        let into = moment - origin.wallTime(of: StampedFilm.position(of: sight.counter))
        guard into >= .zero - Self.rounding, into < Self.pictureLength + Self.rounding else { return false }
        return [moment - Self.rounding, moment, moment + Self.rounding].contains { moment in
            Set(TimelineGate.shown(of: log, at: .at(moment)).events.values.compactMap { log[$0]?.event }) == known
        }
    }

    private func judge(by log: TimelineLog, _ figures: inout Figures) {
        let (told, sights) = (witness.all, playback.witness.sights)
        let (now, wallTime) = (MonotonicClock.now(), MonotonicClock.wallTime())
        /// An event that is recorded late cannot be told before that.
        func recorded(_ delivery: TimelineDelivery) -> Instant? {
            guard delivery.reason == nil, let revision = log[delivery.number] else { return nil }
            return now + (revision.recordedAt - wallTime)
        }
        /// Whether a picture is not the one that follows the one before it.
        func isLanding(_ index: Int) -> Bool {
            index == 0 || !(1...5).contains(sights[index].counter - sights[index - 1].counter)
        }
        for each in told where each.delivery.eventID != nil {
            figures.told += 1
            guard var index = sights.lastIndex(where: { $0.moment <= each.moment }) else {
                figures.early += 1
                continue
            }
            // Going back, what is told is that the gate has not been reached any more.
            let isBack = each.delivery.reason == .seek
            func hasCome(_ index: Int) -> Bool {
                let moment = origin.wallTime(of: StampedFilm.position(of: sights[index].counter))
                // A seek goes to a moment, and the picture that is seen there may have been there for a while.
                let length = isLanding(index) ? Self.pictureLength : .zero
                return isBack || moment + length + Self.rounding >= each.delivery.gate
            }
            guard hasCome(index) else {
                figures.early += 1
                continue
            }
            // Since its picture, or the seek.
            while index > 0, !isLanding(index), hasCome(index - 1) { index -= 1 }
            let known = max(sights[index].moment, recorded(each.delivery) ?? sights[index].moment)
            figures.late.append(max((each.moment - known).seconds, 0) * 1_000)
        }
    }

    func end() async {
        timeline.shutdown()
        await playback.stop()
    }
}
