public import PCastPlayback

// The names of Ease Live's SDK for iOS (public interface, version 2.15). Names, keys and raw values are the same.

/// The overlay of a program, with `create`, `load`, `pause` and `destroy` (Ease Live: `EaseLive`).
public typealias EaseLive = Overlay
/// The keys of notifications (Ease Live: `EaseLiveNotificationKeys`).
public typealias EaseLiveNotificationKeys = OverlayNotificationKeys
/// An error with `level` (`fatal` or `warning`), `component`, `reason`, `code` and `programId` (Ease Live:
/// `EaseLiveError`).
public typealias EaseLiveError = OverlayError
/// A part of the overlay (Ease Live: `ComponentInterface`).
public typealias ComponentInterface = OverlayPlugin
/// A connection to a player (Ease Live: `PlayerPluginInterface`).
public typealias PlayerPluginInterface = OverlayPlayerPlugin
/// A connection to the overlay's page (Ease Live: `BridgePlugin`).
public typealias BridgePlugin = OverlayBridge
