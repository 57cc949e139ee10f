import Logging
import PCastCore
import PCastDatabase
import PCastIO
import PCastSignaling

/// The answers to requests of clients for rooms, at one node or in a cluster.
protocol RoomRequests: Sendable {
    /// Answers a request for a room. The events that precede the response are in the connection of the client before.
    func respond(to request: SignalingRequest, _ client: RoomClient) async -> SignalingResponse

    /// Records that a connection of a session is lost. Its members stay for a while.
    func connectionLost(_ session: SessionID, _ connection: RoomConnection) async

    /// Lets a session leave all rooms, unless it has another connection.
    func leaveAll(_ session: SessionID, _ connection: RoomConnection) async

    /// Records the end of a stream of a session.
    func streamEnded(_ stream: StreamID, of session: SessionID) async

    /// Returns a publisher with those requested tags that its token permits, because it requires a tag of the same room.
    func permit(_ tags: [String], to principal: Principal) async -> Principal
}

extension RoomService {
    func respond(to request: SignalingRequest, _ client: RoomClient) async -> SignalingResponse {
        switch request {
        case .joinRoom(let message): return .joinRoom(await join(message, client))
        case .updateMember(let message): return .updateMember(await update(message, client))
        case .leaveRoom(let message): return .leaveRoom(leave(message, client))
        case .createRoom(let message): return .createRoom(create(message, client))
        case .getRoomInfo(let message): return .getRoomInfo(info(message, client))
        case .updateRoom(let message): return .updateRoom(await update(message, client))
        case .sendMessageToRoom(let message): return .sendMessageToRoom(send(message, client))
        case .fetchRoomConversation(let message): return .fetchRoomConversation(await fetch(message, client))
        default: return request.response(.badRequest)
        }
    }

    /// Answers a client that enters a room. The events after the answer wait for `release()` of the connection.
    func join(_ message: ChatJoinRoom, _ client: RoomClient) async -> ChatJoinRoomResponse {
        var response = ChatJoinRoomResponse()
        do throws(RoomRefusal) {
            try checkSession(message.sessionID, client)
            try checkSession(message.member.sessionID, client)
            var member = try RoomMember(message.member, session: client.session)
            guard member.role != .moderator || client.access.mayModerate else { throw .unauthorized }
            if !client.isCounted {
                try takeChange(client.session)
                if client.call == nil { try takeJoin(from: client.address) }
            }
            let found = try lookUp(message.roomID, alias: message.alias, for: client)
            let description = if let found { found } else { try createOnJoin(message, client) }
            let former = rooms[description.id]?.machine.member(client.session)?.streams ?? []
            member.streams = try await check(
                member.streams, of: client.session, in: description, former: former, client.call)
            let joined = try enter(member, description.id, client)
            response.status = "ok"
            response.room = ChatRoom(description)
            response.members = rooms[description.id]?.machine.listed.map { ChatMember($0) } ?? []
            response.self_p = ChatMember(joined)
            client.holdEvents(after: .joinRoom(response))
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
        connect(client.session, client.connection, in: id)
        return joined
    }

    /// Counts a request that may create a room, before the room is claimed in the directory of a cluster. Returns whether the
    /// request is one.
    ///
    /// - Throws: ``RoomRefusal`` if there are too many from the session or the address.
    func count(_ request: SignalingRequest, _ client: RoomClient) throws(RoomRefusal) -> Bool {
        switch request {
        case .joinRoom:
            try takeChange(client.session)
            try takeJoin(from: client.address)
        case .createRoom: try takeChange(client.session)
        default: return false
        }
        return true
    }

    /// Counts a request to join.
    ///
    /// - Throws: ``RoomRefusal`` if there are too many from the address.
    func takeJoin(from address: IPAddress?) throws(RoomRefusal) {
        do throws(APIError) {
            try limiter.takeJoin(from: address, at: MonotonicClock.now())
        } catch {
            throw .rateLimited
        }
    }

    /// Creates the channel that a client joins. After a restart of the platform, clients know its identifier.
    private func createOnJoin(
        _ message: ChatJoinRoom, _ client: RoomClient
    ) throws(RoomRefusal) -> RoomDescription {
        guard createsOnJoin, RoomText.isAlias(message.alias), client.access.mayCreate(message.alias) else {
            throw .notFound
        }
        let description = Self.describe(
            message.alias, of: client.access.application,
            formerID: homes?.roomID(client.access.application, message.alias) ?? message.roomID,
            name: message.alias, text: "", kind: .channel)
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
                let accepted = try await check(
                    streams, of: target, in: description, former: member.streams, client.call)
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
            // The member may have another connection, at another node, since.
            guard client.call == nil || rooms[message.roomID]?.connections[client.session] === client.connection else {
                throw .notFound
            }
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
            if !client.isCounted { try takeChange(client.session) }
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
            let formerID = alias.flatMap { homes?.roomID(client.access.application, $0) } ?? ""
            let description = Self.describe(
                alias, of: client.access.application, formerID: formerID, name: name,
                text: message.room.description_p, kind: kind)
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
