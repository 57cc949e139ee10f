import PCastIO
import PCastMedia
import PCastRecords

/// The sessions of clients, so that one that comes back after a broken connection is known again.
actor SessionRegistry {
    /// Tells a client; false when there is nobody any more to be told.
    typealias Delivery = @Sendable (News) async -> Bool

    /// What a session's client is told of its streams.
    enum News: Sendable {
        case ended(StreamEnd)
        case dataQuality(StreamID, DataQuality)
    }

    private struct Entry {
        let application: ApplicationID
        /// Its place among those that there may be; nil for one of the platform that ran before.
        var seat: Seat?
        /// Where events of the session go; nil while its connection is broken.
        var deliver: Delivery?
        /// Which connection the session is on; an older one that ends later changes nothing.
        var connection: Int
        var streams: Set<StreamID> = []
        var leftAt: Instant?
        /// Streams that ended while nobody was there to be told.
        var untold: [StreamEnd] = []
        /// What changed meanwhile, of each stream the last.
        var untoldQualities: [StreamID: DataQuality] = [:]
    }

    /// A connection that a session is on.
    struct Opened: Sendable {
        let id: SessionID
        let connection: Int
        /// What happened while the session had no connection: to be told now.
        let untold: [News]
    }

    /// Sessions kept at most; when full, those that are away longest make room, and with none away, new ones are
    /// refused.
    private static let capacity = 50_000

    /// A session that stays away so long is forgotten; its streams live and die by their own consent.
    private static let absence = TimeSpan.seconds(180)

    private let journal: Journal?
    private var sessions: [SessionID: Entry] = [:]
    private var nextConnection = 0

    /// - Parameter journal: where sessions are recorded; nil for nowhere.
    init(journal: Journal? = nil) { self.journal = journal }

    /// Takes over the sessions of the platform that ran before: as long as they are not away for too long, their clients
    /// may take them up again.
    func restore(_ records: [SessionRecord], at now: Instant) {
        for record in records.prefix(Self.capacity) {
            sessions[record.id] = Entry(application: record.application, deliver: nil, connection: 0, leftAt: now)
        }
    }

    /// How many sessions a platform takes over.
    static let restored = 10_000

    /// Opens a session, or takes up again the one that `previous` names, of the same application.
    ///
    /// - Parameter seat: of a new session.
    /// - Returns: nil when there is no room.
    func open(
        _ application: ApplicationID, previous: SessionID?, seat: Seat? = nil, at now: Instant,
        deliver: @escaping Delivery
    ) -> Opened? {
        nextConnection += 1
        for (id, entry) in sessions where entry.leftAt.map({ now - $0 >= Self.absence }) ?? false { forget(id) }
        if let previous, let entry = sessions[previous], entry.application == application {
            sessions[previous]?.deliver = deliver
            sessions[previous]?.connection = nextConnection
            sessions[previous]?.leftAt = nil
            sessions[previous]?.untold = []
            sessions[previous]?.untoldQualities = [:]
            let untold = entry.untoldQualities.map { News.dataQuality($0.key, $0.value) }
            return Opened(
                id: previous, connection: nextConnection, untold: untold + entry.untold.map { .ended($0) })
        }
        if sessions.count >= Self.capacity {
            let away = sessions.compactMap { id, entry in entry.leftAt.map { (id: id, since: $0) } }
            if let longest = away.min(by: { $0.since < $1.since }) { forget(longest.id) }
        }
        guard sessions.count < Self.capacity else { return nil }
        let id = SessionID(RandomIdentifier.make(prefix: "session-"))
        sessions[id] = Entry(application: application, seat: seat, deliver: deliver, connection: nextConnection)
        journal?.note(
            .sessionOpened(SessionRecord(id: id, application: application, opened: MonotonicClock.wallTime())))
        return Opened(id: id, connection: nextConnection, untold: [])
    }

    /// Whether that session can be taken up again.
    func knows(_ id: SessionID?, of application: ApplicationID) -> Bool {
        id.flatMap { sessions[$0] }?.application == application
    }

    private func forget(_ id: SessionID) {
        sessions[id] = nil
        journal?.note(.sessionEnded(id, at: MonotonicClock.wallTime()))
    }

    /// The connection is gone; the session stays for a while.
    func connectionLost(_ id: SessionID, connection: Int, at now: Instant) {
        guard sessions[id]?.connection == connection else { return }
        sessions[id]?.deliver = nil
        sessions[id]?.leftAt = now
    }

    /// The client said goodbye.
    ///
    /// - Returns: its streams, which end with it.
    func close(_ id: SessionID) -> Set<StreamID> {
        let streams = sessions[id]?.streams ?? []
        forget(id)
        return streams
    }

    /// - Returns: false when the session has ended.
    func began(_ stream: StreamID, in id: SessionID) -> Bool { sessions[id]?.streams.insert(stream) != nil }

    /// Whether a session has ended, or has been away for too long.
    func isGone(_ id: SessionID, at now: Instant) -> Bool {
        guard let entry = sessions[id] else { return true }
        return entry.leftAt.map { now - $0 >= Self.absence } ?? false
    }

    func forget(_ stream: StreamID, in id: SessionID) { sessions[id]?.streams.remove(stream) }

    func owns(_ stream: StreamID, _ id: SessionID) -> Bool { sessions[id]?.streams.contains(stream) ?? false }

    /// A stream of the session ended: tells its client, or else keeps it until the client is back.
    func ended(_ end: StreamEnd, in id: SessionID) async {
        guard sessions[id]?.streams.remove(end.streamID) != nil else { return }
        sessions[id]?.untoldQualities[end.streamID] = nil
        if let deliver = sessions[id]?.deliver, await deliver(.ended(end)) { return }
        sessions[id]?.untold.append(end)
    }

    /// The data quality of a stream of the session changed.
    func changed(_ quality: DataQuality, of stream: StreamID, in id: SessionID) async {
        guard owns(stream, id) else { return }
        if let deliver = sessions[id]?.deliver, await deliver(.dataQuality(stream, quality)) { return }
        if owns(stream, id) { sessions[id]?.untoldQualities[stream] = quality }
    }
}
