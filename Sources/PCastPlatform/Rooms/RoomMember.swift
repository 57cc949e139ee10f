import PCastCore

/// A member of a room. The raw values of its enumerations are those of the protocol.
struct RoomMember: Hashable, Sendable {
    enum Role: Int, CaseIterable, Sendable {
        case participant = 0
        case moderator = 1
        case presenter = 2
        case audience = 3
    }

    enum State: Int, CaseIterable, Sendable {
        case active = 0
        case passive = 1
        case handRaised = 2
        case inactive = 3
        case offline = 4
    }

    let session: SessionID
    var screenName: String
    var role: Role
    var state: State
    var streams: [RoomStream]
    /// The number of the last change, which clients send with their next one.
    var lastUpdate: UInt64 = 0

    /// Whether the member is in lists and events. Members of the audience are only counted.
    var isListed: Bool { role != .audience }

    /// Whether viewers of a channel can select the member's first stream.
    var isPublishing: Bool { role == .presenter && !streams.isEmpty }
}

/// A stream that a member of a room announces.
struct RoomStream: Hashable, Sendable {
    enum Kind: Int, CaseIterable, Sendable {
        case user = 0
        case presentation = 1
        case audio = 2
    }

    enum TrackState: Int, CaseIterable, Sendable {
        case enabled = 0
        case disabled = 1
        case ended = 2
    }

    var kind: Kind
    /// The URI, such as `pcast://phenixp2p.com/STREAM?capabilities=hd`. Its query is for clients only.
    var uri: String
    var audio: TrackState
    var video: TrackState

    /// The identifier of the stream in the URI; nil if the URI has another form.
    var streamID: StreamID? {
        let scheme = "pcast://"
        guard uri.utf8.starts(with: scheme.utf8) else { return nil }
        let rest = uri.utf8.dropFirst(scheme.utf8.count)
        guard let slash = rest.firstIndex(of: UInt8(ascii: "/")), slash != rest.startIndex else { return nil }
        let id = rest[rest.index(after: slash)...].prefix { $0 != UInt8(ascii: "?") }
        return id.isEmpty ? nil : StreamID(String(Substring(id)))
    }
}

/// The description of a room. A channel is a room of the type `channel`.
struct RoomDescription: Hashable, Sendable {
    /// The raw values are those of the protocol.
    enum Kind: Int, CaseIterable, Sendable {
        case directChat = 0
        case multiPartyChat = 1
        case moderatedChat = 2
        case townHall = 3
        case channel = 4

        /// The name in the management API.
        var name: String {
            switch self {
            case .directChat: "DirectChat"
            case .multiPartyChat: "MultiPartyChat"
            case .moderatedChat: "ModeratedChat"
            case .townHall: "TownHall"
            case .channel: "Channel"
            }
        }

        init?(name: String) {
            guard let kind = Self.allCases.first(where: { $0.name == name }) else { return nil }
            self = kind
        }
    }

    let id: String
    let application: ApplicationID
    let alias: String
    var name: String
    var text: String
    var kind: Kind
    var options: [String]

    /// The option of a channel whose viewers by its name keep their presenter while it has a stream.
    static let highAvailability = "high-availability"

    /// The tags of the room's streams. A token that requires one of them is valid for the room.
    var tags: [String] { Self.prefixes.map { $0.isAlias ? $0.text + alias : $0.text + id } }

    /// The prefixes of tags that name a room. Those of channels and rooms are equivalent.
    private static let prefixes: [(text: String, isAlias: Bool)] = [
        ("channelId:", false), ("channelAlias:", true), ("roomId:", false), ("roomAlias:", true),
    ]

    /// Returns whether a tag names a room of an alias, which may not exist yet.
    static func isTag(_ tag: String, ofAlias alias: String) -> Bool {
        prefixes.contains { $0.isAlias && tag.utf8.elementsEqual(($0.text + alias).utf8) }
    }

    /// Returns whether a tag names any room.
    static func isRoomTag(_ tag: String) -> Bool { prefixes.contains { tag.utf8.starts(with: $0.text.utf8) } }

    /// Returns whether a tag names this room. Tags are compared by bytes, as in tokens.
    func hasTag(_ tag: String) -> Bool { tags.contains { $0.utf8.elementsEqual(tag.utf8) } }
}

/// The reason why a request to a room is refused.
enum RoomRefusal: Error, Hashable, Sendable {
    case badRequest
    case notFound
    case unauthorized
    /// The client does not know the member's last change, which has this number.
    case conflict(lastUpdate: UInt64)
    case capacity
    case rateLimited

    /// The status of the protocol.
    var wire: String {
        switch self {
        case .badRequest: "bad-request"
        case .notFound: "not-found"
        case .unauthorized: "unauthorized"
        case .conflict: "conflict"
        case .capacity: "capacity"
        case .rateLimited: "rate-limited"
        }
    }
}

extension PresentedChannel {
    /// The channel whose viewers receive the streams of presenters, the preferred one first.
    init(_ room: RoomDescription, _ presenters: [RoomMember]) {
        self.init(
            application: room.application, names: [room.id, room.alias], tags: room.tags,
            streams: presenters.compactMap { $0.streams.first?.streamID },
            keepsPresenter: room.options.contains(RoomDescription.highAvailability))
    }
}
