import FoundationEssentials
internal import GRDB
public import PCastCore

/// An event of a stream in the form of a notification's body.
struct StreamNotification {
    private let kind: NotificationRecord.Kind
    private let stream: StreamRecord
    private let time: WallTime
    /// The path of the multivariant playlist, for `playlist` and `on-demand`.
    private let playlist: String?
    /// The reason why a recording ended before its stream, for `on-demand`.
    private let failure: String?

    init(
        _ kind: NotificationRecord.Kind, of stream: StreamRecord, at time: WallTime, playlist: String? = nil,
        failure: String? = nil
    ) {
        self.failure = failure
        self.kind = kind
        self.stream = stream
        self.time = time
        self.playlist = playlist
    }

    private struct Body: Encodable {
        struct Content: Encodable {
            let streamId: String
            let tags: [String]
            let reason: String?
            /// The duration of the stream in milliseconds.
            let duration: Int64?
            /// The path of a playlist on this platform.
            let uri: String?
            /// The type of the playlist, with the names of Phenix's `StreamPlaylist`.
            let playlistType: String?
            /// Whether the playlist lists variants.
            let isVariant: Bool?
        }

        let apiVersion = 0
        let entity = "stream"
        let what: String
        let data: Content
        let sessionId: String?
        let timestamp: String
    }

    /// Adds the event to the outbox for each callback of the application, at most once per stream and kind.
    func post(_ db: Database) throws {
        try Outbox.add(
            id: RandomName.make(prefix: "msg_"), of: stream.application, stream: stream.id.description, name: nil,
            queue: stream.id.description, kind, try body(), at: time, db)
    }

    private func body() throws -> Data {
        let isEnd = kind == .ended
        let content = Body.Content(
            streamId: stream.id.description, tags: stream.tags, reason: isEnd ? stream.reason : failure,
            duration: isEnd ? Int64((stream.duration ?? .zero).milliseconds) : nil, uri: playlist,
            playlistType: playlist.map { _ in kind == .onDemand ? "OnDemand" : "Live" },
            isVariant: playlist.map { _ in true })
        return try Outbox.encoded(
            Body(
                what: kind.rawValue, data: content, sessionId: stream.session?.description,
                timestamp: Timestamp.text(time)))
    }
}

/// An event of a named stream: viewers can join (`ready`), it has ended (`ended`), viewers wait for a source on demand
/// (`demanded`), or the media of another publisher are forwarded (`switched`).
public struct NameEventRecord: Sendable, Hashable {
    /// The identifier of the notification.
    let id = RandomName.make(prefix: "msg_")
    /// The application of the stream.
    public var application: ApplicationID
    /// The name.
    public var name: String
    /// The stream that viewers receive; nil while there is none.
    public var stream: StreamID?
    /// The kind of event.
    public var kind: NotificationRecord.Kind
    /// The reason of a switch as a word, such as `silent`; nil for other events.
    public var reason: String?
    /// The publisher whose media are forwarded since a switch; nil for other events.
    public var publisher: StreamID?
    /// The time of the event.
    public var time: WallTime

    /// Creates an event.
    public init(
        application: ApplicationID, name: String, stream: StreamID?, kind: NotificationRecord.Kind,
        reason: String? = nil, publisher: StreamID? = nil, time: WallTime
    ) {
        self.application = application
        self.name = name
        self.stream = stream
        self.kind = kind
        self.reason = reason
        self.publisher = publisher
        self.time = time
    }

    private struct Body: Encodable {
        struct Content: Encodable {
            let name: String
            let streamId: String?
            let publisherId: String?
            let reason: String?
        }

        let apiVersion = 0
        let entity = "name"
        let what: String
        let data: Content
        let timestamp: String
    }

    /// Adds the event to the outbox for each callback of the application. The events of a name are delivered in order.
    func post(_ db: Database) throws {
        let content = Body.Content(
            name: name, streamId: stream?.description, publisherId: publisher?.description, reason: reason)
        try Outbox.add(
            id: id, of: application, stream: stream?.description ?? "", name: name, queue: "name:" + name, kind,
            try Outbox.encoded(Body(what: kind.rawValue, data: content, timestamp: Timestamp.text(time))), at: time,
            db)
    }
}

/// The table of notifications and of their deliveries.
enum Outbox {
    /// Adds a notification and its deliveries. An event that is there already is not added again: one with the same
    /// identifier, or another one of the same stream and kind.
    static func add(
        id: String, of application: ApplicationID, stream: String, name: String?, queue: String,
        _ kind: NotificationRecord.Kind, _ body: Data, at time: WallTime, _ db: Database
    ) throws {
        try db.execute(
            sql: """
                INSERT INTO notification (id, application, stream, name, what, body, time)
                VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING
                """,
            arguments: [
                id, application.description, stream, name, kind.rawValue, body, time.millisecondsSinceEpoch,
            ])
        guard db.changesCount > 0 else { return }
        try db.execute(
            sql: """
                INSERT INTO delivery (notification, callback, stream, state, attempts, due)
                SELECT ?, number, ?, 'pending', 0, ? FROM callback WHERE application = ?
                """,
            arguments: [db.lastInsertedRowID, queue, time.millisecondsSinceEpoch, application.description])
    }

    static func encoded(_ body: some Encodable) throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return try encoder.encode(body)
    }
}
