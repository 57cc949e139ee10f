import Logging
import PCastCore
import PCastIO
import PCastSignaling

/// The rooms whose home is this node, for other nodes with members, and their change of the home.
extension RoomService {
    /// A room that continues at another node, with the connections of this node.
    struct Surrendered {
        var replica: RoomReplica
        let connections: [SessionID: RoomConnection]
        let subscribers: Set<SessionID>
    }

    /// Returns the identifier of a room of this node; nil if there is none.
    func find(_ key: RoomKey) -> String? { aliases[key.applicationID]?[key.alias] }

    /// Withdraws the claim of a room that was not created.
    func releaseUnused(_ key: RoomKey) {
        guard let homes, find(key) == nil else { return }
        homes.release(key, room: homes.roomID(key.applicationID, key.alias))
    }

    /// Whether this node has a room, and no other node is its home.
    func isHome(of key: RoomKey) -> Bool { find(key) != nil && homes?.other(key) == nil }

    /// Returns the address of another node that is the home of a room; nil if there is none.
    func otherHome(of key: RoomKey) -> String? { homes?.other(key)?.uri }

    /// Whether a client may create a room with an alias by joining it.
    func mayCreate(_ alias: String, _ access: RoomAccess, byJoining: Bool) -> Bool {
        RoomText.isAlias(alias) && access.mayCreate(alias) && (createsOnJoin || !byJoining)
    }

    /// Sends the response to a request of another node after the events so far, with the member as it is now, because there
    /// is no event about the audience.
    func finish(
        _ call: RoomNodeCall, _ response: SignalingResponse, of session: SessionID, by node: RoomConnection,
        in key: RoomKey
    ) {
        guard let room = find(key).flatMap({ rooms[$0] }), room.connections[session] === node,
            let member = room.machine.member(session)
        else { return call.respond(response) }
        call.respond(response, member: RoomLinkMessage(room.machine.description, [member]))
    }

    // MARK: Nodes

    /// Adds the members that a node announces, and sends it the events from now on.
    ///
    /// - Parameters:
    ///   - key: The room.
    ///   - own: The members that are connected to the node.
    ///   - listed: The listed members that the node knows.
    ///   - node: The connection of the node.
    ///   - queue: The messages to the node. The state of the room precedes the events; it is absent if this node is not the
    ///     home.
    func announce(
        _ key: RoomKey, own: [RoomMember], listed: [RoomMember], by node: RoomConnection,
        _ queue: RoomLinkQueue<RoomLinkEvent>
    ) {
        guard let id = find(key), isHome(of: key), !node.isClosed else {
            queue.append(.absent(key, call: nil))
            return
        }
        let time = MonotonicClock.wallTime()
        for member in own {
            guard let joined = try? rooms[id]?.machine.rejoin(member, connection: node.number, at: time) else {
                continue
            }
            connect(joined.session, node, in: id)
        }
        // The connections of others were lost while the node had no home for the room.
        let announced = Set(own.map(\.session))
        for session in sessions(of: node, in: id) where !announced.contains(session) {
            connectionLost(session, node, in: id)
        }
        for member in listed { rooms[id]?.machine.merge(member, at: time) }
        broadcast(id)
        rooms[id]?.nodes[node.number] = node
        checkLater(id)
        guard let room = rooms[id] else { return }
        let description = room.machine.description
        var conversation = ChatRoomConversationEvent()
        conversation.roomID = id
        conversation.chatMessages = room.conversation.messages.map { ChatChatMessage($0) }
        queue.append(
            .state(
                key, listed: RoomLinkMessage(description, room.machine.listed),
                own: RoomLinkMessage(description, own.compactMap { room.machine.member($0.session) }),
                conversation: RoomLinkMessage(.roomConversation(conversation))))
    }

    /// Records that the connection of a client of another node is lost, or lets its member leave.
    func lost(_ session: SessionID, in keys: [RoomKey], of node: RoomConnection, leaves: Bool) {
        for id in keys.compactMap({ find($0) }) {
            if leaves, rooms[id]?.connections[session] === node {
                leave(id, session)
            } else {
                connectionLost(session, node, in: id)
            }
        }
    }

