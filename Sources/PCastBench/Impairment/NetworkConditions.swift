import PCastCore
import PCastNetworkEmulation

/// The conditions of a network between clients and a server.
struct NetworkConditions: Sendable {
    /// The conditions from clients to the server, and from the server to clients.
    var up: LinkSchedule
    var down: LinkSchedule
    /// Changes that take effect one at a time, each when it is requested.
    var steps: [Step] = []
    /// Whether all UDP datagrams are dropped.
    var blocksUDP = false
    /// The times after the start at which the clients' datagrams change their source addresses, as behind a NAT that
    /// has lost its mappings.
    var rebindings: [TimeSpan] = []
    /// The seed of the random decisions; the same seed and traffic give the same impairment.
    var seed: UInt64 = 1
    /// The address of clients whose datagrams bypass the impairment; nil for none.
    var exempt: IPAddress?

    /// A change of the conditions in one direction or in both.
    struct Step: Sendable {
        let isUp, isDown: Bool
        let change: @Sendable (inout LinkConditions) -> Void
    }

    init(up: LinkSchedule, down: LinkSchedule) {
        self.up = up
        self.down = down
    }

    /// Creates the same conditions for both directions.
    init(_ conditions: LinkConditions) { self.init(up: LinkSchedule(conditions), down: LinkSchedule(conditions)) }
}
