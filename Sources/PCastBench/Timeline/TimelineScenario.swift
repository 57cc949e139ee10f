import Foundation
import PCastCore
import PCastEdgeAuth
import PCastIO
import PCastJSON
import PCastPlayback
import PCastTestSupport
import PCastTimeline
import PCastWeb
import Synchronization

/// A live game with viewers at different positions and a producer of events that are late, early and corrected. The
/// frames shown verify when viewers are informed.
struct TimelineScenario {
    private static let league = "BENCH"
    private static let game = "programme"
    /// The length in seconds of the presentation when it is joined, to which viewers can seek back.
    static let head = 140
    private static let viewerPositions = [
        TimelineViewer.ViewerPosition(name: "at the edge", behind: 0...20, seeks: false),
        TimelineViewer.ViewerPosition(name: "at the edge, seeking", behind: 0...25, seeks: true),
        TimelineViewer.ViewerPosition(name: "30 s behind, seeking", behind: 15...45, seeks: true),
        TimelineViewer.ViewerPosition(name: "2 min behind, seeking", behind: 95...130, seeks: true),
        TimelineViewer.ViewerPosition(name: "all events at once, seeking", behind: 0...130, seeks: true, spoiler: true),
    ]

    private let setup: TimelineSetup
    private let film: StampedVideo
    private let count: Int
    private let seconds: Int
    private let seed: UInt64

    /// Creates a measurement. The film must be longer than the sum of ``head`` and `seconds` by some seconds.
    init(_ setup: TimelineSetup, film: StampedVideo, count: Int, seconds: Int, seed: UInt64) {
        (self.setup, self.film, self.count, self.seconds, self.seed) = (setup, film, count, seconds, seed)
    }

    /// Returns the results of each viewer by name. Throws `BenchFailure` if a part does not start.
    func run() async throws -> [(name: String, metrics: TimelineViewer.Metrics)] {
        let origin = try await TestHLSOrigin.open(film, head: .seconds(Int64(Self.head)), window: film.segmentCount)
        let game = try TimelineGame(league: Self.league, game: Self.game)
        var info = JSONObject()
        info["venue_name"] = "Arena"
        try await setup.send("PUT", "\(game)", info)
        var feed = Feed(setup, game, seed: seed)
        try await feed.sendPastEvents(count, of: Self.head, origin)
        let viewers = Self.viewerPositions.enumerated().map { index, viewerPosition in
            TimelineViewer(viewerPosition, of: origin, following: game, on: setup, seed: seed &+ UInt64(index) + 1)
        }
        for viewer in viewers { try await viewer.begin() }
        let (count, seconds) = (count, seconds)
        let producing = Task { [feed] in
            var feed = feed
            try await feed.sendEvents(count, within: seconds)
        }
        let seeks = try await Self.all(viewers) { try await $0.watch(seconds) }
        try await producing.value
        let log = try await completeLog(game)
        var all: [(name: String, metrics: TimelineViewer.Metrics)] = []
        for (viewer, seeks) in zip(viewers, seeks) {
            all.append((viewer.viewerPosition.name, try await viewer.evaluate(by: log, seeks: seeks)))
        }
        for viewer in viewers { await viewer.end() }
        await origin.close()
        return all
    }

    /// Runs the closure for all viewers concurrently and returns the values in the viewers' order.
    private static func all<Value: Sendable>(
        _ viewers: [TimelineViewer], _ body: @escaping @Sendable (TimelineViewer) async throws -> Value
    ) async throws -> [Value] {
        try await withThrowingTaskGroup(of: (Int, Value).self) { group in
            for (index, viewer) in viewers.enumerated() { group.addTask { (index, try await body(viewer)) } }
            var values: [Int: Value] = [:]
            for try await (index, value) in group { values[index] = value }
            return viewers.indices.compactMap { values[$0] }
        }
    }

    /// Returns the complete log of the platform.
    private func completeLog(_ game: TimelineGame) async throws -> TimelineLog {
        let log = Mutex((log: TimelineLog(), newest: SequenceNumber?.none))
        struct LogCompleted: Error {}
        do {
            try await TimelinePlatform(uri: setup.uri).follow(game, since: .none, of: nil) { message in
                try log.withLock { state in
                    if case .begin(_, let newest, _) = message { state.newest = newest }
                    if case .changes(let revisions) = message {
                        for revision in revisions { try state.log.append(revision) }
                    }
                    if let newest = state.newest, state.log.newest >= newest { throw LogCompleted() }
                }
            }
        } catch is LogCompleted {}
        return log.withLock { $0.log }
    }
}

