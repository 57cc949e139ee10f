package import PCastCore

/// A gate that rejects connections before any byte is read, and is notified when accepted connections end.
package protocol ConnectionFilter: Sendable {
    /// Returns whether a connection is accepted. It is called on an event loop for each connection. A rejected one is
    /// closed at once.
    func admits(_ address: IPAddress?) -> Bool

    /// Notifies the gate that an accepted connection was closed.
    func closed(_ address: IPAddress?)
}
