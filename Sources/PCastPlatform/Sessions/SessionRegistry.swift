import NIOCore
import PCastCore
import PCastDatabase
import PCastEdgeAuth
import PCastIO
import PCastWeb

/// The sessions of clients, so that a client can resume its session after its connection broke.
actor SessionRegistry {
    /// Sends a notification to a client. Returns false if the client is not connected any more.
    typealias Delivery = @Sendable (SessionUpdate) async -> Bool

    /// A notification to a session's client about its streams.
    enum SessionUpdate: Sendable {
        case ended(StreamEnd)
        /// The media connection of the stream is lost, and the client may reconnect.
        case interrupted(StreamID)
        case dataQuality(StreamID, DataQuality)
        /// Captions of a viewed stream. They are not kept for a client that is not connected.
        case captions(StreamID, [CaptionCue])
        /// The connection is to be closed, so that the client connects to another node. The session continues there with
        /// new viewings.
        case moved
        /// The connection is to be closed, because the token of the session is revoked.
        case revoked
    }

    private struct Entry {
        let application: ApplicationID
        /// The owner of the session; nil if unknown.
        let owner: String?
        /// The key by which the token of the client can be revoked; nil if it cannot.
        var revocationKey: String?
        /// The reservation in the quotas; nil for a session of the previous platform process.
        var reservation: QuotaReservation?
        /// The function that sends notifications; nil while the session has no connection.
        var deliver: Delivery?
        /// The number of the current connection. The end of an older connection has no effect.
        var connection: Int
        var streams: Set<StreamID> = []
        /// The viewings that the client can continue at another node.
        var movable: Set<StreamID> = []
        /// The time at which the client was requested to connect to another node; nil if it was not.
        var movedSince: Instant?
        /// Whether the client has not returned since then.
        var isMoving = false
        /// The streams whose media connection must be re-established.
        var interrupted: Set<StreamID> = []
        /// The streams that ended while the session had no connection.
        var pendingUpdates: [StreamEnd] = []
        /// The last data quality of each stream that changed while the session had no connection.
        var pendingQualities: [StreamID: DataQuality] = [:]
    }

    /// A session with its new connection.
    struct Opened: Sendable {
        let id: SessionID
        let connection: Int
        /// The notifications that occurred while the session had no connection.
        let pendingUpdates: [SessionUpdate]
    }

    /// A session whose client did not reconnect in time, and its streams, which end with it.
    struct Expired: Sendable {
        let id: SessionID
        let streams: Set<StreamID>
    }

    /// The maximum number of sessions. If it is reached, the session that has had no connection for the longest time
    /// ends. If all are connected, new ones are rejected.
    private static let capacity = 50_000

    private let writeQueue: DatabaseWriteQueue?
    /// The time after which a session without a connection ends.
    private let absence: TimeSpan
    private var sessions: [SessionID: Entry] = [:]
    private var absent = DisconnectedSessions()
    private var expired: [Expired] = []
    private var nextConnection = 0

    /// Creates a registry. If `writeQueue` is nil, sessions are not persistent.
    init(
        writeQueue: DatabaseWriteQueue? = nil, absence: TimeSpan = TimeSpan(PlatformConfiguration.defaultSessionTimeout)
    ) {
        self.writeQueue = writeQueue
        self.absence = absence
    }

    /// The number of sessions, and of those without a connection.
    var counts: (all: Int, absent: Int) { (sessions.count, absent.count) }

    /// Restores the sessions of the previous platform process, which their clients may resume in time. `interrupted`
    /// are their streams, whose media connections must be re-established.
    func restore(_ records: [SessionRecord], interrupted: [SessionID: Set<StreamID>] = [:], at now: Instant) {
        for record in records.prefix(Self.capacity) {
            let streams = interrupted[record.id] ?? []
            sessions[record.id] = Entry(
                application: record.application, owner: record.owner, deliver: nil, connection: 0, streams: streams,
                interrupted: streams)
            absent.left(record.id, at: now)
        }
    }

    /// The maximum number of restored sessions.
    static let restored = 10_000

    /// Resumes the session `previous` if it has the same application and owner; otherwise opens a new one. `reservation` is
    /// the reservation for a new session. Returns nil if there are too many sessions.
    func open(
        _ application: ApplicationID, previous: SessionID?,
        by owner: SessionOwner = SessionOwner(identity: "this machine"),
        reservation: QuotaReservation? = nil, at now: Instant,
        deliver: @escaping Delivery
    ) -> Opened? {
        nextConnection += 1
        expire(at: now)
        if let previous, let entry = sessions[previous], entry.application == application,
            owner.mayResume(previous, createdBy: entry.owner)
        {
            sessions[previous]?.deliver = deliver
            sessions[previous]?.connection = nextConnection
            sessions[previous]?.isMoving = false
            sessions[previous]?.revocationKey = owner.revocationKey
            sessions[previous]?.pendingUpdates = []
            sessions[previous]?.pendingQualities = [:]
            absent.returned(previous)
            return Opened(id: previous, connection: nextConnection, pendingUpdates: Self.pendingUpdates(entry))
        }
        if sessions.count >= Self.capacity, let longest = absent.popFirst() { discard(longest) }
        guard sessions.count < Self.capacity else { return nil }
        let id = SessionID(RandomIdentifier.make(prefix: "session-"))
        sessions[id] = Entry(
            application: application, owner: owner.identity, revocationKey: owner.revocationKey,
            reservation: reservation, deliver: deliver, connection: nextConnection)
        writeQueue?.note(
            .sessionOpened(
                SessionRecord(
                    id: id, application: application, opened: MonotonicClock.wallTime(), owner: owner.identity)))
        return Opened(id: id, connection: nextConnection, pendingUpdates: [])
    }

    private static func pendingUpdates(_ entry: Entry) -> [SessionUpdate] {
        entry.pendingQualities.map { SessionUpdate.dataQuality($0.key, $0.value) }
            + entry.pendingUpdates.map { .ended($0) }
            + entry.interrupted.map { .interrupted($0) }
    }

    /// Ends the sessions whose clients did not reconnect in time. Returns each of them once, so that the caller can end
    /// its streams.
    func endAbsent(at now: Instant) -> [Expired] {
        expire(at: now)
        defer { expired = [] }
        return expired
    }

    private func expire(at now: Instant) {
        while let id = absent.popFirst(disconnectedBy: now - absence) { discard(id) }
    }

    /// Returns whether an owner may resume a session.
    func mayResume(_ id: SessionID?, of application: ApplicationID, by owner: SessionOwner) -> Bool {
        guard let id, let entry = sessions[id] else { return false }
        return entry.application == application && owner.mayResume(id, createdBy: entry.owner)
    }

    private func discard(_ id: SessionID) {
        guard let entry = sessions.removeValue(forKey: id) else { return }
        if !entry.streams.isEmpty { expired.append(Expired(id: id, streams: entry.streams)) }
        writeQueue?.note(.sessionEnded(id, at: MonotonicClock.wallTime()))
    }

    /// Records that a connection is lost. The session remains for a while.
    func connectionLost(_ id: SessionID, connection: Int, at now: Instant) {
        guard sessions[id]?.connection == connection, sessions[id]?.deliver != nil else { return }
        sessions[id]?.deliver = nil
        absent.left(id, at: now)
    }

    /// Closes a session at the client's request. Returns its streams, which end with it.
    func close(_ id: SessionID) -> Set<StreamID> {
        guard let entry = sessions.removeValue(forKey: id) else { return [] }
        absent.returned(id)
        writeQueue?.note(.sessionEnded(id, at: MonotonicClock.wallTime()))
        return entry.streams
    }

    /// Closes the sessions that use a token which is revoked. Returns their streams, which end with them.
    func close(by key: String) async -> Set<StreamID> {
        // All are closed before the first is notified, because a session may be resumed meanwhile with another token.
        let revoked = sessions.filter { $0.value.revocationKey == key }
        let streams = revoked.keys.reduce(into: Set<StreamID>()) { $0.formUnion(close($1)) }
        for entry in revoked.values { _ = await entry.deliver?(.revoked) }
        return streams
    }

    // MARK: Moving

    /// Closes connections, so that their clients connect to another node, because this one drains. Only sessions are moved
    /// that have nothing but viewings which their clients can continue there. Sessions of clients that have left, and not
    /// returned for a while, end.
    ///
    /// - Parameters:
    ///   - start: The start of draining. Requests before it do not count.
    ///   - limit: The maximum number of requests.
    ///   - wait: The time between the request and the end.
    ///   - now: The present time.
    /// - Returns: The viewings of the sessions that ended, which end with them.
    func move(
        since start: Instant, atMost limit: Int, endingAfter wait: TimeSpan, at now: Instant
    ) async -> Set<StreamID> {
        var (requested, due): ([SessionID], [SessionID]) = ([], [])
        for (id, entry) in sessions {
            if let since = entry.movedSince, since >= start {
                if entry.isMoving, entry.deliver == nil, now - since >= wait { due.append(id) }
            } else if entry.deliver != nil, !entry.streams.isEmpty, entry.streams.isSubset(of: entry.movable),
                requested.count < limit
            {
                requested.append(id)
            }
        }
        let viewings = due.reduce(into: Set<StreamID>()) { $0.formUnion(close($1)) }
        for id in requested {
            guard let deliver = sessions[id]?.deliver else { continue }
            sessions[id]?.movedSince = now
            // The client may return before the delivery is complete.
            sessions[id]?.isMoving = true
            if await !deliver(.moved) { sessions[id]?.isMoving = false }
        }
        return viewings
    }

    /// Whether the client of a session was requested to connect to another node, and has not returned.
    func isMoving(_ id: SessionID) -> Bool { sessions[id]?.isMoving == true }

    /// Records a new stream of a session. `canMove` is whether the client can continue it at another node. Returns false
    /// if the session has ended.
    func began(_ stream: StreamID, in id: SessionID, canMove: Bool = false) -> Bool {
        sessions[id]?.interrupted.remove(stream)
        if canMove { sessions[id]?.movable.insert(stream) }
        return sessions[id]?.streams.insert(stream) != nil
    }

    /// Returns whether a session has ended, or has had no connection for too long.
    func isGone(_ id: SessionID, at now: Instant) -> Bool {
        sessions[id] == nil || absent.since(id).map { now - $0 >= absence } ?? false
    }

    func discard(_ stream: StreamID, in id: SessionID) {
        sessions[id]?.streams.remove(stream)
        sessions[id]?.movable.remove(stream)
        sessions[id]?.interrupted.remove(stream)
    }

    /// Sends captions to the client, if it is connected.
    func received(_ captions: [CaptionCue], of stream: StreamID, in id: SessionID) async {
        guard owns(stream, id) else { return }
        _ = await sessions[id]?.deliver?(.captions(stream, captions))
    }

    /// Returns the streams of a session.
    func streams(of id: SessionID) -> Set<StreamID> { sessions[id]?.streams ?? [] }

    func owns(_ stream: StreamID, _ id: SessionID) -> Bool { sessions[id]?.streams.contains(stream) ?? false }

    /// Records the end of a stream. The client is notified now, or when it reconnects.
    func ended(_ end: StreamEnd, in id: SessionID) async {
        guard sessions[id]?.streams.remove(end.streamID) != nil else { return }
        sessions[id]?.movable.remove(end.streamID)
        sessions[id]?.interrupted.remove(end.streamID)
        sessions[id]?.pendingQualities[end.streamID] = nil
        if let deliver = sessions[id]?.deliver, await deliver(.ended(end)) { return }
        sessions[id]?.pendingUpdates.append(end)
    }

    /// Records that a stream lost its media connection. The client is notified, also at each reconnection, until it has
    /// re-established the media connection.
    func interrupted(_ stream: StreamID, in id: SessionID) async {
        guard owns(stream, id) else { return }
        sessions[id]?.interrupted.insert(stream)
        _ = await sessions[id]?.deliver?(.interrupted(stream))
    }

    /// Notifies the client about the data quality of a stream.
    func changed(_ quality: DataQuality, of stream: StreamID, in id: SessionID) async {
        guard owns(stream, id) else { return }
        if let deliver = sessions[id]?.deliver, await deliver(.dataQuality(stream, quality)) { return }
        if owns(stream, id) { sessions[id]?.pendingQualities[stream] = quality }
    }
}

