import PCastCore

/// The members of one room, and the events about them.
///
/// It is a state machine without I/O. After each call, the driver polls the events, and sends each of them to all
/// connected members in this order, before it answers the request.
///
/// Members of the audience are in no list and in no event. They cost memory only.
struct RoomMachine {
    /// An event for all connected members.
    enum Event: Hashable, Sendable {
        case joined(RoomMember)
        case updated(RoomMember)
        case left(RoomMember)
        case roomUpdated(RoomDescription)
        case ended
    }

    /// The bounds of a room.
    struct Limits: Hashable, Sendable {
        /// The number of members, including the audience.
        var members = 20_000
        /// The number of members outside the audience, each of whose changes is an event for all members.
        var listed = 200
        /// The time for which a member without a connection stays, and for which an ended stream may be announced.
        var absence = TimeSpan.seconds(15)
    }

    /// A change of a member; nil for what remains.
    struct Change: Hashable, Sendable {
        var screenName: String?
        var role: RoomMember.Role?
        var state: RoomMember.State?
        var streams: [RoomStream]?
        /// The number of the last change that the client knows.
        var lastUpdate: UInt64 = 0

        var isEmpty: Bool { screenName == nil && role == nil && state == nil && streams == nil }
    }

    private struct Entry {
        var member: RoomMember
        /// The number of the connection; nil while there is none.
        var connection: Int?
        /// The connections before that one whose ends are not known, the oldest first.
        var formerConnections: [Int] = []
        /// The order in which listed members appeared.
        var order = 0
    }

    /// A stream that has ended while a member announces it.
    private struct EndedStream {
        let stream: StreamID
        let session: SessionID
        let since: Instant
    }

    private(set) var description: RoomDescription
    let limits: Limits
    private var entries: [SessionID: Entry] = [:]
    private var listedSessions: Set<SessionID> = []
    private var absent = DisconnectedSessions()
    private var endedStreams: [EndedStream] = []
    private var lastUpdate: UInt64 = 0
    private var nextOrder = 0
    private var events: [Event] = []

    init(_ description: RoomDescription, limits: Limits = Limits()) {
        self.description = description
        self.limits = limits
    }

    // MARK: State

    /// The listed members, in the order in which they appeared.
    var listed: [RoomMember] {
        listedSessions.compactMap { entries[$0] }.sorted { $0.order < $1.order }.map(\.member)
    }

    /// The number of all members.
    var memberCount: Int { entries.count }

    var audienceCount: Int { entries.count - listedSessions.count }

    func member(_ session: SessionID) -> RoomMember? { entries[session]?.member }

    /// Returns the members whose streams viewers of a channel may receive, the preferred one first.
    ///
    /// That is the one with the newest change, and the later in the list among equal ones. In a channel with the option
    /// ``RoomDescription/highAvailability`` it is the former one, then the first whose name contains “primary”, then
    /// “alternate”, then the first of the list.
    ///
    /// - Parameter former: The session of the presenter that was preferred before; nil for none.
    /// - Returns: The members.
    func presenters(after former: SessionID?) -> [RoomMember] {
        Self.presenters(among: listed, of: description, after: former)
    }

    /// Returns the same of a list of members.
    static func presenters(
        among listed: [RoomMember], of description: RoomDescription, after former: SessionID?
    ) -> [RoomMember] {
        let candidates = listed.filter(\.isPublishing)
        guard description.options.contains(RoomDescription.highAvailability) else {
            return candidates.enumerated().sorted {
                ($0.element.lastUpdate, $0.offset) > ($1.element.lastUpdate, $1.offset)
            }.map(\.element)
        }
        func rank(_ member: RoomMember) -> Int {
            if member.session == former { return 0 }
            let name = member.screenName.lowercased()
            return name.contains("primary") ? 1 : name.contains("alternate") ? 2 : 3
        }
        return candidates.enumerated().sorted {
            (rank($0.element), $0.offset) < (rank($1.element), $1.offset)
        }.map(\.element)
    }

    /// Whether time alone can change the members.
    var needsTime: Bool { absent.count > 0 || !endedStreams.isEmpty }

    /// Returns the next event; nil if there is none.
    mutating func poll() -> Event? { events.isEmpty ? nil : events.removeFirst() }

    // MARK: Members

