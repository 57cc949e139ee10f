import PCastCore
package import PCastSignaling

/// The state of a room at a client. It is a state machine without I/O, which follows the responses and events of the
/// platform.
package struct RoomReplica: Sendable {
    /// The description of the room.
    package private(set) var info: RoomInfo
    /// The members outside the audience, in the order in which they appeared.
    package private(set) var members: [RoomMember]
    /// This client as a member.
    package private(set) var own: RoomMember
    /// Whether the room has ended.
    package private(set) var hasEnded = false

    /// The maximum number of members that are kept.
    package static let maximumMembers = 1_000

    /// Creates the state of a response to `JoinRoom`.
    package init(_ response: ChatJoinRoomResponse) {
        info = RoomInfo(response.room)
        members = response.members.prefix(Self.maximumMembers).map { RoomMember($0) }
        own = RoomMember(response.self_p)
    }

    /// Follows an event. Returns false if it is of another room.
    package mutating func apply(_ event: ChatRoomEvent) -> Bool {
        guard event.roomID == info.id else { return false }
        // The type of a later version of the protocol is absent.
        guard event.hasEventType else { return true }
        switch event.eventType {
        case .memberJoined: for message in event.members { join(RoomMember(message)) }
        case .memberUpdated: for message in event.members { update(RoomMember(message)) }
        case .memberLeft: for message in event.members { leave(RoomMember(message)) }
        case .roomUpdated: if event.hasRoom, event.room.roomID == info.id { info = RoomInfo(event.room) }
        case .roomEnded:
            hasEnded = true
            members = []
        }
        return true
    }

    private mutating func join(_ member: RoomMember) {
        members.removeAll { $0.sessionID == member.sessionID }
        guard members.count < Self.maximumMembers else { return }
        members.append(member)
        if member.sessionID == own.sessionID { own = member }
    }

    private mutating func update(_ member: RoomMember) {
        // An event that is older than the known state arrives after a response.
        guard let index = members.firstIndex(where: { $0.sessionID == member.sessionID }),
            member.lastUpdate > members[index].lastUpdate
        else { return }
        members[index] = member
        if member.sessionID == own.sessionID { own = member }
    }

    private mutating func leave(_ member: RoomMember) {
        members.removeAll { $0.sessionID == member.sessionID && member.lastUpdate >= $0.lastUpdate }
        guard member.sessionID == own.sessionID, member.lastUpdate >= own.lastUpdate else { return }
        if member.role == .audience { own = member } else { own.lastUpdate = member.lastUpdate }
    }

    /// Returns the member of a session; nil if it is not in the list.
    func member(_ session: SessionID) -> RoomMember? {
        session == own.sessionID ? own : members.first { $0.sessionID == session }
    }

    /// Adopts the number of a member's last change after a conflict.
    mutating func adopt(_ lastUpdate: UInt64, of session: SessionID) {
        if session == own.sessionID { own.lastUpdate = max(own.lastUpdate, lastUpdate) }
        guard let index = members.firstIndex(where: { $0.sessionID == session }) else { return }
        members[index].lastUpdate = max(members[index].lastUpdate, lastUpdate)
    }

    /// Records an accepted change of this client. A member of the audience gets no event about it.
    mutating func accepted(_ change: MemberChange, lastUpdate: UInt64) {
        guard own.role == .audience else { return }
        change.apply(to: &own)
        own.lastUpdate = max(own.lastUpdate, lastUpdate)
    }
}

/// A change of a member; nil for what remains.
struct MemberChange: Hashable, Sendable {
    var screenName: String?
    var role: MemberRole?
    var state: MemberState?
    var streams: [RoomStream]?

    /// Returns the request that makes the change, if the platform has this number of the last one.
    func request(of session: SessionID, in room: String, lastUpdate: UInt64) -> SignalingRequest {
        var message = ChatUpdateMember()
        message.roomID = room
        message.member.sessionID = session.description
        message.member.lastUpdate = lastUpdate
        if let screenName { message.member.screenName = screenName }
        if let role { message.member.role = ChatMemberRole(rawValue: role.rawValue) ?? .audience }
        if let state { message.member.state = ChatMemberState(rawValue: state.rawValue) ?? .passive }
        if let streams {
            message.member.updateStreams = true
            message.member.streams = streams.map(\.message)
        }
        return .updateMember(message)
    }

    func apply(to member: inout RoomMember) {
        if let screenName { member.screenName = screenName }
        if let role { member.role = role }
        if let state { member.state = state }
        if let streams { member.streams = streams }
    }
}

/// The selection of a channel's presenter (Phenix: `streamSelectionStrategy`).
public enum PresenterSelection: Hashable, Sendable {
    /// The presenter with the newest change.
    case mostRecent
    /// The current presenter, while it has a stream. Otherwise the first whose screen name contains “primary”, then
    /// “alternate”, then the first of the list.
    case highAvailability
}

/// The choice of a presenter among the members of a channel. It is a value without a clock.
struct PresenterChoice {
    let selection: PresenterSelection
    /// The session of the presenter that was chosen last.
    private var current: SessionID?
    /// The numbers of failures by stream. A stream with ``unusable`` of them is not chosen any more.
    private var failures: [StreamID: Int] = [:]

    /// The number of failures after which a stream is not chosen any more. Those for lack of capacity count more.
    static let unusable = 100
    private static let capacityWeight = 20

    init(_ selection: PresenterSelection) { self.selection = selection }

    /// Returns the presenter whose first stream is played; nil if there is none.
    mutating func choose(from members: [RoomMember]) -> (member: RoomMember, stream: StreamID)? {
        let announced = Set(members.flatMap { $0.streams.compactMap(\.streamID) })
        failures = failures.filter { announced.contains($0.key) }
        let candidates = members.filter { member in
            guard member.isPublishing, let stream = member.streams.first?.streamID else { return false }
            return failures[stream, default: 0] < Self.unusable
        }
        let chosen =
            switch selection {
            case .mostRecent:
                // The later of equal ones in the list is the newer.
                candidates.enumerated().max {
                    ($0.element.lastUpdate, $0.offset) < ($1.element.lastUpdate, $1.offset)
                }?.element
            case .highAvailability:
                candidates.first { $0.sessionID == current } ?? candidates.first { $0.isNamed("primary") }
                    ?? candidates.first { $0.isNamed("alternate") } ?? candidates.first
            }
        current = chosen?.sessionID
        guard let chosen, let stream = chosen.streams.first?.streamID else { return nil }
        return (chosen, stream)
    }

    /// Records that a stream cannot be played. Returns the time after which another attempt makes sense.
    mutating func failed(_ stream: StreamID, _ status: RequestStatus) -> TimeSpan {
        switch status {
        case .unauthorized, .gone, .badRequest: failures[stream] = Self.unusable
        case .capacity: failures[stream, default: 0] += Self.capacityWeight
        default: failures[stream, default: 0] += 1
        }
        return status == .capacity ? .seconds(5) : .milliseconds(100)
    }

    /// Records that a stream has ended.
    mutating func ended(_ stream: StreamID) { failures[stream] = Self.unusable }
}

extension RoomMember {
    /// Whether the screen name contains a word, in upper or lower case.
    fileprivate func isNamed(_ word: String) -> Bool {
        let name = Array(screenName.lowercased().utf8)
        let word = Array(word.utf8)
        guard name.count >= word.count else { return false }
        return (0...(name.count - word.count)).contains { name[$0...].starts(with: word) }
    }
}
