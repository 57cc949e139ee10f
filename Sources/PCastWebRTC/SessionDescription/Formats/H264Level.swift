public import PCastCore

/// An H.264 level, which limits resolution and frame rate (ITU-T H.264, table A-1).
public struct H264Level: Hashable, Comparable, Sendable {
    /// The `level_idc`, which is ten times the level number.
    public let indication: UInt8

    /// Creates a level from its `level_idc`.
    public init(indication: UInt8) { self.indication = indication }

    /// Level 1.3: 352x288 at 30 fps.
    public static let level13 = H264Level(indication: 13)
    /// Level 2.1: 352x576 at 25 fps.
    public static let level21 = H264Level(indication: 21)
    /// Level 3: 720x576 at 25 fps.
    public static let level30 = H264Level(indication: 30)
    /// Level 3.1: 1280x720 at 30 fps.
    public static let level31 = H264Level(indication: 31)
    /// Level 3.2: 1280x720 at 60 fps.
    public static let level32 = H264Level(indication: 32)
    /// Level 4: 1920x1080 at 30 fps.
    public static let level40 = H264Level(indication: 40)
    /// Level 4.2: 1920x1080 at 60 fps.
    public static let level42 = H264Level(indication: 42)
    /// Level 5.1: 3840x2160 at 30 fps.
    public static let level51 = H264Level(indication: 51)
    /// Level 5.2: 3840x2160 at 60 fps.
    public static let level52 = H264Level(indication: 52)

    /// Returns whether a level allows less than another.
    public static func < (left: H264Level, right: H264Level) -> Bool { left.indication < right.indication }

    /// The limits of a level.
    private struct Bound {
        let level: H264Level
        let macroblocksPerSecond: Int
        let macroblocks: Int
    }

    /// The limits of the levels above, the lowest first.
    private static let bounds = [
        Bound(level: level13, macroblocksPerSecond: 11_880, macroblocks: 396),
        Bound(level: level21, macroblocksPerSecond: 19_800, macroblocks: 792),
        Bound(level: level30, macroblocksPerSecond: 40_500, macroblocks: 1_620),
        Bound(level: level31, macroblocksPerSecond: 108_000, macroblocks: 3_600),
        Bound(level: level32, macroblocksPerSecond: 216_000, macroblocks: 5_120),
        Bound(level: level40, macroblocksPerSecond: 245_760, macroblocks: 8_192),
        Bound(level: level42, macroblocksPerSecond: 522_240, macroblocks: 8_704),
        Bound(level: level51, macroblocksPerSecond: 983_040, macroblocks: 36_864),
        Bound(level: level52, macroblocksPerSecond: 2_073_600, macroblocks: 36_864),
    ]

    /// Returns the lowest of these levels that allows a resolution and frame rate (in frames per second); nil if none
    /// does.
    public static func lowest(for dimensions: Dimensions, framesPerSecond: Int) -> H264Level? {
        guard (1...16_384).contains(dimensions.width), (1...16_384).contains(dimensions.height) else { return nil }
        guard (1...1_000).contains(framesPerSecond) else { return nil }
        let macroblocks = ((dimensions.width + 15) / 16) * ((dimensions.height + 15) / 16)
        let bound = bounds.first {
            macroblocks <= $0.macroblocks && macroblocks * framesPerSecond <= $0.macroblocksPerSecond
        }
        return bound?.level
    }
}
