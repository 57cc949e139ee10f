public import PCastOverlay

/// A part of an overlay that lives with it (Ease Live's `ComponentInterface`). Called by the overlay, one call at a time, in
/// the order of what happens. The overlay holds it.
public protocol OverlayPlugin: AnyObject, Sendable {
    /// It belongs to an overlay now: hold it weakly.
    func create(_ overlay: Overlay)
    /// Also after a pause.
    func load()
    func pause()
    func destroy()
    /// All that is said, by whomever, as those hear it who listen for notifications.
    func receive(_ message: OverlayMessage)
    /// A page begins to be told things, or begins anew after it was away: it knows of the player, and of nothing else. What it is
    /// to know of the plugin is posted to it, by ``Overlay/post(_:to:)``.
    func begin(_ page: OverlayPage.ID)
}

extension OverlayPlugin {
    public func create(_ overlay: Overlay) {}
    public func load() {}
    public func pause() {}
    public func destroy() {}
    public func receive(_ message: OverlayMessage) {}
    public func begin(_ page: OverlayPage.ID) {}
}

/// Adapts a player (Ease Live's `PlayerPluginInterface`): does what the overlay asks for, and posts what the player does
/// to it as `player…` messages.
public protocol OverlayPlayerPlugin: OverlayPlugin {
    /// Goes to the picture of a moment, in milliseconds since 1970.
    func setTime(_ timecode: Int64)
    func setState(_ state: OverlayPlayerState)
    func setSpeed(_ speed: Double)
    /// 0 to 100.
    func setVolume(_ volume: Int)
    func setMute(_ isMuted: Bool)
    func setVideoScale(_ scale: VideoScale)
    /// Shows or hides the player's own controls.
    func setControllerVisible(_ isVisible: Bool)
    func didSwipeStage(_ direction: OverlaySwipe)
}

extension OverlayPlayerPlugin {
    public func setControllerVisible(_ isVisible: Bool) {}
    public func didSwipeStage(_ direction: OverlaySwipe) {}

    func perform(_ command: OverlayMessage) {
        switch command {
        case .bridgeTime(let timecode): setTime(timecode)
        case .bridgeState(let state): setState(state)
        case .bridgeSpeed(let speed): setSpeed(speed)
        case .bridgeVolume(let volume): setVolume(volume)
        case .bridgeMute(let isMuted): setMute(isMuted)
        case .bridgeVideoScale(let scale): setVideoScale(scale)
        case .bridgeStage(let controls): setControllerVisible(controls == .visible)
        case .bridgeStageSwipe(let direction): didSwipeStage(direction)
        default: break
        }
    }
}
