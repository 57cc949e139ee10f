/// A turn by quarters of a circle, clockwise.
public enum PictureTurn: Int, CaseIterable, Sendable {
    case none = 0
    case clockwise90 = 90
    case half = 180
    case clockwise270 = 270

    /// - Parameter degrees: clockwise, also negative or beyond a whole turn. Nil when it is no right angle.
    public init?(degrees: Int) {
        let rest = degrees % 360
        self.init(rawValue: rest < 0 ? rest + 360 : rest)
    }

    /// Clockwise.
    public var degrees: Int { rawValue }

    /// Whether width and height are exchanged.
    public var exchangesSides: Bool { self == .clockwise90 || self == .clockwise270 }

    /// One turn after the other.
    public static func + (first: PictureTurn, second: PictureTurn) -> PictureTurn {
        PictureTurn(degrees: first.degrees + second.degrees)!
    }
}

/// What is exchanged in a picture. Both together are half a turn.
public struct PictureMirroring: OptionSet, Hashable, Sendable {
    public let rawValue: UInt8

    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Left and right, as in a mirror.
    public static let horizontal = PictureMirroring(rawValue: 1)
    /// Top and bottom.
    public static let vertical = PictureMirroring(rawValue: 2)
}
