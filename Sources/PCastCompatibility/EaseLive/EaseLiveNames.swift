public import PCastPlayback

// What Ease Live's SDK for iOS calls it (seed 000; its public interface, 2.15). Names, keys and raw values are the same.

/// The overlay of one programme: `create`, `load`, `pause`, `destroy`.
public typealias EaseLive = Overlay
public typealias EaseLiveNotificationKeys = OverlayNotificationKeys
/// `level` is `fatal` or `warning`; `component`, `reason`, `code`, `programId`.
public typealias EaseLiveError = OverlayError
public typealias ComponentInterface = OverlayPlugin
public typealias PlayerPluginInterface = OverlayPlayerPlugin
public typealias BridgePlugin = OverlayBridge
