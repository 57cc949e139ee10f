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

    /// Starts a program of this build, by default `pcast`. `prefix` is a further command that runs another command.
    /// Throws an error if it cannot be started.
    init(
        _ arguments: [String], of program: String = "pcast", environment: [String: String] = [:],
        in namespace: NetworkNamespace?, trusting certificate: TrustedCertificate? = nil, behind prefix: [String] = []
    ) throws {
        let process = try PCastProcess(
            arguments, of: program, environment: environment,
            behind: (namespace?.prefix ?? []) + (certificate?.prefix ?? []) + prefix)
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
        where matches: (Event) -> Bool = { _ in true }
    ) async throws -> Event {
        let end = MonotonicClock.now() + timeout
        while true {
            let isOver = record.isOver.load(ordering: .relaxed)
            if let event = events(name, since: start).first(where: matches) { return event }
            guard !isOver, MonotonicClock.now() < end else {
                let last = record.events.withLock { $0.last?.object.text } ?? "nothing"
                throw BenchFailure("“\(command)” did not report “\(name)”; its last line is \(last)")
            }
            try await Task.sleep(for: .milliseconds(10))
        }
    }

    var processID: Int32 { process.processID }

    /// Sends SIGINT without waiting for the process to end.
    func interrupt() { process.interrupt() }

    func stop() { process.stop() }

    /// Sends SIGINT, and SIGKILL if the process has not ended in time. Waits for its end.
    func stop(within limit: TimeSpan) { process.stop(within: limit) }

    /// Sends SIGKILL and waits for the end of the process.
    func terminateAtOnce() { process.terminateAtOnce() }
}
