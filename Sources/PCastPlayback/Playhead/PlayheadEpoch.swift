/// The number of a section of playback. Each item and each seek begins another epoch, which invalidates the results of
/// earlier ones.
public struct PlayheadEpoch: Hashable, Comparable, Sendable {
    /// The number, which increases.
    public var number: Int

    /// Creates an epoch.
    public init(number: Int = 0) { self.number = number }

    /// Whether `left` is earlier than `right`.
    public static func < (left: PlayheadEpoch, right: PlayheadEpoch) -> Bool { left.number < right.number }

    /// The next epoch.
    var next: PlayheadEpoch { PlayheadEpoch(number: number + 1) }
}
