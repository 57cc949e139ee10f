public import PCastCore
import PCastSignaling

// The values of rooms. The raw values of the enumerations are those of the protocol.

/// The description of a room. A channel is a room of the type ``RoomType/channel``.
public struct RoomInfo: Hashable, Sendable {
    /// The identifier of the room.
    public let id: String
    /// The name by which clients find the room. It is unique in its application.
    public let alias: String
    /// The name for people.
    public var name: String
    /// The description for people.
    public var description: String
    /// The type of the room.
    public var type: RoomType

    init(_ message: ChatRoom) {
        id = message.roomID
        alias = message.alias
        name = message.name
        description = message.description_p
        type = RoomType(rawValue: message.type.rawValue) ?? .multiPartyChat
    }

    /// The tags of streams that are published in the room.
    var streamTags: [String] {
        type == .channel ? ["channelId:\(id)", "channelAlias:\(alias)"] : ["roomId:\(id)", "roomAlias:\(alias)"]
    }
}

/// The type of a room (Phenix: `RoomType`).
public enum RoomType: Int, CaseIterable, Sendable {
    /// A conversation of two.
    case directChat = 0
    /// A conversation of several participants.
    case multiPartyChat = 1
    /// A conversation with a moderator.
    case moderatedChat = 2
    /// A meeting with presenters and many listeners.
    case townHall = 3
    /// A channel: presenters with an audience.
    case channel = 4
}

/// The role of a member in a room (Phenix: `MemberRole`).
public enum MemberRole: Int, CaseIterable, Sendable {
    /// A participant of a conversation.
    case participant = 0
    /// A member that may change other members and the room. Its token needs the capability `moderator`.
    case moderator = 1
    /// A member whose stream the audience of a channel watches.
    case presenter = 2
    /// A viewer. The audience is in no list and in no event.
    case audience = 3
}

/// The state of a member in a room (Phenix: `MemberState`).
public enum MemberState: Int, CaseIterable, Sendable {
    /// The member takes part.
    case active = 0
    /// The member listens.
    case passive = 1
    /// The member asks for permission to speak.
    case handRaised = 2
    /// The member does not take part.
    case inactive = 3
    /// The member is away.
    case offline = 4
}

/// A member of a room outside the audience (Phenix: `Member`).
public struct RoomMember: Hashable, Sendable {
    /// The session of the member.
    public let sessionID: SessionID
    /// The name for people.
    public var screenName: String
    /// The role in the room.
    public var role: MemberRole
    /// The state in the room.
    public var state: MemberState
    /// The streams that the member announces. Viewers of a channel receive the first one of its presenter.
    public var streams: [RoomStream]
    /// The number of the member's last change, which grows.
    public internal(set) var lastUpdate: UInt64

    init(_ message: ChatMember) {
        sessionID = SessionID(message.sessionID)
        screenName = message.screenName
        role = MemberRole(rawValue: message.role.rawValue) ?? .audience
        state = MemberState(rawValue: message.state.rawValue) ?? .passive
        streams = message.streams.prefix(Self.maximumStreams).map { RoomStream($0) }
        lastUpdate = message.lastUpdate
    }

    init(session: SessionID, screenName: String, role: MemberRole) {
        sessionID = session
        self.screenName = screenName
        self.role = role
        state = .passive
        streams = []
        lastUpdate = 0
    }

    /// The maximum number of streams of a member that are read.
    private static let maximumStreams = 8

    /// Whether viewers of a channel can select the member's first stream.
    var isPublishing: Bool { role == .presenter && streams.first?.streamID != nil }

    /// The member in a request of its own session.
    var message: ChatMember {
        var message = ChatMember()
        message.screenName = screenName
        message.role = ChatMemberRole(rawValue: role.rawValue) ?? .audience
        message.state = ChatMemberState(rawValue: state.rawValue) ?? .passive
        message.streams = streams.map(\.message)
        message.lastUpdate = lastUpdate
        return message
    }
}

/// A stream that a member of a room announces (Phenix: `Stream`).
public struct RoomStream: Hashable, Sendable {
    /// The purpose of a stream.
    public enum Kind: Int, CaseIterable, Sendable {
        /// The camera and microphone of a member.
        case user = 0
        /// The stream of a presenter.
        case presentation = 1
        /// Audio only.
        case audio = 2
    }

    /// The state of a track.
    public enum TrackState: Int, CaseIterable, Sendable {
        /// The track has media.
        case enabled = 0
        /// The track is muted.
        case disabled = 1
        /// The track has ended.
        case ended = 2
    }

    /// The purpose of the stream.
    public var kind: Kind
    /// The address of the stream, `pcast://…/STREAM?…`.
    public var uri: String
    /// The state of the audio.
    public var audio: TrackState
    /// The state of the video.
    public var video: TrackState

    /// Creates the announcement of a stream that this client publishes.
    public init(_ streamID: StreamID, kind: Kind = .user, audio: TrackState = .enabled, video: TrackState = .enabled) {
        self.kind = kind
        uri = "pcast://phenixp2p.com/\(streamID)?capabilities="
        self.audio = audio
        self.video = video
    }

    init(_ message: ChatStream) {
        kind = Kind(rawValue: message.type.rawValue) ?? .user
        uri = message.uri
        audio = TrackState(rawValue: message.audioState.rawValue) ?? .enabled
        video = TrackState(rawValue: message.videoState.rawValue) ?? .enabled
    }

    var message: ChatStream {
        var message = ChatStream()
        message.type = ChatStreamType(rawValue: kind.rawValue) ?? .user
        message.uri = uri
        message.audioState = ChatTrackState(rawValue: audio.rawValue) ?? .trackEnabled
        message.videoState = ChatTrackState(rawValue: video.rawValue) ?? .trackEnabled
        return message
    }

    /// The stream that can be subscribed to; nil if the address has another form.
    public var streamID: StreamID? {
        let scheme = "pcast://"
        guard uri.utf8.starts(with: scheme.utf8) else { return nil }
        let rest = uri.utf8.dropFirst(scheme.utf8.count)
        guard let slash = rest.firstIndex(of: UInt8(ascii: "/")), slash != rest.startIndex else { return nil }
        let id = rest[rest.index(after: slash)...].prefix { $0 != UInt8(ascii: "?") }
        return id.isEmpty ? nil : StreamID(String(Substring(id)))
    }
}

/// A message of a room's conversation (Phenix: `ChatMessage`).
public struct RoomMessage: Hashable, Sendable {
    /// The identifier. As text, those of later messages are greater.
    public let id: String
    /// The time by the platform's clock.
    public let time: WallTime
    /// The session of the author; nil for a message of the application's backend.
    public let sessionID: SessionID?
    /// The name of the author.
    public let screenName: String
    /// The role of the author.
    public let role: MemberRole
    /// The text.
    public let text: String

    /// Returns nil if the time is out of range.
    init?(_ message: ChatChatMessage) {
        guard let time = WallTime(wire: message.timestamp) else { return nil }
        id = message.messageID
        self.time = time
        sessionID = message.from.sessionID.isEmpty ? nil : SessionID(message.from.sessionID)
        screenName = message.from.screenName
        role = MemberRole(rawValue: message.from.role.rawValue) ?? .audience
        text = message.message
    }
}
