import PCastCore
import PCastSignaling
import Testing

@testable import PCast

/// A room at a client, without a platform.
@Suite struct RoomReplicaTests {
    private func member(
        _ session: String, _ role: ChatMemberRole, _ lastUpdate: UInt64, streams: [String] = []
    ) -> ChatMember {
        var member = ChatMember()
        member.sessionID = session
        member.screenName = session
        member.role = role
        member.state = .passive
        member.lastUpdate = lastUpdate
        member.streams = streams.map { RoomStream(StreamID($0)).message }
        return member
    }

    private func replica(_ own: ChatMember, _ members: [ChatMember] = []) -> RoomReplica {
        var response = ChatJoinRoomResponse()
        response.status = "ok"
        response.room.roomID = "room"
        response.room.alias = "demo"
        response.members = members
        response.self_p = own
        return RoomReplica(response)
    }

    private func event(_ type: ChatRoomEventType, _ member: ChatMember? = nil, room: String = "room") -> ChatRoomEvent {
        var event = ChatRoomEvent()
        event.roomID = room
        event.eventType = type
        event.members = member.map { [$0] } ?? []
        return event
    }

    @Test("a client that becomes a presenter and its audience again learns the numbers from the events")
    func ownRole() {
        var room = replica(member("a", .audience, 5))
        _ = room.apply(event(.memberJoined, member("a", .presenter, 6, streams: ["s"])))
        #expect(room.own.lastUpdate == 6)
        #expect(room.own.role == .presenter)
        #expect(room.members.map(\.sessionID) == [SessionID("a")])
        _ = room.apply(event(.memberLeft, member("a", .audience, 7)))
        #expect(room.own.lastUpdate == 7)
        #expect(room.own.role == .audience)
        #expect(room.members.isEmpty)
    }

    @Test("an outdated event changes nothing, and neither does one of another room or for an unknown member")
    func outdated() {
        var room = replica(member("a", .audience, 1), [member("b", .presenter, 10)])
        _ = room.apply(event(.memberUpdated, member("b", .participant, 10)))
        _ = room.apply(event(.memberUpdated, member("c", .participant, 20)))
        _ = room.apply(event(.memberLeft, member("b", .presenter, 9)))
        let isOwn = room.apply(event(.memberLeft, member("b", .presenter, 11), room: "other"))
        #expect(!isOwn)
        #expect(room.members.map(\.role) == [.presenter])
        _ = room.apply(event(.memberUpdated, member("b", .participant, 11)))
        #expect(room.members.map(\.role) == [.participant])
        _ = room.apply(event(.memberLeft, member("b", .participant, 11)))
        #expect(room.members.isEmpty)
    }

    @Test("a member that joins again replaces its former entry") func replaced() {
        var room = replica(member("a", .audience, 1), [member("b", .presenter, 2), member("c", .presenter, 3)])
        _ = room.apply(event(.memberJoined, member("b", .participant, 4)))
        #expect(room.members.map(\.sessionID.description) == ["c", "b"])
    }

    @Test("changes of the audience, conflicts and the end of the room take effect") func changes() {
        var room = replica(member("a", .audience, 5), [member("b", .presenter, 2)])
        room.accepted(MemberChange(screenName: "Ann"), lastUpdate: 5)
        #expect(room.own.screenName == "Ann")
        room.adopt(8, of: SessionID("a"))
        room.adopt(9, of: SessionID("b"))
        #expect(room.own.lastUpdate == 8)
        #expect(room.member(SessionID("b"))?.lastUpdate == 9)
        _ = room.apply(event(.roomEnded))
        #expect(room.hasEnded)
        #expect(room.members.isEmpty)
    }

    @Test("the number of members at a client is limited") func limit() {
        let many = (0..<2_000).map { member("\($0)", .participant, UInt64($0 + 1)) }
        var room = replica(member("a", .audience, 1), many)
        #expect(room.members.count == RoomReplica.maximumMembers)
        _ = room.apply(event(.memberJoined, member("b", .participant, 4)))
        #expect(room.members.count == RoomReplica.maximumMembers)
    }

    @Test("the stream of an address ends at its query, and other addresses have none") func addresses() {
        var message = ChatStream()
        let expected = [
            "pcast://phenixp2p.com/eu#1?capabilities=hd": "eu#1", "pcast://x/y": "y", "https://x/y": nil,
            "pcast:///y": nil, "pcast://x": nil, "pcast://x/?y": nil, "": nil,
        ]
        for (uri, stream) in expected {
            message.uri = uri
            #expect(RoomStream(message).streamID == stream.map { StreamID($0) })
        }
    }
}

/// The selection of a channel's presenter.
@Suite struct PresenterChoiceTests {
    private func presenter(
        _ session: String, _ lastUpdate: UInt64, _ stream: String?, role: MemberRole = .presenter
    ) -> RoomMember {
        var member = RoomMember(session: SessionID(session), screenName: "\(session) speaker", role: role)
        member.lastUpdate = lastUpdate
        if let stream { member.streams = [RoomStream(StreamID(stream))] }
        return member
    }

    private func expect(
        _ choice: inout PresenterChoice, _ members: [RoomMember], _ stream: String?,
        location: SourceLocation = #_sourceLocation
    ) {
        let chosen = choice.choose(from: members)?.stream.description
        #expect(chosen == stream, sourceLocation: location)
    }

    @Test("the presenter with the newest change is chosen, and the later one in the list among equal ones")
    func mostRecent() {
        var choice = PresenterChoice(.mostRecent)
        expect(&choice, [], nil)
        expect(&choice, [presenter("a", 3, nil), presenter("b", 2, "b", role: .participant)], nil)
        expect(&choice, [presenter("a", 3, "a"), presenter("b", 2, "b")], "a")
        expect(&choice, [presenter("a", 3, "a"), presenter("b", 3, "b")], "b")
    }

    @Test("with high availability, the current presenter remains, then the primary and the alternate one follow")
    func highAvailability() {
        var choice = PresenterChoice(.highAvailability)
        let (alternate, primary) = (presenter("x-Alternate", 9, "2"), presenter("my PRIMARY", 1, "1"))
        expect(&choice, [alternate], "2")
        expect(&choice, [alternate, primary], "2")
        expect(&choice, [primary, presenter("c", 1, "3")], "1")
        expect(&choice, [presenter("c", 1, "3"), alternate], "2")
    }

    @Test("a stream that has ended is not chosen again, and its presenter's next one is") func ended() {
        var choice = PresenterChoice(.mostRecent)
        choice.ended(StreamID("a"))
        expect(&choice, [presenter("a", 3, "a"), presenter("b", 2, "b")], "b")
        expect(&choice, [presenter("a", 4, "a2"), presenter("b", 2, "b")], "a2")
    }

    @Test("failures are counted, except those that no retry can change") func failures() {
        var choice = PresenterChoice(.mostRecent)
        let members = [presenter("a", 3, "a"), presenter("b", 2, "b")]
        for _ in 0..<99 { _ = choice.failed(StreamID("a"), .failed) }
        expect(&choice, members, "a")
        _ = choice.failed(StreamID("a"), .failed)
        expect(&choice, members, "b")
        for _ in 0..<4 { _ = choice.failed(StreamID("b"), .capacity) }
        expect(&choice, members, "b")
        _ = choice.failed(StreamID("b"), .capacity)
        expect(&choice, members, nil)
        var other = PresenterChoice(.mostRecent)
        _ = other.failed(StreamID("a"), .unauthorized)
        expect(&other, members, "b")
    }
}
