/// Which stretch of playing something belongs to: each item and each seek begins another. What was worked out for an
/// earlier one means nothing any more.
public struct PlayheadEpoch: Hashable, Comparable, Sendable {
    public var number: Int

    public init(number: Int = 0) { self.number = number }

    public static func < (left: PlayheadEpoch, right: PlayheadEpoch) -> Bool { left.number < right.number }

    var next: PlayheadEpoch { PlayheadEpoch(number: number + 1) }
}
