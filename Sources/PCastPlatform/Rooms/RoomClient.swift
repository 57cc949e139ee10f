import PCastCore
import PCastEdgeAuth
import PCastSignaling
import Synchronization

/// The client of a request to a room.
struct RoomClient: Sendable {
    let session: SessionID
    let connection: RoomConnection
    let access: RoomAccess
    let address: IPAddress?
    /// The request of another node on behalf of the client; nil for a client of this node.
    var call: RoomNodeCall?
    /// Whether the rates of the client already count the request.
    var isCounted = false

    /// Lets later events follow a response, because it has the present state.
    func holdEvents(after response: SignalingResponse) {
        guard let call else { return connection.hold() }
        call.respond(response)
    }
}

/// A request that another node sends on behalf of its client.
final class RoomNodeCall: Sendable {
    /// The live streams among those that the request announces, with their tags; nil for a stream of another session.
    let streams: [StreamID: [String]?]
    private let answer: Mutex<(@Sendable (SignalingResponse, RoomLinkMessage?) -> Void)?>

    /// Creates a request. `answer` sends the response, with the member that the request has changed.
    init(
        streams: [StreamID: [String]?], _ answer: @escaping @Sendable (SignalingResponse, RoomLinkMessage?) -> Void
    ) {
        self.streams = streams
        self.answer = Mutex(answer)
    }

    /// Sends the response after the events so far. Only the first call has an effect.
    func respond(_ response: SignalingResponse, member: RoomLinkMessage? = nil) {
        answer.withLock { $0.take() }?(response, member)
    }
}

/// The permissions of a client in rooms, according to the token of its session.
struct RoomAccess: Hashable, Sendable {
    let application: ApplicationID
    /// The tag that the token requires; nil if it names no room.
    private let requiredTag: String?
    /// Whether the token is for a single stream.
    private let isForStream: Bool
    /// Whether the client may create rooms: its token is neither for viewing, nor for a single stream.
    private let mayPublish: Bool
    /// Whether the client may be a moderator, who may change other members and the room.
    let mayModerate: Bool

    /// The capability of the tokens of moderators.
    private static let moderator = "moderator"

    /// Returns nil for a job of the platform, which enters no room.
    init?(_ principal: Principal) {
        guard principal.job == nil else { return nil }
        application = principal.application
        requiredTag = principal.token?.requiredTag
        isForStream = principal.token?.originStreamID != nil
        mayPublish = principal.token.map { $0.kind == .authentication || $0.kind == .publishing } ?? true
        mayModerate = principal.token == nil || principal.capabilities.contains(Self.moderator)
    }

    /// Returns whether the client may enter a room. A token that requires a tag is valid for the room with this tag.
    func permits(_ room: RoomDescription) -> Bool {
        guard room.application == application, !isForStream else { return false }
        return requiredTag.map { room.hasTag($0) } ?? true
    }

    /// Returns whether the client may create a room with an alias; nil for one that the platform selects.
    func mayCreate(_ alias: String?) -> Bool {
        guard mayPublish, !isForStream else { return false }
        guard let requiredTag else { return true }
        return alias.map { RoomDescription.isTag(requiredTag, ofAlias: $0) } ?? false
    }
}

extension RoomAccess: Codable {
    private enum CodingKeys: String, CodingKey {
        case application, requiredTag, isForStream, mayPublish, mayModerate
    }

    /// Reads the permissions of a client of another node.
    init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        application = ApplicationID(try values.decode(String.self, forKey: .application))
        requiredTag = try values.decodeIfPresent(String.self, forKey: .requiredTag)
        isForStream = try values.decode(Bool.self, forKey: .isForStream)
        mayPublish = try values.decode(Bool.self, forKey: .mayPublish)
        mayModerate = try values.decode(Bool.self, forKey: .mayModerate)
    }

    /// Writes the permissions for another node.
    func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: CodingKeys.self)
        try values.encode(application.description, forKey: .application)
        try values.encodeIfPresent(requiredTag, forKey: .requiredTag)
        try values.encode(isForStream, forKey: .isForStream)
        try values.encode(mayPublish, forKey: .mayPublish)
        try values.encode(mayModerate, forKey: .mayModerate)
    }
}

/// The events of rooms for one client, in their order. A room appends to it at once, and the client's session sends the
/// events when it runs, before the response to the request that caused them.
final class RoomConnection: Sendable {
    private struct State {
        var events: [SharedSignalingEvent] = []
        /// The number of events that precede a response which must be sent before the others; nil for none.
        var sendable: Int?
        /// The number of these responses.
        var holds = 0
        var isFull = false
        var isClosed = false
        var isAwake = false
    }

    /// The number of the connection, by which a room recognizes it.
    let number: Int
    private let state = Mutex(State())
    private let wake: @Sendable () -> Void
    /// Sends the events to another node, whose members have this connection; nil for a client.
    private let forward: (@Sendable (SignalingEvent) -> Void)?

    /// The maximum number of events that wait.
    private static let capacity = 1_024
    private static let lastNumber = Mutex(0)

    /// Creates the events of a connection. `wake` is called when there are some.
    init(wake: @escaping @Sendable () -> Void) {
        number = Self.lastNumber.withLock { last in
            last += 1
            return last
        }
        self.wake = wake
        forward = nil
    }

    /// Creates the connection of another node, which receives each event once for all its members.
    init(forward: @escaping @Sendable (SignalingEvent) -> Void) {
        number = Self.lastNumber.withLock { last in
            last += 1
            return last
        }
        wake = {}
        self.forward = forward
    }

    /// Whether it is the connection of another node.
    var isOfNode: Bool { forward != nil }

    /// Appends an event that is for this client only.
    func append(_ event: SignalingEvent) { append(SharedSignalingEvent(event)) }

    /// Appends an event that is for other clients, too.
    func append(_ event: SharedSignalingEvent) {
        if let forward { return forward(event.event) }
        let isNew = state.withLock { state in
            if state.events.count >= Self.capacity { state.isFull = true } else { state.events.append(event) }
            defer { state.isAwake = true }
            return !state.isAwake
        }
        if isNew { wake() }
    }

    /// Whether the client's connection has ended, so that it may enter no room.
    var isClosed: Bool { state.withLock { $0.isClosed } }

    /// Records the end of the client's connection, before the rooms receive it.
    func close() { state.withLock { $0.isClosed = true } }

    /// Lets later events wait for ``release()``, because the response with the present state precedes them.
    func hold() {
        state.withLock { state in
            state.holds += 1
            if state.sendable == nil { state.sendable = state.events.count }
        }
    }

    /// Lets the events be sent that follow a response.
    func release() {
        state.withLock { state in
            state.holds = max(state.holds - 1, 0)
            if state.holds == 0 { state.sendable = nil }
        }
    }

    /// Removes and returns the events that may be sent; nil if some were lost, because the client does not read them.
    func takeAll() -> [SharedSignalingEvent]? {
        state.withLock { state in
            guard !state.isFull else { return nil }
            state.isAwake = false
            let count = state.sendable ?? state.events.count
            let events = Array(state.events.prefix(count))
            state.events.removeFirst(count)
            if state.events.isEmpty { state.events = [] }
            if state.sendable != nil { state.sendable = 0 }
            return events
        }
    }
}
