/// Pictures a second, as a fraction: 30000/1001 is no whole number.
public struct FrameRate: Hashable, Sendable, CustomStringConvertible {
    public let numerator: Int
    public let denominator: Int

    /// - Parameters: both positive.
    public init(_ numerator: Int, _ denominator: Int = 1) {
        precondition(numerator > 0 && denominator > 0, "a frame rate that is no rate")
        self.numerator = numerator
        self.denominator = denominator
    }

    public var perSecond: Double { Double(numerator) / Double(denominator) }

    public var description: String {
        numerator % denominator == 0 ? "\(numerator / denominator)" : "\(numerator)/\(denominator)"
    }
}

extension FrameRate: Comparable {
    public static func < (left: FrameRate, right: FrameRate) -> Bool {
        left.numerator * right.denominator < right.numerator * left.denominator
    }
}
