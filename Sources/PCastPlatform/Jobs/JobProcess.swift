import Foundation
import PCastCore
import PCastIO

/// A job from its start until its process has ended.
struct JobProcess {
    let work: IngestJobRunner
    let credential: String
    let application: ApplicationID
    let isDetached: Bool
    /// Called once when the job has ended after it had started; nil for none.
    var onEnd: (@Sendable (StreamEnd) async -> Void)?
    var process: ChildProcess?
    /// The request that waits until the job has started.
    var startContinuation: CheckedContinuation<Bool, Never>?
    /// The result of the start, if it is known before the request waits.
    var answer: Bool?
    /// The end reason that the process reported.
    var reportedEnd: (reason: String, description: String)?
    /// The rate of the lines that the process writes.
    var output = JobOutputRate()
    /// Whether the process has ended.
    var hasExited = false
    /// Whether the client was notified of the end, or never received the identifier of the stream.
    var isOver = false

    /// Reports whether the job has started. Only the first call has an effect.
    mutating func reportStart(_ isRunning: Bool) {
        guard answer == nil else { return }
        answer = isRunning
        startContinuation?.resume(returning: isRunning)
        startContinuation = nil
    }
}

/// The jobs whose processes are starting, and those that wait for them.
///
/// A process needs a processor until it opens its media (``JobReport/opening``). Only a few do so at the same time, and the
/// others wait in their order: of many that start at once, none would run before its timeout. Opening the media is not
/// limited, so that addresses that do not respond delay no other job.
struct JobStartQueue {
    /// The maximum number of processes that start at the same time, which keeps all processors busy.
    static let defaultLimit = max(4, 2 * ProcessInfo.processInfo.activeProcessorCount)

    private let limit: Int
    private var starting: Set<StreamID> = []
    private var waiting: [(id: StreamID, resume: @Sendable (Bool) -> Void)] = []

    init(limit: Int = defaultLimit) { self.limit = limit }

    /// Returns whether the process of a job may start now. If not, the job has to wait.
    mutating func begin(_ id: StreamID) -> Bool {
        guard starting.count < limit else { return false }
        starting.insert(id)
        return true
    }

    /// Adds a job that waits. `resume` is called once: with true if its process may start, and with false if the job has
    /// ended before.
    mutating func wait(_ id: StreamID, resume: @escaping @Sendable (Bool) -> Void) { waiting.append((id, resume)) }

    /// Records that the process of a job has started, or that the job has ended, and lets the next one start. Only the
    /// first call for a job has an effect.
    mutating func finish(_ id: StreamID) {
        if let index = waiting.firstIndex(where: { $0.id == id }) { return waiting.remove(at: index).resume(false) }
        guard starting.remove(id) != nil, !waiting.isEmpty else { return }
        let next = waiting.removeFirst()
        starting.insert(next.id)
        next.resume(true)
    }
}

/// The rate of a job's output, per second. External media controls a part of it, for example by decoding errors.
struct JobOutputRate: Sendable {
    /// The maximum number of lines per second. A process that writes more is ended.
    static let maximumLines = 2_000
    /// The maximum number of messages per second that are logged. Others are dropped.
    static let maximumMessages = 10

    /// The beginning of the current second; nil before the first line.
    private var began: Instant?
    private var lines = 0
    private var messages = 0
    private var isEnding = false

    /// Counts a line. Returns false if the process has written too many lines in this second.
    mutating func countLine(at now: Instant) -> Bool {
        if began.map({ now - $0 >= .seconds(1) }) ?? true { (began, lines, messages) = (now, 0, 0) }
        lines += 1
        return lines <= Self.maximumLines
    }

    /// Records that the process is ended because of its lines. Returns true for the first call only.
    mutating func beginEnd() -> Bool {
        defer { isEnding = true }
        return !isEnding
    }

    /// Counts a message, after its line. Returns whether it may be logged.
    mutating func countMessage() -> Bool {
        messages += 1
        return messages <= Self.maximumMessages
    }
}

/// A job that a declared stream needs, without a client.
struct DeclaredJob: Sendable {
    /// The name of the stream.
    let name: String
    let application: ApplicationID
    /// The role of the publisher; nil for a push.
    let role: NamedStreamMachine.Role?
    let uri: String
    let isLooping: Bool
    /// Returns whether the job is still needed. It is called before the process starts, which may be later.
    let isWanted: @Sendable () async -> Bool
    /// Called once when the job has ended after it had started.
    let onEnd: @Sendable (StreamEnd) async -> Void
    /// Whether H.265 is published as it is, and not as H.264.
    var passesH265 = false
}

/// An ingest or egress job: a stream that a process publishes or subscribes to on behalf of a client. A token of the
/// platform represents it.
struct IngestJobRunner: Sendable {
    enum Purpose: Hashable, Sendable {
        case publish
        /// Subscribes to this stream and pushes it.
        case egress(StreamID)
    }

    /// The identifier of the stream, which the client receives.
    let stream: StreamID
    let purpose: Purpose
    let tags: [String]
    /// The session of the client.
    let session: SessionID?
    /// The address of the client, towards whose limits the stream counts.
    let address: IPAddress?
    /// The role for the declared stream whose job this is; nil for a job of a client.
    var role: NamedStreamMachine.Role?
    /// Called once when the stream has ended.
    let ended: @Sendable (StreamEnd) async -> Void
}
