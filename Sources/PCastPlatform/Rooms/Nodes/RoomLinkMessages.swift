import PCastCluster
import PCastCore
import PCastSignaling

/// The name of a room for the nodes of a cluster.
package struct RoomKey: Hashable, Sendable, Codable {
    let application: String
    let alias: String

    init(_ application: ApplicationID, alias: String) {
        self.application = application.description
        self.alias = alias
    }

    init(_ room: RoomDescription) { self.init(room.application, alias: room.alias) }

    /// Creates the name of the room with an identifier; nil if it has another form.
    init?(_ application: ApplicationID, id: String) {
        let prefix = "local#\(application)#"
        guard id.utf8.starts(with: prefix.utf8), id.utf8.count > prefix.utf8.count + Self.suffixSize + 1 else {
            return nil
        }
        let rest = id.utf8.dropFirst(prefix.utf8.count)
        guard rest[rest.index(rest.endIndex, offsetBy: -Self.suffixSize - 1)] == UInt8(ascii: ".") else { return nil }
        self.init(application, alias: String(Substring(rest.dropLast(Self.suffixSize + 1))))
    }

    /// The number of bytes of an identifier after its last point.
    private static let suffixSize = 12

    /// The name under which the directory has the home of the room.
    var homeName: String { ClusterStream.roomHomeName(application: application, alias: alias) }

    var applicationID: ApplicationID { ApplicationID(application) }
}

/// A message of the protocol between nodes.
package struct RoomLinkMessage: Codable, Sendable {
    let type: String
    /// The bytes in Base64.
    let bytes: String

    init(_ request: SignalingRequest) { (type, bytes) = (request.typeName, Base64.encode(request.payload)) }
    init(_ response: SignalingResponse) { (type, bytes) = (response.typeName, Base64.encode(response.payload)) }
    init(_ event: SignalingEvent) { (type, bytes) = (event.typeName, Base64.encode(event.payload)) }

    /// Creates a message with a room and members.
    init(_ room: RoomDescription, _ members: [RoomMember]) {
        var message = ChatJoinRoomResponse()
        message.room = ChatRoom(room)
        message.members = members.map { ChatMember($0) }
        self.init(.joinRoom(message))
    }

    var request: SignalingRequest? { Base64.decode(bytes).flatMap { SignalingRequest(type: type, bytes: $0) } }
    var response: SignalingResponse? { Base64.decode(bytes).flatMap { SignalingResponse(type: type, bytes: $0) } }
    var event: SignalingEvent? { Base64.decode(bytes).flatMap { SignalingEvent(type: type, bytes: $0) } }

    /// Parses the message in each way in which a node does. Returns whether one is possible.
    package func isReadable(of application: ApplicationID) -> Bool {
        request != nil || event != nil || room(of: application) != nil || response != nil
    }

    /// Returns the room and the members of a message; nil if it has none.
    func room(of application: ApplicationID) -> (room: RoomDescription, members: [RoomMember])? {
        guard case .joinRoom(let message)? = response, let room = RoomDescription(message.room, application) else {
            return nil
        }
        return (room, message.members.compactMap { RoomMember(known: $0) })
    }
}

/// A stream that a member announces, as the node knows it to which the member is connected.
struct RoomLinkStream: Codable, Sendable {
    let stream: String
    /// Whether the session of the member publishes it.
    let isOwned: Bool
    let tags: [String]
}

/// A request of a client to a room whose home is another node.
package struct RoomLinkCall: Codable, Sendable {
    let number: Int
    let room: RoomKey
    let session: String
    let access: RoomAccess
    /// The live streams among those of the request.
    let streams: [RoomLinkStream]
    let message: RoomLinkMessage
}

/// A message to the home of a room.
package enum RoomLinkRequest: Codable, Sendable {
    /// Announces a room's members that are connected to the node, and the listed ones that it knows.
    case announce(RoomKey, own: RoomLinkMessage?, listed: RoomLinkMessage?)
    case call(RoomLinkCall)
    /// The connection of a member of rooms is lost, or closed by the client.
    case lost([RoomKey], session: String, leaves: Bool)
    case streamEnded(String, session: String)
    /// The node has no members in the room any more.
    case close(RoomKey)
}

/// A message of the home of rooms. Messages are applied in their order.
package enum RoomLinkEvent: Codable, Sendable {
    /// The answer to the announcement of members: the listed members, those that were announced, and the conversation.
    case state(RoomKey, listed: RoomLinkMessage, own: RoomLinkMessage, conversation: RoomLinkMessage)
    /// The node is not the home of the room, or not any more: the answer to an announcement, or to a call with a number.
    case absent(RoomKey, call: Int?)
    case event(RoomLinkMessage)
    /// The response to a call, with the member that it has changed.
    case response(Int, RoomLinkMessage, member: RoomLinkMessage?)
}

