package import PCastCore

/// The conditions of a network between clients and a server.
package struct NetworkConditions: Sendable {
    /// The conditions from clients to the server, and from the server to clients.
    package var up: LinkSchedule
    package var down: LinkSchedule
    /// Changes that take effect one at a time, each when it is requested.
    package var steps: [Step] = []
    /// Whether all UDP datagrams are dropped.
    package var blocksUDP = false
    /// The times after the start at which the clients' datagrams change their source addresses, as behind a NAT that
    /// has lost its mappings.
    package var rebindings: [TimeSpan] = []
    /// The seed of the random decisions; the same seed and traffic give the same impairment.
    package var seed: UInt64 = 1
    /// The address of clients whose datagrams bypass the impairment; nil for none.
    package var exempt: IPAddress?

    /// A change of the conditions in one direction or in both.
    package struct Step: Sendable {
        package let isUp, isDown: Bool
        package let change: @Sendable (inout LinkConditions) -> Void

        /// Creates a change.
        package init(isUp: Bool, isDown: Bool, change: @escaping @Sendable (inout LinkConditions) -> Void) {
            (self.isUp, self.isDown) = (isUp, isDown)
            self.change = change
        }
    }

    /// Creates conditions for each direction.
    package init(up: LinkSchedule, down: LinkSchedule) {
        self.up = up
        self.down = down
    }

    /// Creates the same conditions for both directions.
    package init(_ conditions: LinkConditions) {
        self.init(up: LinkSchedule(conditions), down: LinkSchedule(conditions))
    }
}
