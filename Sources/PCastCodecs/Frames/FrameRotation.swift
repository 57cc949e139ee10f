/// A clockwise rotation by a multiple of 90°.
public enum FrameRotation: Int, CaseIterable, Sendable {
    /// No rotation.
    case none = 0
    /// A quarter turn clockwise.
    case clockwise90 = 90
    /// A rotation by 180°.
    case half = 180
    /// A quarter turn counterclockwise.
    case clockwise270 = 270

    /// Creates a rotation from degrees, which may be negative or exceed 360. Returns nil if they are not a multiple of
    /// 90.
    public init?(degrees: Int) {
        let rest = degrees % 360
        self.init(rawValue: rest < 0 ? rest + 360 : rest)
    }

    /// The angle in degrees, clockwise.
    public var degrees: Int { rawValue }

    /// Whether the rotation exchanges width and height.
    public var exchangesSides: Bool { self == .clockwise90 || self == .clockwise270 }

    /// Returns the rotation that results from both.
    public static func + (first: FrameRotation, second: FrameRotation) -> FrameRotation {
        FrameRotation(degrees: first.degrees + second.degrees)!
    }
}

/// The mirroring of a frame. Both directions together equal a rotation by 180°.
public struct FrameMirroring: OptionSet, Hashable, Sendable {
    /// The bits of the set.
    public let rawValue: UInt8

    /// Creates a set from its bits.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Exchanges left and right, as in a mirror.
    public static let horizontal = FrameMirroring(rawValue: 1)
    /// Exchanges top and bottom.
    public static let vertical = FrameMirroring(rawValue: 2)
}
