import Foundation
import PCastCore
import PCastIO
import PCastJSON
import Synchronization

/// A process of `pcast` whose events are recorded with their times of arrival.
final class RecordedProcess: Sendable {
    struct Event: Sendable {
        let instant: Instant
        let object: JSONObject

        var name: String { text("event") ?? "" }

        func number(_ field: String) -> Double? { object[field]?.number }

        func text(_ field: String) -> String? {
            guard case .string(let value)? = object[field] else { return nil }
            return value
        }
    }

    private let process: PCastProcess
    private let command: String
    private let record: Record

    private final class Record: Sendable {
        let events = Mutex<[Event]>([])
        let isOver = Atomic(false)
    }

    /// Starts a program of this build, by default `pcast`. Throws an error if it cannot be started.
    init(
        _ arguments: [String], of program: String = "pcast", environment: [String: String] = [:],
        in namespace: NetworkNamespace?, trusting certificate: TrustedCertificate? = nil
    ) throws {
        let process = try PCastProcess(
            arguments, of: program, environment: environment,
            behind: (namespace?.prefix ?? []) + (certificate?.prefix ?? []))
        let record = Record()
        self.process = process
        self.record = record
        command = "\(program) " + arguments.joined(separator: " ")
        Task {
            for await object in process.events {
                record.events.withLock { $0.append(Event(instant: MonotonicClock.now(), object: object)) }
            }
            record.isOver.store(true, ordering: .relaxed)
        }
    }

    /// Returns the recorded events with a name after `start` and up to `end`.
    func events(_ name: String, since start: Instant? = nil, until end: Instant? = nil) -> [Event] {
        record.events.withLock { events in
            events.filter { event in
                event.name == name && start.map { event.instant > $0 } ?? true
                    && end.map { event.instant <= $0 } ?? true
            }
        }
    }

    /// Returns the first event with a name after `start` that satisfies the condition, and waits for it if necessary.
    /// Throws `BenchFailure` if it does not arrive in time.
    func first(
        _ name: String, since start: Instant? = nil, within timeout: TimeSpan = .seconds(20),
        where isWanted: (Event) -> Bool = { _ in true }
    ) async throws -> Event {
        let end = MonotonicClock.now() + timeout
        while true {
            let isOver = record.isOver.load(ordering: .relaxed)
            if let event = events(name, since: start).first(where: isWanted) { return event }
            guard !isOver, MonotonicClock.now() < end else {
                let last = record.events.withLock { $0.last?.object.text } ?? "nothing"
                throw BenchFailure("“\(command)” did not report “\(name)”; its last line is \(last)")
            }
            try await Task.sleep(for: .milliseconds(10))
        }
    }

    /// Sends SIGINT without waiting for the process to end.
    func interrupt() { process.interrupt() }

    func stop() { process.stop() }
}

/// A viewer's statistics between two of its `stats` events.
struct ViewerMeasurement {
    private let first: RecordedProcess.Event
    private let last: RecordedProcess.Event
    private let all: [RecordedProcess.Event]
    /// The time of the viewer's first frame.
    private let beginning: Instant?

    /// Creates the statistics of an interval. Throws `BenchFailure` if the interval has fewer than two `stats` events.
    init(_ viewer: RecordedProcess, from start: Instant, until end: Instant) throws {
        let events = viewer.events("stats", since: start, until: end)
        guard let first = events.first, let last = events.last, events.count >= 2 else {
            throw BenchFailure("the viewer reported no statistics")
        }
        self.first = first
        self.last = last
        all = Array(events.dropFirst())
        beginning = viewer.events("firstFrame").first?.instant
    }

    var seconds: Double { (last.instant - first.instant).seconds }

    /// The increase of a counter; nil if the events do not contain it.
    func growth(_ field: String) -> Double? {
        guard let before = first.number(field), let after = last.number(field) else { return nil }
        return after - before
    }

    var framesPerSecond: Double? { growth("framesRendered").map { $0 / seconds } }
    var freezeCount: Double? { growth("freezeCount") }
    /// The share of the time in which video was frozen, 0 to 1.
    var freezeShare: Double? { growth("freezeDuration").map { $0 / 1_000 / seconds } }
    /// The median of the medians of each second, in milliseconds.
    var latencyP50: Double? { Percentile.of(values("latencyP50"), 0.5) }
    /// The mean of the bitrates of each second, in bits per second.
    var bitrate: Double? {
        let values = values("bitrate")
        return values.isEmpty ? nil : values.reduce(0, +) / Double(values.count)
    }

    func values(_ field: String) -> [Double] { all.compactMap { $0.number(field) } }

    /// The share of audio that was concealed or missing, 0 to 1. It is calculated from the events' values, which are
    /// shares since the first frame.
    var concealedShare: Double? {
        guard let beginning, let before = first.number("audioConcealed"), let after = last.number("audioConcealed")
        else { return nil }
        let elapsed = (last.instant - beginning).seconds
        let concealed = after * elapsed - before * (first.instant - beginning).seconds
        return max(0, concealed / seconds)
    }

    /// The number of frames shown whose time code in the test pattern could not be read.
    var brokenFrames: Double? { growth("framesBroken") }
}
