import PCastCore
import PCastJSON
package import PCastTimeline

/// The game of a timeline for the nodes of a cluster.
package struct TimelineLinkGame: Hashable, Codable, Sendable {
    let application: String
    let league: String
    let game: String

    init(_ key: TimelineKey) {
        (application, league, game) = (key.application.description, key.game.league, key.game.game)
    }

    /// The key of the timeline; nil if a name is invalid.
    var key: TimelineKey? {
        guard let game = try? TimelineGame(league: league, game: game) else { return nil }
        return TimelineKey(application: ApplicationID(application), game: game)
    }
}

/// The logs of a node's revisions.
package struct TimelineLinkLineage: Hashable, Codable, Sendable {
    private let logs: [String]
    private let starts: [Int]

    init(_ lineage: TimelineLineage) {
        logs = lineage.forks.map(\.log.description)
        starts = lineage.forks.map(\.after.value)
    }

    /// The lineage; nil if it is invalid.
    package var value: TimelineLineage? {
        guard logs.count == starts.count, starts.allSatisfy({ TimelineLinkLimits.numbers.contains($0) }),
            logs.allSatisfy({ TimelineLinkLimits.logName.contains($0.utf8.count) })
        else { return nil }
        return TimelineLineage(
            zip(logs, starts).map { TimelineLineage.Fork(TimelineLogID($0), after: SequenceNumber($1)) })
    }
}

/// The limits of messages between nodes.
enum TimelineLinkLimits {
    /// The permitted numbers of revisions.
    static let numbers = 0...Int(Int32.max)
    /// The permitted lengths of the identifier of a log, in bytes. It is a part of the identifiers of merged revisions.
    static let logName = 1...128
    /// The size of a message in bytes, beyond which revisions are sent in the next one.
    static let messageBytes = 256 * 1024
}

/// A change of a timeline that a producer requests at a node that is not the home.
package struct TimelineLinkRecord: Codable, Sendable {
    private enum Kind: String, Codable {
        case info
        case put
        case patch
        case delete
    }

    let number: Int
    let game: TimelineLinkGame
    /// The identifier of the request, which results in one revision only.
    let origin: String
    private let kind: Kind
    private let event: String?
    /// The description, the event or the patch as JSON.
    private let body: String?
    /// The stated time of recording, in milliseconds since 1970.
    private let recordedAt: Int64?

    init(_ request: TimelineRequest, origin: String, number: Int, game: TimelineLinkGame) {
        (self.number, self.game, self.origin) = (number, game, origin)
        recordedAt = request.recordedAt?.millisecondsSinceEpoch
        switch request.change {
        case .info(let info): (kind, event, body) = (.info, nil, info.object.text)
        case .put(let id, let value): (kind, event, body) = (.put, id.description, value.object.text)
        case .patch(let id, let patch): (kind, event, body) = (.patch, id.description, patch.text)
        case .delete(let id): (kind, event, body) = (.delete, id.description, nil)
        }
    }

    /// The request; nil if it is invalid.
    package var request: TimelineRequest? {
        let bytes = Array((body ?? "").utf8)
        let id = event.flatMap { try? TimelineEventID($0) }
        var time: WallTime?
        if let recordedAt {
            guard (-9_000_000_000_000...9_000_000_000_000).contains(recordedAt) else { return nil }
            time = WallTime(millisecondsSinceEpoch: recordedAt)
        }
        let change: TimelineRequest.Change?
        switch kind {
        case .info: change = (try? GameInfo(parsing: bytes)).map { .info($0) }
        case .put:
            let event = try? GameEvent(parsing: bytes)
            change = id.flatMap { id in event.map { .put(id, $0) } }
        case .patch: change = id.flatMap { try? TimelineRequest.patch($0, parsing: bytes) }
        case .delete: change = id.map { .delete($0) }
        }
        guard let change, (1...TimelineLimits.standard.name).contains(origin.utf8.count) else { return nil }
        return TimelineRequest(change, recordedAt: time)
    }
}

/// A message to the home of a timeline.
package enum TimelineLinkRequest: Codable, Sendable {
    /// The node compares its revisions with those of the home. `follows` is whether it receives new ones.
    case attach(TimelineLinkGame, node: String, TimelineLinkLineage, newest: Int, follows: Bool)
    /// The revisions of the node after the last one that both share, as JSON.
    case revisions(TimelineLinkGame, [String], isLast: Bool)
    case record(TimelineLinkRecord)
    /// The node has stored the revisions up to a number.
    case stored(TimelineLinkGame, Int)
}

/// A message of the home of timelines. Messages are applied in their order.
package enum TimelineLinkEvent: Codable, Sendable {
    /// The home requests the revisions of the node after a number.
    case want(TimelineLinkGame, after: Int)
    /// The revisions of the node after a number are replaced by those that follow, up to the newest one.
    case reset(TimelineLinkGame, TimelineLinkLineage, after: Int, newest: Int)
    /// The next revisions, as JSON.
    case revisions(TimelineLinkGame, [String])
    /// The request with a number was recorded as a revision, or changes nothing. The revision precedes the message.
    case recorded(Int, revision: Int?)
    /// The request with a number was rejected.
    case rejected(Int)
    /// The node is not the home, or not any more: the answer to an attachment, or to a request with a number.
    case absent(TimelineLinkGame, request: Int?)
}

extension TimelineRevision {
    /// Parses revisions of another node; nil if one is invalid.
    package static func list(_ texts: [String]) -> [TimelineRevision]? {
        var revisions: [TimelineRevision] = []
        for text in texts {
            guard let revision = try? TimelineRevision(parsing: Array(text.utf8)) else { return nil }
            revisions.append(revision)
        }
        return revisions
    }

    /// Returns revisions as texts of messages, each of which has a limited size.
    static func pieces(_ revisions: some Sequence<TimelineRevision>) -> [[String]] {
        var pieces: [[String]] = []
        var size = TimelineLinkLimits.messageBytes
        for revision in revisions {
            let text = String(decoding: revision.bytes, as: UTF8.self)
            size += text.utf8.count
            if size > TimelineLinkLimits.messageBytes { (pieces, size) = (pieces + [[]], text.utf8.count) }
            pieces[pieces.count - 1].append(text)
        }
        return pieces
    }
}
