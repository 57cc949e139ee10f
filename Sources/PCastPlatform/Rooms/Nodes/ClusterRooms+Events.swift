import PCastCore
import PCastIO
import PCastSignaling

/// The messages of homes, which are processed in the order in which they were sent.
extension ClusterRooms {
    /// Processes a message of a home.
    func receive(_ message: RoomLinkEvent, _ link: RoomLink) {
        switch message {
        case .state(let key, let listed, let own, let conversation):
            attached(key, listed, own, conversation, link)
        case .absent(let key, let number):
            // Others are answered themselves: the home may have processed them.
            if let number, calls[number]?.link === link { finish([number], .absent) }
            guard entries[key]?.link === link else { return }
            entries[key]?.link = nil
            entries[key]?.isAttached = false
        case .event(let message):
            switch message.event {
            case .room(let event): receive(event, link)
            case .roomConversation(let event): receive(event, link)
            default: break
            }
        case .response(let number, let message, let member):
            guard let call = calls[number], call.link === link else { return }
            receive(message, member, number, call)
        }
    }

    private func attached(
        _ key: RoomKey, _ listed: RoomLinkMessage, _ own: RoomLinkMessage, _ conversation: RoomLinkMessage,
        _ link: RoomLink
    ) {
        guard let entry = entries[key], entry.link === link,
            let (room, members) = listed.room(of: key.applicationID),
            let accepted = own.room(of: key.applicationID)?.members
        else { return }
        // Members may have left while the home has answered.
        let present = accepted.filter { entry.connections[$0.session] != nil }
        var replica = entry.replica ?? RoomReplica(room)
        let events = replica.synchronize(room, listed: members, own: present)
        for session in entry.connections.keys where replica.own[session] == nil {
            // The home has no place for the member.
            entries[key]?.connections.removeValue(forKey: session)?.append(
                .room(ChatRoomEvent(.ended, in: entry.replica?.description ?? room, at: MonotonicClock.wallTime())))
            entries[key]?.subscribers.remove(session)
        }
        var missed: [RoomMessage] = []
        if case .roomConversation(let event)? = conversation.event {
            let messages = event.chatMessages.compactMap { RoomMessage($0) }
            // Identifiers of messages grow.
            let last = replica.messages.last?.id ?? ""
            missed = messages.filter { $0.id > last }
            replica.setMessages(messages)
        }
        if let former = entry.replica?.description.id { keys[former] = nil }
        keys[room.id] = key
        entries[key]?.replica = replica
        entries[key]?.isAttached = true
        // A node with members waits to become the home.
        homes.claim(key, room: room.id)
        for event in events {
            send(.room(ChatRoomEvent(event, in: room, at: MonotonicClock.wallTime())), key)
        }
        for message in missed {
            let event = SharedSignalingEvent(.roomConversation(ChatRoomConversationEvent(message, in: room)))
            for session in entries[key]?.subscribers ?? [] { entries[key]?.connections[session]?.append(event) }
        }
        setPresenters(key)
        // Ends of streams were not reported while there was no link.
        let announced = present.filter { !$0.streams.isEmpty }
        if !announced.isEmpty { Task { await followStreams(of: announced, link) } }
    }

    /// Returns the room of an identifier whose events arrive on a link; nil for another one.
    private func key(_ id: String, _ link: RoomLink) -> RoomKey? {
        guard let key = keys[id], let entry = entries[key], entry.link === link, entry.isAttached else { return nil }
        return key
    }

    private func receive(_ message: ChatRoomEvent, _ link: RoomLink) {
        guard let key = key(message.roomID, link),
            let event = RoomMachine.Event(message, key.applicationID)
        else { return }
        entries[key]?.replica?.apply(event)
        send(.room(message), key)
        if event == .ended { return ended(key) }
        setPresenters(key)
    }

    private func receive(_ event: ChatRoomConversationEvent, _ link: RoomLink) {
        guard let key = key(event.roomID, link), let entry = entries[key] else { return }
        for message in event.chatMessages.compactMap({ RoomMessage($0) }) { entries[key]?.replica?.append(message) }
        let shared = SharedSignalingEvent(.roomConversation(event))
        for session in entry.subscribers { entry.connections[session]?.append(shared) }
    }

    private func send(_ event: SignalingEvent, _ key: RoomKey) {
        let shared = SharedSignalingEvent(event)
        for connection in entries[key]?.connections.values ?? [:].values { connection.append(shared) }
    }

    /// Ends a room for the members of this node.
    func endLocally(_ key: RoomKey) {
        guard let room = entries[key]?.replica?.description else { return }
        send(.room(ChatRoomEvent(.ended, in: room, at: MonotonicClock.wallTime())), key)
        ended(key)
    }

    /// Forgets a room that its home has ended.
    private func ended(_ key: RoomKey) {
        guard let entry = entries[key], let room = entry.replica?.description else { return }
        entries[key]?.connections = [:]
        entries[key]?.subscribers = []
        entries[key]?.replica = nil
        entries[key]?.link = nil
        entries[key]?.isAttached = false
        keys[room.id] = nil
        homes.release(key, room: room.id)
        directory.available.removeChannel(room.id, of: room.application)
    }

    /// Lets viewers of this node request the presenters by the names of the channel.
    private func setPresenters(_ key: RoomKey) {
        guard let replica = entries[key]?.replica else { return }
        let presenters = RoomMachine.presenters(
            among: replica.listed, of: replica.description, after: entries[key]?.presenter)
        entries[key]?.presenter = presenters.first?.session
        directory.available.setChannel(of: replica.description, presenters)
    }

    private func receive(_ message: RoomLinkMessage, _ member: RoomLinkMessage?, _ number: Int, _ call: Call) {
        let response = message.response ?? call.request.response(.failed)
        let (key, session, connection) = (call.key, call.client.session, call.client.connection)
        // Another node has become the home meanwhile, and does not know the member.
        if case .joinRoom = response, entries[key]?.link !== call.link { return finish([number], .absent) }
        defer { finish([number], .response(response)) }
        if let member = member?.room(of: key.applicationID)?.members.first, member.session == session,
            entries[key]?.connections[session] === connection
        {
            entries[key]?.replica?.setOwn(member)
        }
        if case .leaveRoom = response { removeMember(session, connection, key) }
        guard response.statusText == "ok" else { return }
        switch response {
        case .joinRoom(let joined):
            guard let member = RoomMember(known: joined.self_p), !connection.isClosed else {
                call.link.queue.append(.lost([key], session: session.description, leaves: false))
                return
            }
            let former = entries[key]?.connections.updateValue(connection, forKey: session)
            if former !== connection { entries[key]?.subscribers.remove(session) }
            entries[key]?.replica?.setOwn(member)
            connection.hold()
        case .fetchRoomConversation:
            if case .fetchRoomConversation(let request) = call.request, request.options.contains(.subscribe),
                entries[key]?.connections[session] === connection
            {
                entries[key]?.subscribers.insert(session)
            }
            connection.hold()
        default: break
        }
    }
}