/// Adds, changes and removes events, some of them late and some before they happen.
private struct Feed: Sendable {
    private let setup: TimelineSetup
    private let game: TimelineGame
    private var generator: SeededGenerator
    private var ids: [String] = []
    private var last = 0

    init(_ setup: TimelineSetup, _ game: TimelineGame, seed: UInt64) {
        (self.setup, self.game, generator) = (setup, game, SeededGenerator(seed: seed))
    }

    /// Sends events that were recorded during the given length of the presentation.
    mutating func sendPastEvents(_ count: Int, of seconds: Int, _ origin: TestHLSOrigin) async throws {
        for index in 0..<count {
            let viewerPosition = TimeSpan(seconds: Double(seconds) * Double(index) / Double(count))
            try await sendEvent(at: origin.wallTime(of: viewerPosition), isPast: true)
        }
    }

    /// Sends events at regular intervals from now on.
    mutating func sendEvents(_ count: Int, within seconds: Int) async throws {
        let begun = MonotonicClock.now()
        for index in 0..<count {
            let due = begun + TimeSpan(seconds: Double(seconds) * Double(index) / Double(count))
            let remainingTime = due - MonotonicClock.now()
            if remainingTime > .zero { try await Task.sleep(for: remainingTime.duration) }
            try await sendEvent(at: MonotonicClock.wallTime(), isPast: false)
        }
    }

    private mutating func sendEvent(at time: WallTime, isPast: Bool) async throws {
        let when = isPast ? "?recordedAt=\(Timestamp.text(time))" : ""
        last += 1
        let draw = generator.next(below: 10)
        if draw < 2, let id = ids.randomElement(using: &generator) {
            ids.removeAll { $0 == id }
            return try await setup.send("DELETE", "\(game)/events/\(id)\(when)", nil)
        }
        if draw < 5, let id = ids.randomElement(using: &generator) {
            var change = JSONObject()
            change["description"] = .string("change \(last)")
            return try await setup.send("PATCH", "\(game)/events/\(id)\(when)", change)
        }
        ids.append("e\(last)")
        var event = GameEvent()
        event.type = GameEventKind.known[generator.next(below: GameEventKind.known.count)]
        // From 3 s early to 3 s late.
        let offset = TimeSpan.milliseconds(Int64(generator.next(below: 6_000)) - 3_000)
        event.timestamp = Timestamp.text(time + offset)
        try await setup.send("POST", "\(game)/events/e\(last)\(when)", event.object)
    }
}

/// A platform in its own process that stores its timelines on disk, and the interface of the producer.
final class TimelineSetup: Sendable {
    let uri: String
    private let process: PCastProcess

    private static let application = "bench:bench-secret"

    static func start(in folder: String) async throws -> TimelineSetup {
        let limits = [
            "connections=30000", "connections-per-address=30000", "connections-per-second=100000",
            "requests-per-second=100000", "joins-per-second=100000",
        ]
        let process = try PCastProcess(
            ["serve", "--listen", "127.0.0.1:0", "--rtc-port", "0", "--data", folder + "/data"]
                + limits.flatMap { ["--limit", $0] }, environment: ["PCAST_SERVE_APPLICATION": application])
        do {
            guard case .string(let uri)? = try await process.next("listening")["uri"] else {
                throw BenchFailure("the platform did not report its address")
            }
            return TimelineSetup(uri, process)
        } catch {
            process.stop()
            throw error
        }
    }

    private init(_ uri: String, _ process: PCastProcess) { (self.uri, self.process) = (uri, process) }

    func stop() { process.stop() }

    /// Sends a request about a game as the producer. Throws `BenchFailure` if the platform refuses it.
    func send(_ method: String, _ path: String, _ body: JSONObject?) async throws {
        let credentials = Base64.encode(Array(Self.application.utf8))
        let answer = try await HTTPRequests.send(
            method, uri + "/timeline/" + path, headers: [("Authorization", "Basic \(credentials)")],
            body: body.map { $0.bytes })
        guard (200...201).contains(answer.status) else {
            throw BenchFailure(
                "the platform responded with status \(answer.status): \(String(decoding: answer.body, as: UTF8.self))")
        }
    }
}
