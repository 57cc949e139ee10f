import FoundationEssentials
internal import GRDB
internal import PCastCore

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
        let id = RandomName.make(prefix: "msg_")
        try db.execute(
            sql: """
                INSERT INTO notification (id, application, stream, what, body, time) VALUES (?, ?, ?, ?, ?, ?)
                ON CONFLICT (stream, what) DO NOTHING
                """,
            arguments: [
                id, stream.application.description, stream.id.description, kind.rawValue, try body(),
                time.millisecondsSinceEpoch,
            ])
        guard db.changesCount > 0 else { return }
        try db.execute(
            sql: """
                INSERT INTO delivery (notification, callback, stream, state, attempts, due)
                SELECT ?, number, ?, 'pending', 0, ? FROM callback WHERE application = ?
                """,
            arguments: [
                db.lastInsertedRowID, stream.id.description, time.millisecondsSinceEpoch,
                stream.application.description,
            ])
    }

    private func body() throws -> Data {
        let isEnd = kind == .ended
        let content = Body.Content(
            streamId: stream.id.description, tags: stream.tags, reason: isEnd ? stream.reason : failure,
            duration: isEnd ? Int64((stream.duration ?? .zero).milliseconds) : nil, uri: playlist,
            playlistType: playlist.map { _ in kind == .onDemand ? "OnDemand" : "Live" },
            isVariant: playlist.map { _ in true })
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return try encoder.encode(
            Body(
                what: kind.rawValue, data: content, sessionId: stream.session?.description,
                timestamp: Timestamp.text(time)))
    }
}