    /// Sends no more events of a room to a node that has no members in it.
    func close(_ key: RoomKey, of node: RoomConnection) {
        guard let id = find(key), rooms[id]?.connections.values.contains(where: { $0 === node }) == false else {
            return
        }
        rooms[id]?.nodes[node.number] = nil
    }

    /// Records that the link to a node is lost. Its members stay for a while.
    func nodeLost(_ node: RoomConnection) {
        for id in Array(rooms.keys) {
            guard rooms[id]?.nodes.removeValue(forKey: node.number) != nil else { continue }
            for session in sessions(of: node, in: id) { connectionLost(session, node, in: id) }
        }
    }

    // MARK: Homes

    /// Returns the rooms of this node whose home is another node, and that have members here or at other nodes.
    func foreignRooms() -> [RoomKey] {
        guard let homes else { return [] }
        return rooms.values.compactMap { room in
            let key = RoomKey(room.machine.description)
            return room.machine.memberCount > 0 && homes.other(key) != nil ? key : nil
        }
    }

    /// Removes a room that continues at another node, because that one has claimed it.
    ///
    /// - Returns: The room; nil if the other node has another room with the alias. Then this one ends, and its members may
    ///   enter the other one.
    func surrender(_ key: RoomKey, to other: String) -> Surrendered? {
        guard let id = find(key), let room = rooms[id] else { return nil }
        guard other == id else {
            end(id)
            return nil
        }
        let connections = room.connections.filter { !$0.value.isOfNode }
        var replica = RoomReplica(room.machine.description, listed: room.machine.listed)
        for session in connections.keys {
            if let member = room.machine.member(session) { replica.setOwn(member) }
        }
        for message in room.conversation.messages { replica.append(message) }
        discard(id)
        if room.isPermanent {
            var kept = Room(
                machine: RoomMachine(room.machine.description, limits: configuration.limits),
                conversation: room.conversation, isPermanent: true)
            kept.isStored = room.isStored
            kept.emptySince = MonotonicClock.now()
            insert(kept)
        }
        logger.notice("another node is the home of a room now", metadata: ["room": "\(id)"])
        return Surrendered(
            replica: replica, connections: connections,
            subscribers: room.subscribers.filter { connections[$0] != nil })
    }

    /// Continues a room whose home was another node. Members of other nodes stay for a while, until these announce them.
    func adopt(_ surrendered: Surrendered) async {
        let replica = surrendered.replica
        let description = replica.description
        let former = find(RoomKey(description)).flatMap { rooms[$0] }
        if let former { discard(former.machine.description.id) }
        let now = MonotonicClock.now()
        var room = Room(
            machine: RoomMachine(continuing: replica, limits: configuration.limits, at: now),
            conversation: RoomConversation(began: MonotonicClock.wallTime(), continuing: replica.messages),
            isPermanent: former?.isPermanent ?? false)
        room.isStored = former?.isStored ?? false
        if room.machine.memberCount == 0 { room.emptySince = now }
        insert(room)
        let id = description.id
        for (session, connection) in surrendered.connections where !connection.isClosed {
            guard let member = replica.own[session],
                (try? rooms[id]?.machine.rejoin(
                    member, connection: connection.number, at: MonotonicClock.wallTime())) != nil
            else { continue }
            connect(session, connection, in: id)
            if surrendered.subscribers.contains(session) { rooms[id]?.subscribers.insert(session) }
        }
        broadcast(id)
        directory.available.setChannel(of: description, rooms[id]?.machine.presenters(after: nil) ?? [])
        logger.notice("this node is the home of a room now", metadata: ["room": "\(id)"])
        // Ends of streams were not reported while there was no home.
        for session in surrendered.connections.keys { await followStreams(of: session, in: id) }
    }
}

extension AvailableStreams {
    /// Lets viewers request the streams of presenters by the names of a channel.
    func setChannel(of room: RoomDescription, _ presenters: [RoomMember]) {
        if room.kind == .channel {
            setChannel(PresentedChannel(room, presenters))
        } else {
            removeChannel(room.id, of: room.application)
        }
    }
}
