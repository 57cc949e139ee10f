/// What did not hold for some input.
public struct BrokenInvariant: Error, CustomStringConvertible {
    public let description: String
}

/// Throws unless the condition holds.
func check(_ condition: Bool, _ claim: @autoclosure () -> String) throws(BrokenInvariant) {
    if !condition { throw BrokenInvariant(description: claim()) }
}
