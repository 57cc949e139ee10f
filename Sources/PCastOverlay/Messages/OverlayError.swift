/// What goes wrong in an overlay or a plugin of it (seed 000, `EaseLiveError`; its levels and components by their numbers).
public struct OverlayError: Error, Hashable, Sendable {
    public enum Level: Int, Hashable, Sendable, CaseIterable {
        /// The overlay is destroyed by it.
        case fatal = 0
        case warning = 1
    }

    /// Where it went wrong.
    public enum Component: Int, Hashable, Sendable, CaseIterable {
        case viewInit = 0
        case viewConnectivity
        case bridgeInit
        case bridgeConnectivity
        case playerInit
        case playerConnectivity
    }

    public var level: Level
    public var component: Component
    /// For people.
    public var reason: String
    public var code: Int?
    public var programId: String?

    public init(
        _ level: Level, _ component: Component, reason: String, code: Int? = nil, programId: String? = nil
    ) {
        (self.level, self.component, self.reason) = (level, component, reason)
        (self.code, self.programId) = (code, programId)
    }

    public var isFatal: Bool { level == .fatal }

    public static func viewInit(level: Level, reason: String) -> OverlayError {
        OverlayError(level, .viewInit, reason: reason)
    }

    public static func viewConnectivity(level: Level, reason: String) -> OverlayError {
        OverlayError(level, .viewConnectivity, reason: reason)
    }

    public static func bridgeInit(level: Level, reason: String) -> OverlayError {
        OverlayError(level, .bridgeInit, reason: reason)
    }

    public static func bridgeConnectivity(level: Level, reason: String) -> OverlayError {
        OverlayError(level, .bridgeConnectivity, reason: reason)
    }

    public static func playerInit(level: Level, reason: String) -> OverlayError {
        OverlayError(level, .playerInit, reason: reason)
    }

    public static func playerConnectivity(level: Level, reason: String) -> OverlayError {
        OverlayError(level, .playerConnectivity, reason: reason)
    }

    /// What a page tells of itself.
    public static func appError(
        level: Level, reason: String, code: Int? = nil, programId: String? = nil
    ) -> OverlayError {
        OverlayError(level, .viewConnectivity, reason: reason, code: code, programId: programId)
    }
}

extension OverlayError: CustomStringConvertible {
    public var description: String { "\(level) (\(component)): \(reason)" }
}
