import PCastCore
import PCastDatabase
import PCastSignaling

// The messages of rooms, and their records, are converted field by field. So nothing that a client sends reaches another one unchecked.

extension RoomMember {
    /// Creates a member from a request of its session.
    ///
    /// - Throws: ``RoomRefusal``.
    init(_ message: ChatMember, session: SessionID) throws(RoomRefusal) {
        guard message.hasRole, let role = Role(rawValue: message.role.rawValue),
            let state = State(rawValue: message.state.rawValue), RoomText.isScreenName(message.screenName)
        else { throw .badRequest }
        self.init(
            session: session, screenName: message.screenName, role: role, state: state,
            streams: try RoomStream.list(message.streams))
    }
}

extension RoomStream {
    /// The maximum number of streams of a member.
    private static let maximumCount = 8

    /// Returns the streams of a request.
    ///
    /// - Throws: ``RoomRefusal``.
    static func list(_ messages: [ChatStream]) throws(RoomRefusal) -> [RoomStream] {
        guard messages.count <= maximumCount else { throw .badRequest }
        var streams: [RoomStream] = []
        for message in messages {
            guard message.hasType, let kind = Kind(rawValue: message.type.rawValue),
                let audio = TrackState(rawValue: message.audioState.rawValue),
                let video = TrackState(rawValue: message.videoState.rawValue),
                message.uri.utf8.count <= ClientTextLimits.uri
            else { throw .badRequest }
            streams.append(RoomStream(kind: kind, uri: message.uri, audio: audio, video: video))
        }
        return streams
    }
}

extension RoomMachine.Change {
    /// Creates the change of a request.
    ///
    /// - Throws: ``RoomRefusal``.
    init(_ message: ChatMemberUpdate) throws(RoomRefusal) {
        self.init(lastUpdate: message.lastUpdate)
        if message.hasScreenName {
            guard RoomText.isScreenName(message.screenName) else { throw .badRequest }
            screenName = message.screenName
        }
        if message.hasRole { role = RoomMember.Role(rawValue: message.role.rawValue) }
        if message.hasState { state = RoomMember.State(rawValue: message.state.rawValue) }
        if message.updateStreams { streams = try RoomStream.list(message.streams) }
    }
}

/// The limits of text in rooms.
enum RoomText {
    /// The maximum number of characters (Unicode scalars) of a screen name, and of an alias and a name of a room.
    static let maximumLength = 256
    /// The maximum number of characters of a room's description.
    static let maximumDescription = 1_024

    static func isScreenName(_ text: String) -> Bool { has(1...maximumLength, text) }

    /// Returns whether text may be the alias of a room.
    static func isAlias(_ text: String) -> Bool {
        has(1...maximumLength, text) && text.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7F }
    }

    static func has(_ range: ClosedRange<Int>, _ text: String) -> Bool {
        text.utf8.count <= 4 * range.upperBound && range.contains(text.unicodeScalars.count)
    }
}

extension ChatMember {
    init(_ member: RoomMember) {
        self.init()
        sessionID = member.session.description
        screenName = member.screenName
        role = ChatMemberRole(rawValue: member.role.rawValue) ?? .audience
        state = ChatMemberState(rawValue: member.state.rawValue) ?? .passive
        streams = member.streams.map { ChatStream($0) }
        lastUpdate = member.lastUpdate
    }
}

extension ChatStream {
    init(_ stream: RoomStream) {
        self.init()
        type = ChatStreamType(rawValue: stream.kind.rawValue) ?? .user
        uri = stream.uri
        audioState = ChatTrackState(rawValue: stream.audio.rawValue) ?? .trackEnabled
        videoState = ChatTrackState(rawValue: stream.video.rawValue) ?? .trackEnabled
    }
}

extension ChatRoom {
    init(_ room: RoomDescription) {
        self.init()
        roomID = room.id
        alias = room.alias
        name = room.name
        description_p = room.text
        type = ChatRoomType(rawValue: room.kind.rawValue) ?? .channel
        options = room.options
    }
}

extension ChatRoomEvent {
    init(_ event: RoomMachine.Event, in room: RoomDescription, at time: WallTime) {
        self.init()
        roomID = room.id
        timestamp = time.wire
        sessionID = ""
        switch event {
        case .joined(let member): set(.memberJoined, member)
        case .updated(let member): set(.memberUpdated, member)
        case .left(let member): set(.memberLeft, member)
        case .roomUpdated(let changed):
            eventType = .roomUpdated
            self.room = ChatRoom(changed)
        case .ended: eventType = .roomEnded
        }
    }

    private mutating func set(_ type: ChatRoomEventType, _ member: RoomMember) {
        eventType = type
        sessionID = member.session.description
        members = [ChatMember(member)]
    }
}

extension ChatChatMessage {
    init(_ message: RoomMessage) {
        self.init()
        messageID = message.id
        timestamp = message.time.wire
        if let session = message.session { from.sessionID = session.description }
        from.screenName = message.screenName
        from.role = ChatMemberRole(rawValue: message.role.rawValue) ?? .audience
        from.lastUpdate = message.lastUpdate
        self.message = message.text
    }
}

extension ChatRoomConversationEvent {
    init(_ message: RoomMessage, in room: RoomDescription) {
        self.init()
        sessionID = message.session?.description ?? ""
        roomID = room.id
        eventType = .message
        chatMessages = [ChatChatMessage(message)]
    }
}

extension RoomDescription {
    /// Returns nil if the type is unknown.
    init?(_ record: RoomRecord) {
        guard let kind = Kind(name: record.type) else { return nil }
        self.init(
            id: record.id, application: record.application, alias: record.alias, name: record.name,
            text: record.description, kind: kind, options: record.options)
    }
}

extension RoomRecord {
    init(_ room: RoomDescription) {
        self.init(
            id: room.id, application: room.application, alias: room.alias, name: room.name, description: room.text,
            type: room.kind.name, options: room.options)
    }
}

extension RoomMessage {
    /// Returns nil if the role is unknown.
    init?(_ record: RoomMessageRecord) {
        guard let role = RoomMember.Role(rawValue: record.role) else { return nil }
        self.init(
            id: record.id, time: record.time, session: record.session, screenName: record.screenName, role: role,
            lastUpdate: record.lastUpdate, text: record.text)
    }
}

extension RoomMessageRecord {
    init(_ message: RoomMessage, in room: String) {
        self.init(
            room: room, id: message.id, time: message.time, session: message.session,
            screenName: message.screenName, role: message.role.rawValue, lastUpdate: message.lastUpdate,
            text: message.text)
    }
}
