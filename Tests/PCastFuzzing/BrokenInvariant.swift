/// An invariant that did not hold for an input.
public struct BrokenInvariant: Error, CustomStringConvertible {
    /// The invariant and the input's property that violates it.
    public let description: String
}

/// Throws unless the condition holds.
func check(_ condition: Bool, _ claim: @autoclosure () -> String) throws(BrokenInvariant) {
    if !condition { throw BrokenInvariant(description: claim()) }
}