    /// Adds a member, or replaces the one with the same session. The client's `lastUpdate` has no meaning here.
    ///
    /// - Returns: The member with the number of its last change.
    /// - Throws: ``RoomRefusal``.
    mutating func join(
        _ joining: RoomMember, connection: Int, at time: WallTime
    ) throws(RoomRefusal) -> RoomMember {
        let former = entries[joining.session]
        guard former != nil || entries.count < limits.members else { throw .capacity }
        if joining.isListed, former?.member.isListed != true, listedSessions.count >= limits.listed { throw .capacity }
        var member = joining
        absent.returned(member.session)
        if let former {
            member.lastUpdate = former.member.lastUpdate
            // A member that returns as it left is no news for the others.
            if member == former.member {
                connect(member.session, connection)
                return member
            }
        }
        member.lastUpdate = nextUpdate(time)
        replace(former?.member, by: member)
        connect(member.session, connection)
        return member
    }

    /// Connects a member that its node announces again, because the link or the home was lost. The member of this room is
    /// kept unless the announced one is newer. A new one keeps its number if it belongs to the audience, because its client
    /// receives no event.
    ///
    /// - Returns: The member as the room has it.
    /// - Throws: ``RoomRefusal``.
    mutating func rejoin(
        _ announced: RoomMember, connection: Int, at time: WallTime
    ) throws(RoomRefusal) -> RoomMember {
        let session = announced.session
        let former = entries[session]?.member
        if let former, former.lastUpdate >= announced.lastUpdate {
            absent.returned(session)
            connect(session, connection)
            return former
        }
        guard former != nil || entries.count < limits.members else { throw .capacity }
        if announced.isListed, former?.isListed != true, listedSessions.count >= limits.listed { throw .capacity }
        absent.returned(session)
        lastUpdate = max(lastUpdate, announced.lastUpdate)
        var member = announced
        if announced.isListed || former?.isListed == true { member.lastUpdate = nextUpdate(time) }
        replace(former, by: member)
        connect(session, connection)
        return member
    }

    /// Updates a member of which another node has received a newer change than this room, which continues after the loss of
    /// its home. A connected member has announced itself, and keeps its state with a new number.
    mutating func merge(_ announced: RoomMember, at time: WallTime) {
        guard let entry = entries[announced.session], entry.member.lastUpdate < announced.lastUpdate else { return }
        lastUpdate = max(lastUpdate, announced.lastUpdate)
        var member = announced
        if entry.connection != nil {
            // The client of a member of the audience receives no event with a new number.
            guard entry.member.isListed else { return }
            member = entry.member
            member.lastUpdate = nextUpdate(time)
        }
        if member.isListed, !entry.member.isListed, listedSessions.count >= limits.listed { return }
        replace(entry.member, by: member)
    }

    /// Adds a member of a lost home. It has no connection, and there is no event.
    mutating func restore(_ member: RoomMember, at now: Instant) {
        guard entries[member.session] == nil else { return }
        replace(nil, by: member)
        events = []
        lastUpdate = max(lastUpdate, member.lastUpdate)
        absent.left(member.session, at: now)
    }

    /// Changes a member if the client knows its last change.
    ///
    /// - Returns: The number of the change.
    /// - Throws: ``RoomRefusal``.
    mutating func update(
        _ session: SessionID, _ change: Change, at time: WallTime
    ) throws(RoomRefusal) -> UInt64 {
        guard let former = entries[session]?.member else { throw .notFound }
        guard !change.isEmpty else { return former.lastUpdate }
        guard change.lastUpdate == former.lastUpdate else { throw .conflict(lastUpdate: former.lastUpdate) }
        var member = former
        if let screenName = change.screenName { member.screenName = screenName }
        if let role = change.role { member.role = role }
        if let state = change.state { member.state = state }
        if let streams = change.streams { member.streams = streams }
        guard member != former else { return former.lastUpdate }
        guard former.isListed || member.isListed else {
            // A client learns a new number from events, and there is none about the audience.
            entries[session]?.member = member
            return former.lastUpdate
        }
        if member.isListed, !former.isListed, listedSessions.count >= limits.listed { throw .capacity }
        member.lastUpdate = nextUpdate(time)
        replace(former, by: member)
        return member.lastUpdate
    }