extension RoomLinkRequest {
    /// The messages of the protocol in the request.
    package var messages: [RoomLinkMessage] {
        switch self {
        case .announce(_, let own, let listed): [own, listed].compactMap { $0 }
        case .call(let call): [call.message]
        case .lost, .streamEnded, .close: []
        }
    }
}

extension RoomLinkEvent {
    /// The messages of the protocol in the event.
    package var messages: [RoomLinkMessage] {
        switch self {
        case .state(_, let listed, let own, let conversation): [listed, own, conversation]
        case .absent: []
        case .event(let message): [message]
        case .response(_, let message, let member): [message] + [member].compactMap { $0 }
        }
    }
}

// MARK: - Values

extension RoomMember {
    /// The highest number of a change that a node accepts, so that a greater one always exists.
    private static let maximumUpdate: UInt64 = 1 << 53

    /// Creates a member from the message of a node; nil if it is invalid.
    init?(known message: ChatMember) {
        guard let member = try? RoomMember(message, session: SessionID(message.sessionID)),
            message.lastUpdate <= Self.maximumUpdate, !message.sessionID.isEmpty
        else { return nil }
        self = member
        lastUpdate = message.lastUpdate
    }
}

extension RoomDescription {
    /// Creates the description of the message of a node; nil if it is invalid.
    init?(_ message: ChatRoom, _ application: ApplicationID) {
        guard let kind = Kind(rawValue: message.type.rawValue), !message.roomID.isEmpty, !message.alias.isEmpty else {
            return nil
        }
        self.init(
            id: message.roomID, application: application, alias: message.alias, name: message.name,
            text: message.description_p, kind: kind, options: message.options)
    }
}

extension RoomMessage {
    /// Creates a message of a conversation from the message of a node; nil if it is invalid.
    init?(_ message: ChatChatMessage) {
        guard let time = WallTime(wire: message.timestamp),
            let role = RoomMember.Role(rawValue: message.from.role.rawValue)
        else { return nil }
        self.init(
            id: message.messageID, time: time,
            session: message.from.sessionID.isEmpty ? nil : SessionID(message.from.sessionID),
            screenName: message.from.screenName, role: role, lastUpdate: message.from.lastUpdate,
            text: message.message)
    }
}

extension RoomMachine.Event {
    /// Creates an event from the message of a node; nil if it is invalid.
    init?(_ message: ChatRoomEvent, _ application: ApplicationID) {
        let member = message.members.first.flatMap { RoomMember(known: $0) }
        switch message.eventType {
        case .memberJoined:
            guard let member else { return nil }
            self = .joined(member)
        case .memberUpdated:
            guard let member else { return nil }
            self = .updated(member)
        case .memberLeft:
            guard let member else { return nil }
            self = .left(member)
        case .roomUpdated:
            guard let room = RoomDescription(message.room, application) else { return nil }
            self = .roomUpdated(room)
        case .roomEnded: self = .ended
        }
    }
}

extension SignalingRequest {
    /// The identifier and the alias of the room that a request names, which may be empty; nil for other requests.
    var roomNames: (id: String, alias: String)? {
        switch self {
        case .joinRoom(let message): (message.roomID, message.alias)
        case .updateMember(let message): (message.roomID, "")
        case .leaveRoom(let message): (message.roomID, "")
        case .createRoom(let message): ("", message.room.alias)
        case .getRoomInfo(let message): (message.roomID, message.alias)
        case .updateRoom(let message): (message.room.roomID, message.room.alias)
        case .sendMessageToRoom(let message): (message.roomID, "")
        case .fetchRoomConversation(let message): (message.roomID, "")
        default: nil
        }
    }

    /// The streams that a member announces with a request, and the session of the member if it is another one.
    var announcedStreams: (streams: [ChatStream], session: String) {
        switch self {
        case .joinRoom(let message): (message.member.streams, "")
        case .updateMember(let message): (message.member.streams, message.member.sessionID)
        default: ([], "")
        }
    }

    /// Returns the response of a room with a status of rooms.
    func roomResponse(_ status: String) -> SignalingResponse {
        switch response(.failed) {
        case .joinRoom(var message):
            message.status = status
            return .joinRoom(message)
        case .updateMember(var message):
            message.status = status
            return .updateMember(message)
        case .leaveRoom(var message):
            message.status = status
            return .leaveRoom(message)
        case .createRoom(var message):
            message.status = status
            return .createRoom(message)
        case .getRoomInfo(var message):
            message.status = status
            return .getRoomInfo(message)
        case .updateRoom(var message):
            message.status = status
            return .updateRoom(message)
        case .sendMessageToRoom(var message):
            message.status = status
            return .sendMessageToRoom(message)
        case .fetchRoomConversation(var message):
            message.status = status
            return .fetchRoomConversation(message)
        case let other: return other
        }
    }
}
