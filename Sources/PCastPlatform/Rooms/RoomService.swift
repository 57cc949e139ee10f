import Logging
import PCastCore
import PCastDatabase
import PCastIO
import PCastSignaling

/// The rooms and channels of a platform. It drives a ``RoomMachine`` for each room, and sends the events.
///
/// A request changes a room and appends the events to the connections without a suspension in between. Therefore all
/// members receive the events of a room in the same order.
actor RoomService {
    /// A room with the connections of its members.
    struct Room {
        var machine: RoomMachine
        var conversation: RoomConversation
        /// The members with a connection.
        var connections: [SessionID: RoomConnection] = [:]
        /// The members that receive the messages of the conversation.
        var subscribers: Set<SessionID> = []
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
    private let createsOnJoin: Bool
    private let registry: SessionRegistry
    private let directory: StreamDirectory
    private let limiter: RequestLimiter
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
    private var roomsOfSessions: [SessionID: Set<String>] = [:]
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
        limiter: RequestLimiter, records: Records, writeQueue: DatabaseWriteQueue, isPersistent: Bool, logger: Logger
    ) {
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
        directory.available.removeChannel(id, of: description.application)
        let left = roomsOfSessions.filter { $0.value.contains(id) }.map(\.key)
        for session in left { forget(session, in: id) }
        rooms[id] = nil
        timed.remove(id)
        if aliases[description.application]?[description.alias] == id {
            aliases[description.application]?[description.alias] = nil
        }
        logger.info("room ended", metadata: ["room": "\(id)"])
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
        for id in roomsOfSessions[session] ?? [] {
            guard
                rooms[id]?.machine.connectionLost(
                    session, connection: connection.number, at: MonotonicClock.now()) == true
            else { continue }
            rooms[id]?.connections[session] = nil
            rooms[id]?.subscribers.remove(session)
            timed.insert(id)
        }
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
            timed.insert(id)
        }
    }

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
            let message = SignalingEvent.room(
                ChatRoomEvent(event, in: description, at: MonotonicClock.wallTime()))
            for connection in rooms[id]?.connections.values ?? [:].values { connection.append(message) }
        }
        guard hasChanged, let room = rooms[id] else { return }
        guard description.kind == .channel else {
            return directory.available.removeChannel(id, of: description.application)
        }
        let presenters = room.machine.presenters(after: room.presenter)
        rooms[id]?.presenter = presenters.first?.session
        setPresenters(presenters, of: description)
    }

    /// Lets viewers request the streams of presenters by the identifier and the alias of their channel.
    private func setPresenters(_ presenters: [RoomMember], of room: RoomDescription) {
        directory.available.setChannel(
            PresentedChannel(
                application: room.application, names: [room.id, room.alias], tags: room.tags,
                streams: presenters.compactMap { $0.streams.first?.streamID },
                keepsPresenter: room.options.contains(RoomDescription.highAvailability)))
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
    private func lookUp(
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
    /// - Returns: The streams, without those that have ended.
    /// - Throws: ``RoomRefusal`` if a stream is that of another session or room.
    private func check(
        _ streams: [RoomStream], of session: SessionID, in room: RoomDescription, former: [RoomStream]
    ) async throws(RoomRefusal) -> [RoomStream] {
        var accepted: [RoomStream] = []
        for stream in streams {
            guard let id = stream.streamID else { throw .unauthorized }
            if former.contains(where: { $0.uri == stream.uri }) {
                accepted.append(stream)
                continue
            }
            guard let live = await directory.live(id, of: room.application)?.stream else { continue }
            let tags = live.authorizingTags.filter { RoomDescription.isRoomTag($0) }
            guard await registry.owns(id, session), tags.isEmpty || tags.contains(where: { room.hasTag($0) }) else {
                throw .unauthorized
            }
            accepted.append(stream)
        }
        return accepted
    }

    /// Records the ends of a member's streams that happened while it announced them.
    private func followStreams(of session: SessionID, in id: String) async {
        for stream in rooms[id]?.machine.member(session)?.streams.compactMap(\.streamID) ?? []
        where await !registry.owns(stream, session) {
            rooms[id]?.machine.streamEnded(stream, of: session, at: MonotonicClock.now())
            timed.insert(id)
        }
    }

    /// Checks that a request names the client's own session, or none.
    func checkSession(_ text: String, _ client: RoomClient) throws(RoomRefusal) {
        guard text.isEmpty || text == client.session.description else { throw .unauthorized }
    }
}

// MARK: - Requests

extension RoomService {
    /// Answers a client that enters a room. The events after the answer wait for `release()` of the connection.
    func join(_ message: ChatJoinRoom, _ client: RoomClient) async -> ChatJoinRoomResponse {
        var response = ChatJoinRoomResponse()
        do throws(RoomRefusal) {
            try checkSession(message.sessionID, client)
            try checkSession(message.member.sessionID, client)
            var member = try RoomMember(message.member, session: client.session)
            guard member.role != .moderator || client.access.mayModerate else { throw .unauthorized }
            try takeChange(client.session)
            do throws(APIError) {
                try limiter.takeJoin(from: client.address, at: MonotonicClock.now())
            } catch {
                throw .rateLimited
            }
            let found = try lookUp(message.roomID, alias: message.alias, for: client)
            let description = if let found { found } else { try createOnJoin(message, client) }
            let former = rooms[description.id]?.machine.member(client.session)?.streams ?? []
            member.streams = try await check(member.streams, of: client.session, in: description, former: former)
            let joined = try enter(member, description.id, client)
            response.status = "ok"
            response.room = ChatRoom(description)
            response.members = rooms[description.id]?.machine.listed.map { ChatMember($0) } ?? []
            response.self_p = ChatMember(joined)
            client.connection.hold()
            broadcast(description.id)
            await followStreams(of: client.session, in: description.id)
        } catch {
            logger.info("member rejected", metadata: ["status": "\(error.wire)", "session": "\(client.session)"])
            response.status = error.wire
        }
        return response
    }

    private func enter(_ member: RoomMember, _ id: String, _ client: RoomClient) throws(RoomRefusal) -> RoomMember {
        // The end of the connection may have been reported before.
        guard rooms[id] != nil, !client.connection.isClosed else { throw .notFound }
        let own = roomsOfSessions[client.session] ?? []
        guard own.contains(id) || own.count < Self.roomsPerSession else { throw .capacity }
        let joined =
            try rooms[id]?.machine.join(
                member, connection: client.connection.number, at: MonotonicClock.wallTime()) ?? member
        if rooms[id]?.connections.updateValue(client.connection, forKey: client.session) !== client.connection {
            rooms[id]?.subscribers.remove(client.session)
        }
        rooms[id]?.emptySince = nil
        roomsOfSessions[client.session, default: []].insert(id)
        return joined
    }

    /// Creates the channel that a client joins. After a restart of the platform, clients know its identifier.
    private func createOnJoin(
        _ message: ChatJoinRoom, _ client: RoomClient
    ) throws(RoomRefusal) -> RoomDescription {
        guard createsOnJoin, RoomText.isAlias(message.alias), client.access.mayCreate(message.alias) else {
            throw .notFound
        }
        let description = Self.describe(
            message.alias, of: client.access.application, formerID: message.roomID, name: message.alias, text: "",
            kind: .channel)
        try add(description, isPermanent: false)
        return description
    }

    /// Changes a member: the client's own one or, for a moderator, another one.
    func update(_ message: ChatUpdateMember, _ client: RoomClient) async -> ChatUpdateMemberResponse {
        var response = ChatUpdateMemberResponse()
        do throws(RoomRefusal) {
            try checkSession(message.sessionID, client)
            try takeChange(client.session)
            var change = try RoomMachine.Change(message.member)
            let id = try roomID(message.roomID, of: client.session)
            let target = message.member.sessionID.isEmpty ? client.session : SessionID(message.member.sessionID)
            guard let description = rooms[id]?.machine.description, let member = rooms[id]?.machine.member(target)
            else { throw .notFound }
            guard change.role != .moderator || member.role == .moderator || client.access.mayModerate else {
                throw .unauthorized
            }
            if target != client.session {
                guard client.access.mayModerate, rooms[id]?.machine.member(client.session)?.role == .moderator else {
                    throw .unauthorized
                }
            }
            if let streams = change.streams {
                let accepted = try await check(streams, of: target, in: description, former: member.streams)
                guard accepted.count == streams.count else { throw .unauthorized }
                change.streams = accepted
            }
            guard rooms[id] != nil else { throw .notFound }
            response.lastUpdate = try rooms[id]?.machine.update(target, change, at: MonotonicClock.wallTime()) ?? 0
            response.status = "ok"
            broadcast(id)
            if change.streams != nil { await followStreams(of: target, in: id) }
        } catch {
            if case .conflict(let lastUpdate) = error { response.lastUpdate = lastUpdate }
            response.status = error.wire
        }
        return response
    }

    /// Returns the room that a request names, or else the only one of its session.
    private func roomID(_ id: String, of session: SessionID) throws(RoomRefusal) -> String {
        let own = roomsOfSessions[session] ?? []
        if id.isEmpty, own.count == 1, let only = own.first { return only }
        guard own.contains(id) else { throw .notFound }
        return id
    }

    func leave(_ message: ChatLeaveRoom, _ client: RoomClient) -> ChatLeaveRoomResponse {
        var response = ChatLeaveRoomResponse()
        do throws(RoomRefusal) {
            try checkSession(message.sessionID, client)
            response.status = leave(message.roomID, client.session) ? "ok" : RoomRefusal.notFound.wire
        } catch {
            response.status = error.wire
        }
        return response
    }

    func create(_ message: ChatCreateRoom, _ client: RoomClient) -> ChatCreateRoomResponse {
        var response = ChatCreateRoomResponse()
        do throws(RoomRefusal) {
            try checkSession(message.sessionID, client)
            try takeChange(client.session)
            let alias = message.room.alias.isEmpty ? nil : message.room.alias
            if let found = try lookUp("", alias: alias ?? "", for: client) {
                response.status = "already-exists"
                response.room = ChatRoom(found)
                return response
            }
            let name = message.room.name.isEmpty ? alias ?? "room" : message.room.name
            guard let kind = RoomDescription.Kind(rawValue: message.room.type.rawValue), message.room.hasType,
                alias.map({ RoomText.isAlias($0) }) ?? true, RoomText.has(1...RoomText.maximumLength, name),
                RoomText.has(0...RoomText.maximumDescription, message.room.description_p)
            else { throw .badRequest }
            guard client.access.mayCreate(alias) else { throw .unauthorized }
            let description = Self.describe(
                alias, of: client.access.application, name: name, text: message.room.description_p, kind: kind)
            try add(description, isPermanent: false)
            response.status = "ok"
            response.room = ChatRoom(description)
        } catch {
            response.status = error.wire
        }
        return response
    }

    func info(_ message: ChatGetRoomInfo, _ client: RoomClient) -> ChatGetRoomInfoResponse {
        var response = ChatGetRoomInfoResponse()
        do throws(RoomRefusal) {
            try checkSession(message.sessionID, client)
            guard let found = try lookUp(message.roomID, alias: message.alias, for: client) else { throw .notFound }
            response.status = "ok"
            response.room = ChatRoom(found)
            response.members = rooms[found.id]?.machine.listed.map { ChatMember($0) } ?? []
            // Members of the audience are in no list, so clients that show their number request it.
            response.options = ["audience=\(rooms[found.id]?.machine.audienceCount ?? 0)"]
        } catch {
            response.status = error.wire
        }
        return response
    }

    /// Changes name, description and type of a room for a moderator. Identifier and alias remain.
    func update(_ message: ChatUpdateRoom, _ client: RoomClient) async -> ChatUpdateRoomResponse {
        var response = ChatUpdateRoomResponse()
        do throws(RoomRefusal) {
            try checkSession(message.sessionID, client)
            try takeChange(client.session)
            guard var room = try lookUp(message.room.roomID, alias: message.room.alias, for: client) else {
                throw .notFound
            }
            guard client.access.mayModerate else { throw .unauthorized }
            if !message.room.name.isEmpty { room.name = message.room.name }
            if message.room.hasDescription_p { room.text = message.room.description_p }
            if message.room.hasType, let kind = RoomDescription.Kind(rawValue: message.room.type.rawValue) {
                room.kind = kind
            }
            guard RoomText.has(1...RoomText.maximumLength, room.name),
                RoomText.has(0...RoomText.maximumDescription, room.text)
            else { throw .badRequest }
            rooms[room.id]?.machine.update(room)
            broadcast(room.id)
            response.status = "ok"
            if rooms[room.id]?.isPermanent == true { try? await records.setRoom(RoomRecord(room)) }
        } catch {
            response.status = error.wire
        }
        return response
    }
}
