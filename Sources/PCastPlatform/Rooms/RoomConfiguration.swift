import PCastCore

/// The configuration of rooms and channels.
public struct RoomConfiguration: Hashable, Sendable {
    /// The time for which a member stays in its room after its connection broke, and for which a stream may be announced
    /// after its end.
    public var memberTimeout = Duration.seconds(15)
    /// Whether a request to join creates an unknown room, if the client may publish in it. Nil means that only a
    /// platform that listens on loopback addresses does so.
    public var createsOnJoin: Bool?
    /// The time for which the messages of conversations are kept; nil if only memory limits it. With it, those of rooms that
    /// backends have created are stored in the directory of the persistent data, if there is one.
    public var conversationRetention: Duration?
    /// The number of rooms. Further ones are refused with `capacity`.
    public var maximumRooms = 10_000
    /// The number of members of a room, including its audience.
    public var maximumMembers = 20_000
    /// The number of members of a room outside the audience.
    public var maximumListedMembers = 200

    /// Creates the default configuration.
    public init() {}

    /// The bounds of each room.
    var limits: RoomMachine.Limits {
        RoomMachine.Limits(
            members: maximumMembers, listed: maximumListedMembers, absence: TimeSpan(memberTimeout))
    }
}
