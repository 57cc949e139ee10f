import PCastCore
import PCastPlayback
import PCastTimeline

/// A scripted timeline service. A connection is accepted when the test reads it.
final class ScriptedTimelines: TimelineSource {
    struct Connection: Sendable {
        var since: Int
        var log: String?
        fileprivate var messages: AsyncThrowingStream<TimelineMessage, any Error>.Continuation

        func say(_ message: TimelineMessage) { messages.yield(message) }

        /// Sends everything that the other end does not have.
        func begin(_ log: TimelineLog, as name: String = "log") {
            let from = self.log == nil || self.log == name ? SequenceNumber(since) : .none
            say(.begin(TimelineLogID(name), newest: log.newest, from: from))
            let changes = log.changes(since: from)
            if !changes.isEmpty { say(.changes(Array(changes))) }
        }

        func end(_ trouble: TimelineFollowError? = nil) { messages.finish(throwing: trouble) }
    }

    /// The connections in order, for one reader.
    let connections: AsyncStream<Connection>
    private let arrived: AsyncStream<Connection>.Continuation
    private let isThere: Bool

    init(exists: Bool = true) {
        (connections, arrived) = AsyncStream.makeStream()
        isThere = exists
    }

    func exists(_ game: TimelineGame) async throws(TimelineFollowError) -> Bool { isThere }

    func follow(
        _ game: TimelineGame, since: SequenceNumber, of log: TimelineLogID?,
        _ take: @escaping @Sendable (TimelineMessage) throws -> Void
    ) async throws {
        let (stream, messages) = AsyncThrowingStream<TimelineMessage, any Error>.makeStream()
        arrived.yield(Connection(since: since.value, log: log?.description, messages: messages))
        for try await message in stream { try take(message) }
    }
}

/// A log that is made of producers' requests.
struct TimelineScript {
    private(set) var log = TimelineLog()

    /// Adds an event that happened at a number of seconds of wall-clock time. It is known at the same time unless
    /// `recorded` differs.
    mutating func put(_ id: String, at: Double, recorded: Double? = nil, _ text: String = "") throws {
        var event = GameEvent()
        event.timestamp = Timestamp.text(Self.time(at))
        event.description = text
        event.type = .goal
        try record(.put(try TimelineEventID(id), event), recorded ?? at)
    }

    mutating func delete(_ id: String, recorded: Double) throws {
        try record(.delete(try TimelineEventID(id)), recorded)
    }

    mutating func describe(_ venue: String, recorded: Double) throws {
        var info = GameInfo()
        info.venueName = venue
        try record(.info(info), recorded)
    }

    private mutating func record(_ change: TimelineRequest.Change, _ recorded: Double) throws {
        if let revision = try log.revision(for: TimelineRequest(change), at: Self.time(recorded)) {
            try log.append(revision)
        }
    }

    static func time(_ seconds: Double) -> WallTime {
        WallTime(millisecondsSinceEpoch: Int64((seconds * 1_000).rounded()))
    }
}

extension TimelineDelivery {
    /// The delivery as a line, such as `modified goal corrected (seek)`.
    var line: String {
        let what = eventID.map { "\($0)" } ?? "game"
        let text = event?.description ?? info?.venueName ?? ""
        return "\(type) \(what)\(text.isEmpty ? "" : " \(text)")\(reason.map { " (\($0))" } ?? "")"
    }
}
