import PCastCore

/// A room whose home is another node, as this node knows it: the listed members, and the members that are connected here.
///
/// It is a state machine without I/O. It applies the events of the home in their order. After a lost link, it compares its
/// members with those of the home, and returns the events that the connected members have missed. If the home is lost, the
/// room continues with it at this node (``RoomMachine/init(continuing:limits:at:)``).
struct RoomReplica {
    private(set) var description: RoomDescription
    /// The listed members, in the order in which they appeared.
    private(set) var listed: [RoomMember]
    /// The members that are connected to this node, including those of the audience.
    private(set) var own: [SessionID: RoomMember] = [:]
    /// The newest messages of the conversation that this node has received, oldest first.
    private(set) var messages: [RoomMessage] = []

    init(_ description: RoomDescription, listed: [RoomMember] = []) {
        self.description = description
        self.listed = listed
    }

    /// Adds a member that is connected to this node, or replaces it, as the home has it.
    mutating func setOwn(_ member: RoomMember) { own[member.session] = member }

    /// Removes a member that is not connected to this node any more.
    mutating func removeOwn(_ session: SessionID) { own[session] = nil }

    /// Adds a message of the conversation.
    mutating func append(_ message: RoomMessage) {
        if messages.count == RoomConversation.capacity { messages.removeFirst() }
        messages.append(message)
    }

    /// Replaces the messages of the conversation.
    mutating func setMessages(_ newest: [RoomMessage]) {
        messages = Array(newest.suffix(RoomConversation.capacity))
    }

    /// Applies an event of the home.
    mutating func apply(_ event: RoomMachine.Event) {
        switch event {
        case .joined(let member), .updated(let member):
            if let index = listed.firstIndex(where: { $0.session == member.session }) {
                listed[index] = member
            } else {
                listed.append(member)
            }
            if own[member.session] != nil { own[member.session] = member }
        case .left(let member):
            listed.removeAll { $0.session == member.session }
            guard own[member.session] != nil else { return }
            // A member that enters the audience stays.
            own[member.session] = member.isListed ? nil : member
        case .roomUpdated(let changed): description = changed
        case .ended: (listed, own) = ([], [:])
        }
    }

    /// Replaces the members by those of the home, which has answered after a lost link.
    ///
    /// - Parameters:
    ///   - room: The description.
    ///   - members: The listed members.
    ///   - connected: Those members of this node that the home has accepted.
    /// - Returns: The events that lead the connected members from the former state to this one.
    mutating func synchronize(
        _ room: RoomDescription, listed members: [RoomMember], own connected: [RoomMember]
    ) -> [RoomMachine.Event] {
        var events: [RoomMachine.Event] = []
        if room != description { events.append(.roomUpdated(room)) }
        let former = Dictionary(listed.map { ($0.session, $0) }) { first, _ in first }
        let present = Set(members.map(\.session))
        for member in listed where !present.contains(member.session) { events.append(.left(member)) }
        for member in members {
            guard let known = former[member.session] else {
                events.append(.joined(member))
                continue
            }
            if known != member { events.append(.updated(member)) }
        }
        description = room
        listed = members
        own = Dictionary(connected.map { ($0.session, $0) }) { first, _ in first }
        return events
    }
}

extension RoomMachine {
    /// Creates the room that continues after its home is lost. Its members have no connection, until they enter again or
    /// their nodes announce them.
    init(continuing replica: RoomReplica, limits: Limits, at now: Instant) {
        self.init(replica.description, limits: limits)
        for member in replica.listed { restore(member, at: now) }
        let audience = replica.own.values.filter { !$0.isListed }
        for member in audience.sorted(by: { $0.session.description < $1.session.description }) {
            restore(member, at: now)
        }
    }
}
