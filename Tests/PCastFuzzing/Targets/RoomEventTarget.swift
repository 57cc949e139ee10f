import FoundationEssentials
import PCast
import PCastCore
import PCastSignaling

/// The messages of a room, which a client follows: the payload of the response to `JoinRoom`, and those of events.
enum RoomEventTarget {
    private static let now = Instant(nanoseconds: 0)

    static func run(_ bytes: [UInt8]) throws(BrokenInvariant) -> Bool {
        var input = FuzzInput(bytes)
        guard let response = joined(input.chunk()) else { return false }
        var room = RoomReplica(response)
        let (id, session) = (room.info.id, room.own.sessionID)
        try inspect(room)
        var isFollowed = false
        while !input.isAtEnd {
            guard let event = event(input.chunk()) else { continue }
            let hasEnded = room.hasEnded
            let isOwn = room.apply(event)
            try check(isOwn == (event.roomID == id), "an event of another room: \(event.roomID)")
            try check(room.info.id == id && room.own.sessionID == session, "another room or session")
            try check(room.hasEnded || !hasEnded, "a room that lives again")
            try inspect(room)
            isFollowed = isFollowed || isOwn
        }
        return isFollowed
    }

    private static func inspect(_ room: RoomReplica) throws(BrokenInvariant) {
        try check(room.members.count <= RoomReplica.maximumMembers, "\(room.members.count) members")
        for member in room.members + [room.own] {
            for stream in member.streams {
                let size = stream.streamID?.description.utf8.count ?? 1
                try check((1...max(stream.uri.utf8.count, 1)).contains(size), "the stream of \(stream.uri)")
            }
        }
    }

    private static func joined(_ payload: [UInt8]) -> ChatJoinRoomResponse? {
        var client = ClientSignalingMachine(form: .binary)
        client.handle(.connected, at: now)
        _ = client.request(.joinRoom(ChatJoinRoom()), at: now)
        _ = client.poll()
        var envelope = MQResponse()
        (envelope.requestID, envelope.type) = ("1", SignalingRequest.joinRoom(ChatJoinRoom()).typeName + "Response")
        envelope.payload = Data(payload)
        client.handle(.received(SignalingFrame(envelope, form: .binary)), at: now)
        guard case .answered(_, .success(.joinRoom(let response)))? = client.poll() else { return nil }
        return response
    }

    private static func event(_ payload: [UInt8]) -> ChatRoomEvent? {
        var client = ClientSignalingMachine(form: .binary)
        client.handle(.connected, at: now)
        var envelope = MQResponse()
        (envelope.messageType, envelope.requestID) = (.event, "")
        (envelope.type, envelope.payload) = (SignalingEvent.room(ChatRoomEvent()).typeName, Data(payload))
        client.handle(.received(SignalingFrame(envelope, form: .binary)), at: now)
        guard case .event(.room(let event))? = client.poll() else { return nil }
        return event
    }

    /// The fields of the messages have the numbers of `docs/protocol/chat.proto`.
    static let corpus: [[UInt8]] = {
        let room = field(1, Array("r".utf8)) + field(2, Array("a".utf8)) + field(3, Array("n".utf8)) + number(5, 4)
        let stream = number(1, 1) + field(2, Array("pcast://x/stream-1?capabilities=".utf8)) + number(3, 2)
        func member(_ session: String, role: UInt8, change: UInt8) -> [UInt8] {
            field(1, Array(session.utf8)) + field(2, Array("Ann".utf8)) + number(3, role) + field(4, stream)
                + number(5, 2) + number(6, change)
        }
        func event(_ type: UInt8, _ content: [UInt8] = []) -> [UInt8] {
            field(2, Array("r".utf8)) + number(3, type) + content
        }
        let response =
            field(1, Array("ok".utf8)) + field(2, room) + field(3, member("t", role: 2, change: 1))
            + field(5, member("s", role: 3, change: 1))
        let joined = event(0, field(4, member("u", role: 0, change: 2)) + field(4, member("s", role: 1, change: 3)))
        let changed = event(2, field(4, member("t", role: 2, change: 4)) + field(4, member("s", role: 3, change: 2)))
        let left = event(1, field(4, member("t", role: 2, change: 5)) + field(4, member("s", role: 3, change: 6)))
        return [
            FuzzInput.chunks([response, joined, changed, left, event(3, field(5, room)), event(4)]),
            FuzzInput.chunks([response, event(4), joined, field(2, Array("other".utf8)) + number(3, 4)]),
        ]
    }()

    /// Returns a text or a message with less than 128 bytes in the encoding of Protocol Buffers.
    private static func field(_ number: UInt8, _ content: [UInt8]) -> [UInt8] {
        [number << 3 | 2, UInt8(content.count)] + content
    }

    private static func number(_ number: UInt8, _ value: UInt8) -> [UInt8] { [number << 3, value] }
}
