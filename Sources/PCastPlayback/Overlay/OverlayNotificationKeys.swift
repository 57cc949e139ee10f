public import Foundation
import PCastOverlay

/// The names of the notifications and the keys of their `userInfo` (Ease Live's `EaseLiveNotificationKeys`).
public enum OverlayNotificationKeys {
    // Notifications of the overlay.
    /// The overlay is ready.
    public static let easeLiveReady = Notification.Name(.easeLiveReady)
    /// The overlay has an error.
    public static let easeLiveError = Notification.Name(.easeLiveError)

    // Notifications of the application.
    /// The application selected a language.
    public static let appLanguage = Notification.Name(.appLanguage)
    /// The application sends a message to pages.
    public static let appMessage = Notification.Name(.appMessage)

    // Notifications of pages.
    /// A page or the producer changed the status of the program.
    public static let bridgeAppStatus = Notification.Name(.bridgeAppStatus)
    /// A page is ready.
    public static let bridgeReady = Notification.Name(.bridgeReady)
    /// A page shows or hides the player's controls.
    public static let bridgeStage = Notification.Name(.bridgeStage)
    /// A viewer swiped on a page.
    public static let bridgeStageSwipe = Notification.Name(.bridgeStageSwipe)
    /// A page requests a seek.
    public static let bridgeTime = Notification.Name(.bridgeTime)
    /// A page requests a state of playback.
    public static let bridgeState = Notification.Name(.bridgeState)
    /// A page changed its language.
    public static let bridgeLanguage = Notification.Name(.bridgeLanguage)
    /// A page sends a message to the application.
    public static let bridgeMessage = Notification.Name(.bridgeMessage)
    /// A page requests a playback rate.
    public static let bridgeSpeed = Notification.Name(.bridgeSpeed)
    /// A page requests a volume.
    public static let bridgeVolume = Notification.Name(.bridgeVolume)
    /// A page mutes or unmutes the player.
    public static let bridgeMute = Notification.Name(.bridgeMute)
    /// A page requests a scale of the video.
    public static let bridgeVideoScale = Notification.Name(.bridgeVideoScale)

    // Notifications of the player's plugin.
    /// The player is ready.
    public static let playerReady = Notification.Name(.playerReady)
    /// The player's time changed.
    public static let playerTime = Notification.Name(.playerTime)
    /// The player has an error.
    public static let playerError = Notification.Name(.playerError)
    /// The player reached timed metadata.
    public static let playerMetadata = Notification.Name(.playerMetadata)
    /// The player's state changed.
    public static let playerState = Notification.Name(.playerState)
    /// The player's controls were shown or hidden.
    public static let playerStage = Notification.Name(.playerStage)
    /// The player's playback rate changed.
    public static let playerSpeed = Notification.Name(.playerSpeed)
    /// The player's volume changed.
    public static let playerVolume = Notification.Name(.playerVolume)
    /// The player was muted or unmuted.
    public static let playerMute = Notification.Name(.playerMute)
    /// The scale of the player's video changed.
    public static let playerVideoScale = Notification.Name(.playerVideoScale)

    /// The key of an `OverlayError`.
    public static let errorUserInfoKey = "error"
    /// The key of a language, a `String`.
    public static let languageUserInfoKey = "language"
    /// The key of the available languages, a `[String]`.
    public static let availableUserInfoKey = "available"
    /// The key of a message, a `String` with JSON.
    public static let jsonStringUserInfoKey = "jsonString"
    /// The key of a status, a `String`: `enabled`, `hidden` or `disabled`.
    public static let statusUserInfoKey = "status"
    /// The key of the controls' visibility, a `String`: `visible` or `hidden`.
    public static let controlsUserInfoKey = "controls"
    /// The key of a direction, a `String`: `left`, `right`, `up` or `down`.
    public static let directionUserInfoKey = "direction"
    /// The key of a time, an `Int64` in milliseconds since 1970.
    public static let timecodeUserInfoKey = "timecode"
    /// The key of the beginning of the seekable range, an `Int64` in milliseconds since 1970.
    public static let initialTimecodeUserInfoKey = "initialTimecode"
    /// The key of the end of the seekable range, an `Int64` in milliseconds since 1970.
    public static let maxTimecodeUserInfoKey = "maxTimecode"
    /// The key of metadata, a `String`.
    public static let metadataUserInfoKey = "metadata"
    /// The key of a state, a `String`: `playing`, `stopped`, `paused`, `seeking` or `buffering`.
    public static let stateUserInfoKey = "state"
    /// The key of a playback rate, a `Float`.
    public static let speedUserInfoKey = "speed"
    /// The key of a volume, an `Int`, 0 to 100.
    public static let volumeUserInfoKey = "volume"
    /// The key of the muted state, a `Bool`.
    public static let muteUserInfoKey = "mute"
    /// The key of a horizontal scale, a `Float`, 0 to 1.
    public static let videoScaleXUserInfoKey = "scaleX"
    /// The key of a vertical scale, a `Float`, 0 to 1.
    public static let videoScaleYUserInfoKey = "scaleY"
    /// The key of the horizontal position of the fixed point, a `Float`, 0 to 1.
    public static let videoPivotXUserInfoKey = "pivotX"
    /// The key of the vertical position of the fixed point, a `Float`, 0 to 1.
    public static let videoPivotYUserInfoKey = "pivotY"
    /// The key of the duration of a change of the scale, an `Int` in milliseconds.
    public static let videoScaleDurationUserInfoKey = "scaleDuration"
}

extension Notification.Name {
    /// Creates the notification name of a message name.
    init(_ name: OverlayMessage.Name) { self.init(name.rawValue) }
}
