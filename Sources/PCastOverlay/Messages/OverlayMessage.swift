/// Everything that app, overlay and player tell each other (seed 000): one case for each of its 26 notifications, with their
/// payloads typed.
///
/// Those that begin with `bridge` come from a page, those with `player` from the player, those with `app` from the
/// application. A `bridge` message is a request, and the `player` message of the same kind the report that it was done.
public enum OverlayMessage: Hashable, Sendable {
    /// All components are operational.
    case easeLiveReady
    case easeLiveError(OverlayError)

    /// The overlay is to speak this language (BCP 47).
    case appLanguage(String)
    /// For the overlay's own purposes: an object or another value of JSON, as text.
    case appMessage(String)

    case bridgeAppStatus(OverlayStatus)
    /// A page listens; before it nothing is sent.
    case bridgeReady
    /// The stage was clicked.
    case bridgeStage(OverlayControls)
    case bridgeStageSwipe(OverlaySwipe)
    /// The player is to go to this moment, in milliseconds since 1970.
    case bridgeTime(Int64)
    /// The player is to do this.
    case bridgeState(OverlayPlayerState)
    /// The overlay speaks this language, of those that it can.
    case bridgeLanguage(String, available: [String])
    /// A message that nobody here knows, as it came.
    case bridgeMessage(String)
    /// 1 is the usual speed.
    case bridgeSpeed(Double)
    /// 0 is silent, 100 normal.
    case bridgeVolume(Int)
    case bridgeMute(Bool)
    case bridgeVideoScale(VideoScale)

    /// It can be played.
    case playerReady
    case playerTime(OverlayTime)
    case playerError(OverlayError)
    /// What the stream says of itself at this moment, as JSON.
    case playerMetadata(String)
    case playerState(OverlayPlayerState)
    case playerStage(OverlayControls)
    case playerSpeed(Double)
    case playerVolume(Int)
    case playerMute(Bool)
    case playerVideoScale(VideoScale)
}

extension OverlayMessage {
    /// The messages by their public names; the raw values are Ease Live's names of notifications.
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

    /// The player is to do something.
    public var isCommand: Bool {
        switch self {
        case .bridgeTime, .bridgeState, .bridgeSpeed, .bridgeVolume, .bridgeMute, .bridgeVideoScale, .bridgeStage,
            .bridgeStageSwipe:
            true
        default: false
        }
    }
}
