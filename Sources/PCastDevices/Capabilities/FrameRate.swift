/// A frame rate in frames per second as a fraction, such as 30000/1001.
public struct FrameRate: Hashable, Sendable, CustomStringConvertible {
    /// The numerator, greater than 0.
    public let numerator: Int
    /// The denominator, greater than 0.
    public let denominator: Int

    /// Creates a rate from a numerator and a denominator, which must be greater than 0.
    public init(_ numerator: Int, _ denominator: Int = 1) {
        precondition(numerator > 0 && denominator > 0, "the frame rate must be positive")
        self.numerator = numerator
        self.denominator = denominator
    }

    /// The frames per second.
    public var perSecond: Double { Double(numerator) / Double(denominator) }

    /// The rate as a whole number or a fraction.
    public var description: String {
        numerator % denominator == 0 ? "\(numerator / denominator)" : "\(numerator)/\(denominator)"
    }
}

extension FrameRate: Comparable {
    /// Returns whether the left rate is lower.
    public static func < (left: FrameRate, right: FrameRate) -> Bool {
        left.numerator * right.denominator < right.numerator * left.denominator
    }
}
