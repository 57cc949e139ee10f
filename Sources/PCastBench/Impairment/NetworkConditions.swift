import PCastMedia
import PCastNetwork

/// The conditions of a network between clients and a server.
struct NetworkConditions: Sendable {
    /// The conditions from clients to the server, and from the server to clients.
    var up: LinkSchedule
    var down: LinkSchedule
    /// Changes that wait until they are asked for, one after the other.
    var steps: [Step] = []
    /// No datagram passes.
    var blocksUDP = false
    /// When, after the beginning, clients' datagrams begin to come from other addresses, as behind a translator that
    /// has forgotten them.
    var rebindings: [TimeSpan] = []
    /// The same treatment from the same seed and traffic.
    var seed: UInt64 = 1
    /// Datagrams of clients at this address pass as if there were no such network.
    var exempt: IPAddress?

    /// A change of one direction or both.
    struct Step: Sendable {
        let isUp, isDown: Bool
        let change: @Sendable (inout LinkConditions) -> Void
    }

    init(up: LinkSchedule, down: LinkSchedule) {
        self.up = up
        self.down = down
    }

    /// The same in both directions.
    init(_ conditions: LinkConditions) { self.init(up: LinkSchedule(conditions), down: LinkSchedule(conditions)) }
}
