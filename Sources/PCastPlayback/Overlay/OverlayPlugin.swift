public import PCastOverlay

/// A part of an overlay that shares its lifecycle (Ease Live's `ComponentInterface`). The overlay holds it strongly,
/// and makes one call at a time, in the order of the events. All methods have empty default implementations.
public protocol OverlayPlugin: AnyObject, Sendable {
    /// Notifies that the overlay was created. The plugin should hold the overlay weakly.
    func create(_ overlay: Overlay)
    /// Notifies that the overlay was loaded or resumed after a pause.
    func load()
    /// Notifies that the overlay was paused.
    func pause()
    /// Notifies that the overlay was destroyed.
    func destroy()
    /// Notifies of a message from any sender. Observers of notifications receive the same messages.
    func receive(_ message: OverlayMessage)
    /// Notifies that a page connects or reconnects. The page knows only the state of the player. The plugin can post
    /// the plugin's state with ``Overlay/post(_:to:)``.
    func begin(_ page: OverlayPage.ID)
}

extension OverlayPlugin {
    /// Does nothing.
    public func create(_ overlay: Overlay) {}
    /// Does nothing.
    public func load() {}
    /// Does nothing.
    public func pause() {}
    /// Does nothing.
    public func destroy() {}
    /// Does nothing.
    public func receive(_ message: OverlayMessage) {}
    /// Does nothing.
    public func begin(_ page: OverlayPage.ID) {}
}

/// An adapter of a player (Ease Live's `PlayerPluginInterface`). It carries out the overlay's requests, and posts
/// `player…` messages to the overlay.
public protocol OverlayPlayerPlugin: OverlayPlugin {
    /// Seeks to the frame of a time in milliseconds since 1970.
    func setTime(_ timecode: Int64)
    /// Sets the state of playback.
    func setState(_ state: OverlayPlayerState)
    /// Sets the playback rate, as a factor.
    func setSpeed(_ speed: Double)
    /// Sets the volume, 0 to 100.
    func setVolume(_ volume: Int)
    /// Mutes or unmutes the audio.
    func setMute(_ isMuted: Bool)
    /// Sets the scale of the video.
    func setVideoScale(_ scale: VideoScale)
    /// Shows or hides the player's own controls.
    func setControllerVisible(_ isVisible: Bool)
    /// Notifies that the viewer swiped on the overlay.
    func didSwipeStage(_ direction: OverlaySwipe)
}

extension OverlayPlayerPlugin {
    /// Does nothing.
    public func setControllerVisible(_ isVisible: Bool) {}
    /// Does nothing.
    public func didSwipeStage(_ direction: OverlaySwipe) {}

    /// Calls the method that corresponds to a request of the overlay.
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
