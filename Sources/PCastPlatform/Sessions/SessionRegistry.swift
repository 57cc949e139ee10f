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
        /// Its media connection is gone, and the client may set it up again.
        case interrupted(StreamID)
        case dataQuality(StreamID, DataQuality)
    }

    private struct Entry {
        let application: ApplicationID
        /// Who began it; nil where that is not known.
        let owner: String?
        /// Its place among those that there may be; nil for one of the platform that ran before.
        var seat: Seat?
        /// Where events of the session go; nil while its connection is broken.
        var deliver: Delivery?
        /// Which connection the session is on; an older one that ends later changes nothing.
        var connection: Int
        var streams: Set<StreamID> = []
        /// Those of them that are to be set up again.
        var interrupted: Set<StreamID> = []
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

    /// A session that stayed away for too long, and its streams, which end with it.
    struct Expired: Sendable {
        let id: SessionID
        let streams: Set<StreamID>
    }

    /// Sessions kept at most; when full, those that are away longest make room, and with none away, new ones are
    /// refused.
    private static let capacity = 50_000

    private let journal: Journal?
    /// A session that stays away so long ends.
    private let absence: TimeSpan
    private var sessions: [SessionID: Entry] = [:]
    private var absent = AbsentSessions()
    private var expired: [Expired] = []
    private var nextConnection = 0

    /// - Parameter journal: where sessions are recorded; nil for nowhere.
    init(journal: Journal? = nil, absence: TimeSpan = PlatformConfiguration.defaultSessionAbsence) {
        self.journal = journal
        self.absence = absence
    }

    /// How many there are, and how many of them have no connection.
    var counts: (all: Int, absent: Int) { (sessions.count, absent.count) }

    /// Takes over the sessions of the platform that ran before: as long as they are not away for too long, their clients
    /// may take them up again.
    ///
    /// - Parameter interrupted: their streams, which are to be set up again.
    func restore(_ records: [SessionRecord], interrupted: [SessionID: Set<StreamID>] = [:], at now: Instant) {
        for record in records.prefix(Self.capacity) {
            let streams = interrupted[record.id] ?? []
            sessions[record.id] = Entry(
                application: record.application, owner: record.owner, deliver: nil, connection: 0, streams: streams,
                interrupted: streams)
            absent.left(record.id, at: now)
        }
    }

    /// How many sessions a platform takes over.
    static let restored = 10_000

    /// Opens a session, or resumes the one that `previous` names, where it is of the same application and owner.
    ///
    /// - Parameters:
    ///   - owner: whose token it is.
    ///   - seat: of a new session.
    /// - Returns: nil when there is no room.
    func open(
        _ application: ApplicationID, previous: SessionID?,
        by owner: SessionOwner = SessionOwner(identity: "this machine"),
        seat: Seat? = nil, at now: Instant,
        deliver: @escaping Delivery
    ) -> Opened? {
        nextConnection += 1
        expire(at: now)
        if let previous, let entry = sessions[previous], entry.application == application,
            owner.mayResume(previous, begunBy: entry.owner)
        {
            sessions[previous]?.deliver = deliver
            sessions[previous]?.connection = nextConnection
            sessions[previous]?.untold = []
            sessions[previous]?.untoldQualities = [:]
            absent.returned(previous)
            return Opened(id: previous, connection: nextConnection, untold: Self.untold(entry))
        }
        if sessions.count >= Self.capacity, let longest = absent.popFirst() { forget(longest) }
        guard sessions.count < Self.capacity else { return nil }
        let id = SessionID(RandomIdentifier.make(prefix: "session-"))
        sessions[id] = Entry(
            application: application, owner: owner.identity, seat: seat, deliver: deliver, connection: nextConnection)
        journal?.note(
            .sessionOpened(
                SessionRecord(
                    id: id, application: application, opened: MonotonicClock.wallTime(), owner: owner.identity)))
        return Opened(id: id, connection: nextConnection, untold: [])
    }

    private static func untold(_ entry: Entry) -> [News] {
        entry.untoldQualities.map { News.dataQuality($0.key, $0.value) } + entry.untold.map { .ended($0) }
            + entry.interrupted.map { .interrupted($0) }
    }

    /// Ends sessions that have been away for too long.
    ///
    /// - Returns: each once, so that its streams can be ended.
    func endAbsent(at now: Instant) -> [Expired] {
        expire(at: now)
        defer { expired = [] }
        return expired
    }

    private func expire(at now: Instant) {
        while let id = absent.popFirst(leftBy: now - absence) { forget(id) }
    }

    /// Whether who has that token may resume that session.
    func mayResume(_ id: SessionID?, of application: ApplicationID, by owner: SessionOwner) -> Bool {
        guard let id, let entry = sessions[id] else { return false }
        return entry.application == application && owner.mayResume(id, begunBy: entry.owner)
    }

    private func forget(_ id: SessionID) {
        guard let entry = sessions.removeValue(forKey: id) else { return }
        if !entry.streams.isEmpty { expired.append(Expired(id: id, streams: entry.streams)) }
        journal?.note(.sessionEnded(id, at: MonotonicClock.wallTime()))
    }

    /// The connection is gone; the session stays for a while.
    func connectionLost(_ id: SessionID, connection: Int, at now: Instant) {
        guard sessions[id]?.connection == connection, sessions[id]?.deliver != nil else { return }
        sessions[id]?.deliver = nil
        absent.left(id, at: now)
    }

    /// The client said goodbye.
    ///
    /// - Returns: its streams, which end with it.
    func close(_ id: SessionID) -> Set<StreamID> {
        guard let entry = sessions.removeValue(forKey: id) else { return [] }
        absent.returned(id)
        journal?.note(.sessionEnded(id, at: MonotonicClock.wallTime()))
        return entry.streams
    }

    /// - Returns: false when the session has ended.
    func began(_ stream: StreamID, in id: SessionID) -> Bool {
        sessions[id]?.interrupted.remove(stream)
        return sessions[id]?.streams.insert(stream) != nil
    }

    /// Whether a session has ended, or has been away for too long.
    func isGone(_ id: SessionID, at now: Instant) -> Bool {
        sessions[id] == nil || absent.since(id).map { now - $0 >= absence } ?? false
    }

    func forget(_ stream: StreamID, in id: SessionID) {
        sessions[id]?.streams.remove(stream)
        sessions[id]?.interrupted.remove(stream)
    }

    func owns(_ stream: StreamID, _ id: SessionID) -> Bool { sessions[id]?.streams.contains(stream) ?? false }

    /// A stream of the session ended: tells its client, or else keeps it until the client is back.
    func ended(_ end: StreamEnd, in id: SessionID) async {
        guard sessions[id]?.streams.remove(end.streamID) != nil else { return }
        sessions[id]?.interrupted.remove(end.streamID)
        sessions[id]?.untoldQualities[end.streamID] = nil
        if let deliver = sessions[id]?.deliver, await deliver(.ended(end)) { return }
        sessions[id]?.untold.append(end)
    }

    /// A stream of the session lost its media connection: its client is told as often as it comes back, until it has set
    /// the stream up again.
    func interrupted(_ stream: StreamID, in id: SessionID) async {
        guard owns(stream, id) else { return }
        sessions[id]?.interrupted.insert(stream)
        _ = await sessions[id]?.deliver?(.interrupted(stream))
    }

    /// The data quality of a stream of the session changed.
    func changed(_ quality: DataQuality, of stream: StreamID, in id: SessionID) async {
        guard owns(stream, id) else { return }
        if let deliver = sessions[id]?.deliver, await deliver(.dataQuality(stream, quality)) { return }
        if owns(stream, id) { sessions[id]?.untoldQualities[stream] = quality }
    }
}
