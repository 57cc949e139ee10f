public import PCastMedia

/// Whoever turns connections away before anything is read of them, and hears when the others are over.
public protocol ConnectionGate: Sendable {
    /// Called for each connection, on an event loop; false closes it at once.
    func admits(_ address: IPAddress?) -> Bool

    /// A connection that was admitted is over.
    func closed(_ address: IPAddress?)
}
