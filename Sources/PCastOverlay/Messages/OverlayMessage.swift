/// A message between application, overlay and player, with a case for each of the 26 notifications of the Ease Live
/// SDK.
///
/// Messages that begin with `bridge` come from a page, with `player` from the player, and with `app` from the
/// application. A `bridge` message is a request, and the `player` message of the same kind reports that it was
/// performed.
public enum OverlayMessage: Hashable, Sendable {
    /// All components are ready.
    case easeLiveReady
    /// A component has failed.
    case easeLiveError(OverlayError)

    /// The application requests that the overlay use a language (BCP 47).
    case appLanguage(String)
    /// A message of the application for the pages: a JSON value as text.
    case appMessage(String)

    /// A page or the application sets the status of the overlay.
    case bridgeAppStatus(OverlayStatus)
    /// The first controller page receives messages.
    case bridgeReady
    /// The user has clicked the stage, and the controls are to be shown or hidden.
    case bridgeStage(OverlayControls)
    /// The user has swiped the stage.
    case bridgeStageSwipe(OverlaySwipe)
    /// A page requests a seek to a time in milliseconds since 1970-01-01T00:00:00Z.
    case bridgeTime(Int64)
    /// A page requests that the player play, pause or stop.
    case bridgeState(OverlayPlayerState)
    /// A page reports its language and those that it supports (BCP 47).
    case bridgeLanguage(String, available: [String])
    /// A message of a page with an unknown event, as its JSON text.
    case bridgeMessage(String)
    /// A page requests a playback speed; 1 is normal speed.
    case bridgeSpeed(Double)
    /// A page requests a volume from 0 to 100.
    case bridgeVolume(Int)
    /// A page requests that audio be muted or not.
    case bridgeMute(Bool)
    /// A page requests that the video be scaled.
    case bridgeVideoScale(VideoScale)

    /// The player is ready to play.
    case playerReady
    /// The player reports the playback position.
    case playerTime(OverlayTime)
    /// The player has failed.
    case playerError(OverlayError)
    /// The stream contains timed metadata at the playback position, as JSON text.
    case playerMetadata(String)
    /// The player has changed its state.
    case playerState(OverlayPlayerState)
    /// The controls of the player were shown or hidden.
    case playerStage(OverlayControls)
    /// The player has changed its speed; 1 is normal speed.
    case playerSpeed(Double)
    /// The player has changed its volume, from 0 to 100.
    case playerVolume(Int)
    /// The player was muted or unmuted.
    case playerMute(Bool)
    /// The player has begun to scale its video.
    case playerVideoScale(VideoScale)
}

extension OverlayMessage {
    /// The names of messages. The raw values are the notification names of the Ease Live SDK.
    public enum Name: String, Hashable, Sendable, CaseIterable {
        case easeLiveReady = "easelive.ready"
        case easeLiveError = "easelive.error"
        case appLanguage = "easelive.app.language"
        case appMessage = "easelive.app.message"
        case bridgeAppStatus = "easelive.bridge.app.status"
        case bridgeReady = "easelive.bridge.ready"
        case bridgeStage = "easelive.bridge.stage"
        case bridgeStageSwipe = "easelive.bridge.stage.swipe"
        case bridgeTime = "easelive.bridge.time"
        case bridgeState = "easelive.bridge.state"
        case bridgeLanguage = "easelive.bridge.language"
        case bridgeMessage = "easelive.bridge.message"
        case bridgeSpeed = "easelive.bridge.speed"
        case bridgeVolume = "easelive.bridge.volume"
        case bridgeMute = "easelive.bridge.mute"
        case bridgeVideoScale = "easelive.bridge.videoscale"
        case playerReady = "easelive.player.ready"
        case playerTime = "easelive.player.time"
        case playerError = "easelive.player.error"
        case playerMetadata = "easelive.player.metadata"
        case playerState = "easelive.player.state"
        case playerStage = "easelive.player.stage"
        case playerSpeed = "easelive.player.speed"
        case playerVolume = "easelive.player.volume"
        case playerMute = "easelive.player.mute"
        case playerVideoScale = "easelive.player.videoscale"
    }

    /// The name of the message, without its payload.
    public var name: Name {
        switch self {
        case .easeLiveReady: .easeLiveReady
        case .easeLiveError: .easeLiveError
        case .appLanguage: .appLanguage
        case .appMessage: .appMessage
        case .bridgeAppStatus: .bridgeAppStatus
        case .bridgeReady: .bridgeReady
        case .bridgeStage: .bridgeStage
        case .bridgeStageSwipe: .bridgeStageSwipe
        case .bridgeTime: .bridgeTime
        case .bridgeState: .bridgeState
        case .bridgeLanguage: .bridgeLanguage
        case .bridgeMessage: .bridgeMessage
        case .bridgeSpeed: .bridgeSpeed
        case .bridgeVolume: .bridgeVolume
        case .bridgeMute: .bridgeMute
        case .bridgeVideoScale: .bridgeVideoScale
        case .playerReady: .playerReady
        case .playerTime: .playerTime
        case .playerError: .playerError
        case .playerMetadata: .playerMetadata
        case .playerState: .playerState
        case .playerStage: .playerStage
        case .playerSpeed: .playerSpeed
        case .playerVolume: .playerVolume
        case .playerMute: .playerMute
        case .playerVideoScale: .playerVideoScale
        }
    }

    /// Whether the message is a request to the player.
    public var isCommand: Bool {
        switch self {
        case .bridgeTime, .bridgeState, .bridgeSpeed, .bridgeVolume, .bridgeMute, .bridgeVideoScale, .bridgeStage,
            .bridgeStageSwipe:
            true
        default: false
        }
    }
}

/// The state of a player as an overlay sees it. The raw values are the strings in messages (player states of the Ease
/// Live SDK).
public enum OverlayPlayerState: String, Hashable, Sendable, CaseIterable {
    case playing
    case paused
    case seeking
    case stopped
    case buffering
}

/// The playback position and the seekable window, in milliseconds since 1970-01-01T00:00:00Z (`playerTime` of the Ease
/// Live SDK).
public struct OverlayTime: Hashable, Sendable {
    /// The time of the frame that is shown.
    public var timecode: Int64
    /// The beginning of the seekable window; nil if there is none.
    public var initialTimecode: Int64?
    /// The end of the seekable window; nil if there is none.
    public var maxTimecode: Int64?

    /// Creates a position with an optional seekable window.
    public init(timecode: Int64, initialTimecode: Int64? = nil, maxTimecode: Int64? = nil) {
        (self.timecode, self.initialTimecode, self.maxTimecode) = (timecode, initialTimecode, maxTimecode)
    }
}

/// The status of a programme's overlay, which its producer sets. The raw values are the strings in messages (Ease Live
/// SDK).
public enum OverlayStatus: String, Hashable, Sendable, CaseIterable {
    /// The overlay is loaded and visible.
    case enabled
    /// The overlay stays loaded but is invisible until it is enabled.
    case hidden
    /// The overlay is destroyed and is not loaded again by itself.
    case disabled
}

/// The visibility of the player's controls (Ease Live SDK).
public enum OverlayControls: String, Hashable, Sendable, CaseIterable {
    case visible
    case hidden
}

/// The direction of a swipe on the stage (Ease Live SDK).
public enum OverlaySwipe: String, Hashable, Sendable, CaseIterable {
    case left
    case right
    case up
    case down
}
