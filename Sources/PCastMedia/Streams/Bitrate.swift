/// A rate of data in bits a second.
public struct Bitrate: Hashable, Comparable, Sendable {
    public var bitsPerSecond: Int64

    public init(bitsPerSecond: Int64) { self.bitsPerSecond = bitsPerSecond }

    public static func kilobits(_ count: Int64) -> Bitrate { Bitrate(bitsPerSecond: count * 1_000) }

    public static func < (left: Bitrate, right: Bitrate) -> Bool { left.bitsPerSecond < right.bitsPerSecond }
}
