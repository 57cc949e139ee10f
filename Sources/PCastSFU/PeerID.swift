/// One publisher or viewer, by the number that whoever let it in gave it.
public struct PeerID: Hashable, Sendable {
    public let value: UInt64

    public init(_ value: UInt64) { self.value = value }
}