    /// Removes a member. Returns false if it is not in the room.
    @discardableResult
    mutating func leave(_ session: SessionID, at time: WallTime) -> Bool {
        guard var member = entries.removeValue(forKey: session)?.member else { return false }
        absent.returned(session)
        endedStreams.removeAll { $0.session == session }
        if listedSessions.remove(session) != nil {
            member.lastUpdate = nextUpdate(time)
            events.append(.left(member))
        }
        return true
    }

    /// The maximum number of former connections of a member. The oldest one is forgotten.
    static let formerConnectionLimit = 4

    /// Sets the connection of a member. The former one may be the newer one, because the requests of a client that has connected
    /// to another node arrive on two links in any order. It is kept until its end is known.
    private mutating func connect(_ session: SessionID, _ connection: Int) {
        guard var entry = entries[session] else { return }
        entry.formerConnections.removeAll { $0 == connection }
        if let former = entry.connection, former != connection {
            if entry.formerConnections.count == Self.formerConnectionLimit { entry.formerConnections.removeFirst() }
            entry.formerConnections.append(former)
        }
        entry.connection = connection
        entries[session] = entry
    }

    /// Returns the number of a member's connection; nil while there is none.
    func connection(of session: SessionID) -> Int? { entries[session]?.connection }

    /// Records that a connection is lost. If it is the member's current one, the newest former one continues.
    ///
    /// - Returns: Whether the member has no connection any more.
    @discardableResult
    mutating func connectionLost(_ session: SessionID, connection: Int, at now: Instant) -> Bool {
        entries[session]?.formerConnections.removeAll { $0 == connection }
        guard var entry = entries[session], entry.connection == connection else { return false }
        entry.connection = entry.formerConnections.popLast()
        entries[session] = entry
        guard entry.connection == nil else { return false }
        absent.left(session, at: now)
        return true
    }

    /// Records the end of a stream of a session. The client usually reports it itself.
    mutating func streamEnded(_ stream: StreamID, of session: SessionID, at now: Instant) {
        guard let member = entries[session]?.member, member.streams.contains(where: { $0.streamID == stream }),
            !endedStreams.contains(where: { $0.stream == stream })
        else { return }
        endedStreams.append(EndedStream(stream: stream, session: session, since: now))
    }

    /// Removes members that did not reconnect in time, and announcements of streams that have ended. Returns the removed
    /// sessions.
    mutating func advance(to now: Instant, _ time: WallTime) -> [SessionID] {
        var removed: [SessionID] = []
        while let session = absent.popFirst(disconnectedBy: now - limits.absence) {
            if leave(session, at: time) { removed.append(session) }
        }
        let due = endedStreams.filter { $0.since <= now - limits.absence }
        guard !due.isEmpty else { return removed }
        endedStreams.removeAll { $0.since <= now - limits.absence }
        for ended in due {
            guard let former = entries[ended.session]?.member else { continue }
            var member = former
            member.streams.removeAll { $0.streamID == ended.stream }
            guard member != former else { continue }
            if former.isListed { member.lastUpdate = nextUpdate(time) }
            replace(former, by: member)
        }
        return removed
    }

    // MARK: Room

    /// Changes the description.
    mutating func update(_ changed: RoomDescription) {
        guard changed != description else { return }
        description = changed
        events.append(.roomUpdated(changed))
    }

    /// Ends the room. Each listed member leaves, because clients only log the end of a room.
    mutating func end(at time: WallTime) {
        for member in listed { leave(member.session, at: time) }
        entries = [:]
        absent = DisconnectedSessions()
        events.append(.ended)
    }

    // MARK: Changes

    /// Stores a member and appends the event that the others need.
    private mutating func replace(_ former: RoomMember?, by member: RoomMember) {
        let session = member.session
        if former == nil { entries[session] = Entry(member: member) } else { entries[session]?.member = member }
        let wasListed = former?.isListed ?? false
        switch (wasListed, member.isListed) {
        case (false, true):
            nextOrder += 1
            entries[session]?.order = nextOrder
            listedSessions.insert(session)
            events.append(.joined(member))
        case (true, true): events.append(.updated(member))
        case (true, false):
            listedSessions.remove(session)
            events.append(.left(member))
        case (false, false): break
        }
    }

    /// Returns a number that is greater than all earlier ones of the room, and close to the time in milliseconds.
    private mutating func nextUpdate(_ time: WallTime) -> UInt64 {
        lastUpdate = max(UInt64(max(time.millisecondsSinceEpoch, 0)), lastUpdate + 1)
        return lastUpdate
    }
}
