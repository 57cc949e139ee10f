import Foundation
import PCastIO
import PCastJSON
import PCastMedia
import Synchronization

/// A process of `pcast` all of whose events are kept, with when they came.
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

    /// - Parameter program: one that lies beside this one.
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

    /// Those of one name since an instant, and before another.
    func events(_ name: String, since start: Instant? = nil, until end: Instant? = nil) -> [Event] {
        record.events.withLock { events in
            events.filter { event in
                event.name == name && start.map { event.instant > $0 } ?? true
                    && end.map { event.instant <= $0 } ?? true
            }
        }
    }

    /// The first of a name since an instant that is as wanted, whether it has come already or will.
    ///
    /// - Throws: `BenchFailure` when it does not come in time.
    func first(
        _ name: String, since start: Instant? = nil, within patience: TimeSpan = .seconds(20),
        where isWanted: (Event) -> Bool = { _ in true }
    ) async throws -> Event {
        let end = MonotonicClock.now() + patience
        while true {
            let isOver = record.isOver.load(ordering: .relaxed)
            if let event = events(name, since: start).first(where: isWanted) { return event }
            guard !isOver, MonotonicClock.now() < end else {
                let last = record.events.withLock { $0.last?.object.text } ?? "nothing"
                throw BenchFailure("“\(command)” did not come to “\(name)”; last it told \(last)")
            }
            try await Task.sleep(for: .milliseconds(10))
        }
    }

    /// Asks it to end as Ctrl-C does, and does not wait for it.
    func interrupt() { process.interrupt() }

    func stop() { process.stop() }
}
