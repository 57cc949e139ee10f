import Logging
import PCastCore
import PCastDatabase
import PCastIO
import PCastSignaling

/// The rooms and channels of a platform. It drives a ``RoomMachine`` for each room, and sends the events.
///
/// A request changes a room and appends the events to the connections without a suspension in between. Therefore all
/// members receive the events of a room in the same order.
actor RoomService: RoomRequests {
    /// A room with the connections of its members.
    struct Room {
        var machine: RoomMachine
        var conversation: RoomConversation
        /// The members with a connection.
        var connections: [SessionID: RoomConnection] = [:]
        /// The connections of members before these whose ends are not known, as the machine has them.
        var formerConnections: [SessionID: [RoomConnection]] = [:]
        /// The members that receive the messages of the conversation.
        var subscribers: Set<SessionID> = []
        /// The connections of other nodes with members in the room, by their numbers.
        var nodes: [Int: RoomConnection] = [:]
        /// Whether the room stays when it is empty, because a backend has created it.
        var isPermanent: Bool
        /// Whether the room is in the database, and its conversation with it.
        var isStored = false
        /// The time since which the room has no members; nil while it has some.
        var emptySince: Instant?
        /// The presenter whose stream viewers of the channel's name receive, if it is available.
        var presenter: SessionID?
    }

    let configuration: RoomConfiguration
    /// Whether an unknown room is created when a client joins it.
    let createsOnJoin: Bool
    /// The homes of rooms; nil if the platform belongs to no cluster.
    let homes: RoomHomes?
    private let registry: SessionRegistry
    let directory: StreamDirectory
    let limiter: RequestLimiter
    let records: Records
    let writeQueue: DatabaseWriteQueue
    /// Whether the conversations of stored rooms are in the database.
    let storesConversations: Bool
    /// The time at which old messages are deleted next.
    private var nextExpiry: Instant?
    let logger: Logger

    var rooms: [String: Room] = [:]
    /// The identifiers of rooms by application and alias.
    private(set) var aliases: [ApplicationID: [String: String]] = [:]
    /// The rooms of each session.
    private(set) var roomsOfSessions: [SessionID: Set<String>] = [:]
    /// The rooms whose members may change with time, or that may end.
    private var timed: Set<String> = []
    private var changes = TokenBuckets<SessionID>()
    private var messages = TokenBuckets<SessionID>()
    private var roomMessages = TokenBuckets<String>()

    /// The changes of a session per second. Five times as many are accepted at once, as for the other rates.
    static let changesPerSecond: Int64 = 10
    /// The messages of a session, and of a room, per second.
    static let messagesPerSecond: Int64 = 2
    static let messagesPerRoom: Int64 = 20
    /// The maximum number of rooms of a session.
    static let roomsPerSession = 32
    /// The time after which an empty room ends that no backend has created.
    static let emptyTime = TimeSpan.seconds(3_600)
    /// The time between deletions of old messages.
    private static let expiryInterval = TimeSpan.seconds(60)

    /// Creates a service. `isPersistent` is whether the database is on the disk.
    init(
        _ configuration: RoomConfiguration, isLoopback: Bool, registry: SessionRegistry, directory: StreamDirectory,
        limiter: RequestLimiter, records: Records, writeQueue: DatabaseWriteQueue, isPersistent: Bool,
        homes: RoomHomes? = nil, logger: Logger
    ) {
        self.homes = homes
        self.configuration = configuration
        createsOnJoin = configuration.createsOnJoin ?? isLoopback
        self.registry = registry
        self.directory = directory
        self.limiter = limiter
        self.records = records
        self.writeQueue = writeQueue
        storesConversations = isPersistent && configuration.conversationRetention != nil
        self.logger = logger
    }

    // MARK: Rooms

    /// Returns the identifier of a room of an application, by its identifier or else by its alias.
    func find(_ id: String, alias: String, of application: ApplicationID) -> String? {
        if !id.isEmpty, rooms[id]?.machine.description.application == application { return id }
        return alias.isEmpty ? nil : aliases[application]?[alias]
    }

    /// Adds a room. `stored` are the newest messages of its conversation if it is in the database.
    ///
    /// - Throws: ``RoomRefusal``.
    func add(
        _ description: RoomDescription, isPermanent: Bool, stored: [RoomMessage]? = nil
    ) throws(RoomRefusal) {
        guard rooms.count < configuration.maximumRooms else { throw .capacity }
        rooms[description.id] = Room(
            machine: RoomMachine(description, limits: configuration.limits),
            conversation: RoomConversation(began: MonotonicClock.wallTime(), continuing: stored ?? []),
            isPermanent: isPermanent, isStored: stored != nil, emptySince: MonotonicClock.now())
        aliases[description.application, default: [:]][description.alias] = description.id
        timed.insert(description.id)
        // Viewers may wait for the first presenter.
        directory.available.setChannel(of: description, [])
        homes?.claim(RoomKey(description), room: description.id)
        logger.info("room created", metadata: ["room": "\(description.id)"])
    }

    /// Returns the description of a new room with a unique identifier, or with the one that a client still knows.
    static func describe(
        _ alias: String?, of application: ApplicationID, formerID: String = "", name: String, text: String,
        kind: RoomDescription.Kind, options: [String] = []
    ) -> RoomDescription {
        let random = RandomIdentifier.make()
        let alias = alias ?? String(random.prefix(14))
        let prefix = "local#\(application)#\(alias)."
        let isFormer = formerID.utf8.starts(with: prefix.utf8) && formerID.utf8.count == prefix.utf8.count + 12
        return RoomDescription(
            id: isFormer ? formerID : prefix + random.suffix(12), application: application, alias: alias, name: name,
            text: text, kind: kind, options: options)
    }

    /// Ends a room. Its members receive the end, and those outside the audience leave before.
    func end(_ id: String) {
        guard let description = rooms[id]?.machine.description else { return }
        rooms[id]?.machine.end(at: MonotonicClock.wallTime())
        broadcast(id)
        homes?.release(RoomKey(description), room: id)
        directory.available.removeChannel(id, of: description.application)
        discard(id)
        logger.info("room ended", metadata: ["room": "\(id)"])
    }

    /// Removes a room without an event.
    func discard(_ id: String) {
        guard let description = rooms[id]?.machine.description else { return }
        let left = roomsOfSessions.filter { $0.value.contains(id) }.map(\.key)
        for session in left { forget(session, in: id) }
        rooms[id] = nil
        timed.remove(id)
        if aliases[description.application]?[description.alias] == id {
            aliases[description.application]?[description.alias] = nil
        }
    }

    // MARK: Time and connections

    /// Removes members that did not reconnect in time and old messages, and ends empty rooms.
    func advance(to now: Instant) {
        if storesConversations, let oldest = oldestMessage, nextExpiry.map({ $0 <= now }) ?? true {
            nextExpiry = now + Self.expiryInterval
            writeQueue.note(.roomMessagesExpired(before: oldest))
        }
        for id in timed {
            guard let isPermanent = rooms[id]?.isPermanent else {
                timed.remove(id)
                continue
            }
            if rooms[id]?.machine.needsTime == true {
                for session in rooms[id]?.machine.advance(to: now, MonotonicClock.wallTime()) ?? [] {
                    forget(session, in: id)
                }
                broadcast(id)
            }
            if let since = rooms[id]?.emptySince, !isPermanent {
                if now - since >= Self.emptyTime { end(id) }
            } else if rooms[id]?.machine.needsTime != true {
                timed.remove(id)
            }
        }
    }

    /// Records that a connection of a session is lost. Its members stay for a while.
    func connectionLost(_ session: SessionID, _ connection: RoomConnection) {
        for id in roomsOfSessions[session] ?? [] { connectionLost(session, connection, in: id) }
    }

    /// Records the same in one room. If an earlier connection is not lost, the member continues with it.
    func connectionLost(_ session: SessionID, _ connection: RoomConnection, in id: String) {
        let isAbsent = rooms[id]?.machine.connectionLost(
            session, connection: connection.number, at: MonotonicClock.now())
        let former = rooms[id]?.formerConnections[session]?.filter { $0 !== connection } ?? []
        if isAbsent == false {
            let current = rooms[id]?.machine.connection(of: session)
            if let index = former.firstIndex(where: { $0.number == current }) {
                rooms[id]?.connections[session] = former[index]
                rooms[id]?.subscribers.remove(session)
            }
            let others = former.filter { $0.number != current }
            rooms[id]?.formerConnections[session] = others.isEmpty ? nil : others
            return
        }
        rooms[id]?.connections[session] = nil
        rooms[id]?.formerConnections[session] = nil
        rooms[id]?.subscribers.remove(session)
        checkLater(id)
    }

    /// Returns the sessions with a connection in a room, current or former, in the order of their IDs.
    func sessions(of connection: RoomConnection, in id: String) -> [SessionID] {
        guard let room = rooms[id] else { return [] }
        let current = room.connections.filter { $0.value === connection }.keys
        let former = room.formerConnections.filter { $0.value.contains { $0 === connection } }.keys
        return Set(current).union(former).sorted { $0.description < $1.description }
    }

    /// Lets a session leave all rooms, unless it has another connection.
    func leaveAll(_ session: SessionID, _ connection: RoomConnection) {
        for id in roomsOfSessions[session] ?? [] where rooms[id]?.connections[session] === connection {
            leave(id, session)
        }
    }

    /// Records the end of a stream of a session.
    func streamEnded(_ stream: StreamID, of session: SessionID) {
        for id in roomsOfSessions[session] ?? [] {
            rooms[id]?.machine.streamEnded(stream, of: session, at: MonotonicClock.now())
            checkLater(id)
        }
    }

    /// Sets the connection of a member.
    func connect(_ session: SessionID, _ connection: RoomConnection, in id: String) {
        let former = rooms[id]?.connections.updateValue(connection, forKey: session)
        if former !== connection { rooms[id]?.subscribers.remove(session) }
        var others = (rooms[id]?.formerConnections[session] ?? []).filter { $0 !== connection }
        if let former, former !== connection {
            others = others.suffix(RoomMachine.formerConnectionLimit - 1) + [former]
        }
        rooms[id]?.formerConnections[session] = others.isEmpty ? nil : others
        rooms[id]?.emptySince = nil
        roomsOfSessions[session, default: []].insert(id)
    }

    /// Sets a room that continues at this node.
    func insert(_ room: Room) {
        let description = room.machine.description
        rooms[description.id] = room
        aliases[description.application, default: [:]][description.alias] = description.id
        timed.insert(description.id)
    }

    /// Lets ``advance(to:)`` check a room. It has no effect if the room has ended.
    func checkLater(_ id: String) { if rooms[id] != nil { timed.insert(id) } }

    /// Removes a member. Returns false if it is not in the room.
    @discardableResult
    func leave(_ id: String, _ session: SessionID) -> Bool {
        guard rooms[id]?.machine.leave(session, at: MonotonicClock.wallTime()) == true else { return false }
        // The originator receives the event, too.
        broadcast(id)
        forget(session, in: id)
        return true
    }

    private func forget(_ session: SessionID, in id: String) {
        rooms[id]?.connections[session] = nil
        rooms[id]?.formerConnections[session] = nil
        rooms[id]?.subscribers.remove(session)
        roomsOfSessions[session]?.remove(id)
        if roomsOfSessions[session]?.isEmpty == true { roomsOfSessions[session] = nil }
        if rooms[id]?.machine.memberCount == 0 {
            rooms[id]?.emptySince = MonotonicClock.now()
            timed.insert(id)
        }
    }

    // MARK: Events

    /// Appends the events of a room to the connections of its members.
    func broadcast(_ id: String) {
        guard let description = rooms[id]?.machine.description else { return }
        var hasChanged = false
        while let event = rooms[id]?.machine.poll() {
            hasChanged = true
            let message = SharedSignalingEvent(
                .room(ChatRoomEvent(event, in: description, at: MonotonicClock.wallTime())))
            for connection in rooms[id]?.connections.values ?? [:].values where !connection.isOfNode {
                connection.append(message)
            }
            for node in rooms[id]?.nodes.values ?? [:].values { node.append(message) }
        }
        guard hasChanged, let room = rooms[id] else { return }
        guard description.kind == .channel else {
            return directory.available.removeChannel(id, of: description.application)
        }
        let presenters = room.machine.presenters(after: room.presenter)
        rooms[id]?.presenter = presenters.first?.session
        directory.available.setChannel(PresentedChannel(description, presenters))
    }

    // MARK: Checks

    /// Counts a change of a session.
    ///
    /// - Throws: ``RoomRefusal`` if the session makes too many.
    func takeChange(_ session: SessionID) throws(RoomRefusal) {
        guard changes.take(session, perSecond: Self.changesPerSecond, at: MonotonicClock.now()) == nil else {
            throw .rateLimited
        }
    }

    /// Counts a message of a session, or of a backend, in a room.
    ///
    /// - Throws: ``RoomRefusal`` if there are too many.
    func takeMessage(_ session: SessionID?, in id: String) throws(RoomRefusal) {
        let now = MonotonicClock.now()
        if let session, messages.take(session, perSecond: Self.messagesPerSecond, at: now) != nil {
            throw .rateLimited
        }
        guard roomMessages.take(id, perSecond: Self.messagesPerRoom, at: now) == nil else { throw .rateLimited }
    }

    /// Returns the room that a client may enter; nil if it does not exist and may be created.
    func lookUp(
        _ id: String, alias: String, for client: RoomClient
    ) throws(RoomRefusal) -> RoomDescription? {
        guard let found = find(id, alias: alias, of: client.access.application),
            let description = rooms[found]?.machine.description
        else { return nil }
        guard client.access.permits(description) else { throw .unauthorized }
        return description
    }

    /// Checks that the streams that a member announces are published by its session, and belong to the room.
    ///
    /// - Parameters:
    ///   - streams: The streams.
    ///   - session: The session of the member.
    ///   - room: The room.
    ///   - former: The streams that the member has announced so far, which may have ended.
    ///   - call: The request of another node, which knows the streams; nil for one of a client.
    /// - Returns: The streams, without those that have ended.
    /// - Throws: ``RoomRefusal`` if a stream is that of another session or room.
    func check(
        _ streams: [RoomStream], of session: SessionID, in room: RoomDescription, former: [RoomStream],
        _ call: RoomNodeCall?
    ) async throws(RoomRefusal) -> [RoomStream] {
        var accepted: [RoomStream] = []
        for stream in streams {
            guard let id = stream.streamID else { throw .unauthorized }
            if former.contains(where: { $0.uri == stream.uri }) {
                accepted.append(stream)
                continue
            }
            let isOwned: Bool
            let known: [String]
            if let call {
                guard let stream = call.streams[id] else { continue }
                (isOwned, known) = (stream != nil, stream ?? [])
            } else {
                guard let live = await directory.live(id, of: room.application)?.stream else { continue }
                (isOwned, known) = (await registry.owns(id, session), live.authorizingTags)
            }
            let tags = known.filter { RoomDescription.isRoomTag($0) }
            guard isOwned, tags.isEmpty || tags.contains(where: { room.hasTag($0) }) else { throw .unauthorized }
            accepted.append(stream)
        }
        return accepted
    }

    /// Records the ends of a member's streams that happened while it announced them.
    func followStreams(of session: SessionID, in id: String) async {
        // The node of the member follows its streams.
        guard rooms[id]?.connections[session]?.isOfNode == false else { return }
        for stream in rooms[id]?.machine.member(session)?.streams.compactMap(\.streamID) ?? []
        where await !registry.owns(stream, session) {
            rooms[id]?.machine.streamEnded(stream, of: session, at: MonotonicClock.now())
            checkLater(id)
        }
    }

    /// Checks that a request names the client's own session, or none.
    func checkSession(_ text: String, _ client: RoomClient) throws(RoomRefusal) {
        guard text.isEmpty || text == client.session.description else { throw .unauthorized }
    }
}
