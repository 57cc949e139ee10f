/// An error of an overlay or its plugins. Levels and components have the numbers of `EaseLiveError` in the Ease Live
/// SDK.
public struct OverlayError: Error, Hashable, Sendable {
    /// The severity.
    public enum Level: Int, Hashable, Sendable, CaseIterable {
        /// The error destroys the overlay.
        case fatal = 0
        /// The overlay continues.
        case warning = 1
    }

    /// The component that failed.
    public enum Component: Int, Hashable, Sendable, CaseIterable {
        /// The view failed to initialize.
        case viewInit = 0
        /// The connection of the view failed.
        case viewConnectivity
        /// The bridge failed to initialize.
        case bridgeInit
        /// The connection between the page and the bridge failed.
        case bridgeConnectivity
        /// The player plugin failed to initialize.
        case playerInit
        /// The player has lost its connection or failed to play.
        case playerConnectivity
    }

    /// The severity.
    public var level: Level
    /// The component that failed.
    public var component: Component
    /// The description for a person.
    public var reason: String
    /// The code that a page reported; nil if there is none.
    public var code: Int?
    /// The programme that a page reported; nil if there is none.
    public var programId: String?

    /// Creates an error.
    public init(
        _ level: Level, _ component: Component, reason: String, code: Int? = nil, programId: String? = nil
    ) {
        (self.level, self.component, self.reason) = (level, component, reason)
        (self.code, self.programId) = (code, programId)
    }

    /// Whether the error destroys the overlay.
    public var isFatal: Bool { level == .fatal }

    /// Returns an error of the initialization of the view.
    public static func viewInit(level: Level, reason: String) -> OverlayError {
        OverlayError(level, .viewInit, reason: reason)
    }

    /// Returns an error of the connection of the view.
    public static func viewConnectivity(level: Level, reason: String) -> OverlayError {
        OverlayError(level, .viewConnectivity, reason: reason)
    }

    /// Returns an error of the initialization of the bridge.
    public static func bridgeInit(level: Level, reason: String) -> OverlayError {
        OverlayError(level, .bridgeInit, reason: reason)
    }

    /// Returns an error of the connection between the page and the bridge.
    public static func bridgeConnectivity(level: Level, reason: String) -> OverlayError {
        OverlayError(level, .bridgeConnectivity, reason: reason)
    }

    /// Returns an error of the initialization of the player plugin.
    public static func playerInit(level: Level, reason: String) -> OverlayError {
        OverlayError(level, .playerInit, reason: reason)
    }

    /// Returns an error of the player.
    public static func playerConnectivity(level: Level, reason: String) -> OverlayError {
        OverlayError(level, .playerConnectivity, reason: reason)
    }

    /// Returns an error that a page reports about itself.
    public static func appError(
        level: Level, reason: String, code: Int? = nil, programId: String? = nil
    ) -> OverlayError {
        OverlayError(level, .viewConnectivity, reason: reason, code: code, programId: programId)
    }
}

extension OverlayError: CustomStringConvertible {
    /// The message for a person: level, component and reason.
    public var description: String { "\(level) (\(component)): \(reason)" }
}