/// The owner of a session according to its token. Nobody else may resume the session, even if they know its identifier.
struct SessionOwner: Hashable, Sendable {
    /// The owner of the token that began the session, see `Principal.publisher`; nil for a session of an older version.
    let identity: String?
    /// The only session for which the token is valid; nil if it is not restricted. A renewed token of the same owner
    /// contains it.
    let session: SessionID?
    /// The key by which the token can be revoked; nil if it cannot.
    let revocationKey: String?

    init(_ principal: Principal) {
        identity = principal.job.map { "worker of \($0.stream)" } ?? principal.publisher ?? ""
        session = principal.token?.sessionID.map { SessionID($0) }
        revocationKey = principal.revocationKey
    }

    init(identity: String?) {
        self.identity = identity
        (session, revocationKey) = (nil, nil)
    }

    /// Returns whether the owner may resume a session that `creator` began.
    func mayResume(_ id: SessionID, createdBy creator: String?) -> Bool {
        session == id || creator == nil || creator == identity
    }
}

/// The sessions without a connection, ordered by the time since then. Each operation takes constant time on average.
struct DisconnectedSessions {
    private var since: [SessionID: Instant] = [:]
    /// The sessions ordered by time. An element that does not match `since` is obsolete.
    private var queue: [(id: SessionID, since: Instant)] = []
    private var head = 0

    var count: Int { since.count }

    /// The number of stored elements, including obsolete ones.
    var storedCount: Int { queue.count }

    func since(_ id: SessionID) -> Instant? { since[id] }

    /// Adds a session. `now` must not be earlier than at the last call.
    mutating func left(_ id: SessionID, at now: Instant) {
        since[id] = now
        queue.append((id, now))
    }

    mutating func returned(_ id: SessionID) {
        since[id] = nil
        // Sessions that reconnect leave obsolete elements.
        if queue.count - head > 2 * since.count + 64 { compact() }
    }

    /// Removes and returns the session that has had no connection for the longest time; nil if it disconnected after
    /// `time`.
    mutating func popFirst(disconnectedBy time: Instant = Instant(nanoseconds: .max)) -> SessionID? {
        while head < queue.count {
            let first = queue[head]
            if since[first.id] == first.since {
                guard first.since <= time else { return nil }
                since[first.id] = nil
                head += 1
                return first.id
            }
            head += 1
        }
        queue.removeAll()
        head = 0
        return nil
    }

    private mutating func compact() {
        queue = queue[head...].filter { since[$0.id] == $0.since }
        head = 0
    }
}

/// The reservation of a WebSocket's connection. Connections through a proxy count for the client that the proxy
/// reports.
struct SessionReservation: Sendable {
    /// Nil for a client without a proxy, whose connection was already counted when it was accepted.
    let reservation: QuotaReservation?
}

extension RequestLimiter {
    /// The close status "try again later" of the WebSocket registry (RFC 6455, section 11.7).
    private static let tryAgainLater: UInt16 = 1_013

    /// Reserves a place for a connection; nil if there is none, after the connection was closed.
    func reserve(for connection: WebSocketConnection) async -> SessionReservation? {
        let peer = connection.remoteAddress?.ipAddress.flatMap { IPAddress($0) }
        let client = address(of: peer, fields: connection.request?.fields ?? { _ in [] })
        do throws(APIError) {
            try takeRequest(from: client, at: MonotonicClock.now())
            guard isTrustedProxy(peer) else { return SessionReservation(reservation: nil) }
            return SessionReservation(reservation: try reserve(.connection, of: nil, from: client))
        } catch {
            await connection.refuse(status: Self.tryAgainLater)
            return nil
        }
    }
}
