public import Foundation
import PCastOverlay

/// The names of the notifications, and of what their `userInfo` holds, as Ease Live has them (seed 000).
public enum OverlayNotificationKeys {
    // From the overlay itself.
    public static let easeLiveReady = Notification.Name(.easeLiveReady)
    public static let easeLiveError = Notification.Name(.easeLiveError)

    // From the application.
    public static let appLanguage = Notification.Name(.appLanguage)
    public static let appMessage = Notification.Name(.appMessage)

    // From the page.
    public static let bridgeAppStatus = Notification.Name(.bridgeAppStatus)
    public static let bridgeReady = Notification.Name(.bridgeReady)
    public static let bridgeStage = Notification.Name(.bridgeStage)
    public static let bridgeStageSwipe = Notification.Name(.bridgeStageSwipe)
    public static let bridgeTime = Notification.Name(.bridgeTime)
    public static let bridgeState = Notification.Name(.bridgeState)
    public static let bridgeLanguage = Notification.Name(.bridgeLanguage)
    public static let bridgeMessage = Notification.Name(.bridgeMessage)
    public static let bridgeSpeed = Notification.Name(.bridgeSpeed)
    public static let bridgeVolume = Notification.Name(.bridgeVolume)
    public static let bridgeMute = Notification.Name(.bridgeMute)
    public static let bridgeVideoScale = Notification.Name(.bridgeVideoScale)

    // From the player's plugin.
    public static let playerReady = Notification.Name(.playerReady)
    public static let playerTime = Notification.Name(.playerTime)
    public static let playerError = Notification.Name(.playerError)
    public static let playerMetadata = Notification.Name(.playerMetadata)
    public static let playerState = Notification.Name(.playerState)
    public static let playerStage = Notification.Name(.playerStage)
    public static let playerSpeed = Notification.Name(.playerSpeed)
    public static let playerVolume = Notification.Name(.playerVolume)
    public static let playerMute = Notification.Name(.playerMute)
    public static let playerVideoScale = Notification.Name(.playerVideoScale)

    /// An `OverlayError`.
    public static let errorUserInfoKey = "error"
    /// A `String`.
    public static let languageUserInfoKey = "language"
    /// A `[String]`.
    public static let availableUserInfoKey = "available"
    /// A `String`.
    public static let jsonStringUserInfoKey = "jsonString"
    /// A `String`: `enabled`, `hidden` or `disabled`.
    public static let statusUserInfoKey = "status"
    /// A `String`: `visible` or `hidden`.
    public static let controlsUserInfoKey = "controls"
    /// A `String`: `left`, `right`, `up` or `down`.
    public static let directionUserInfoKey = "direction"
    /// An `Int64`, in milliseconds since 1970, as the two that follow.
    public static let timecodeUserInfoKey = "timecode"
    public static let initialTimecodeUserInfoKey = "initialTimecode"
    public static let maxTimecodeUserInfoKey = "maxTimecode"
    /// A `String`.
    public static let metadataUserInfoKey = "metadata"
    /// A `String`: `playing`, `stopped`, `paused`, `seeking` or `buffering`.
    public static let stateUserInfoKey = "state"
    /// A `Float`.
    public static let speedUserInfoKey = "speed"
    /// An `Int`, 0 to 100.
    public static let volumeUserInfoKey = "volume"
    /// A `Bool`.
    public static let muteUserInfoKey = "mute"
    /// A `Float`, 0 to 1, as the three that follow.
    public static let videoScaleXUserInfoKey = "scaleX"
    public static let videoScaleYUserInfoKey = "scaleY"
    public static let videoPivotXUserInfoKey = "pivotX"
    public static let videoPivotYUserInfoKey = "pivotY"
    /// An `Int`, in milliseconds.
    public static let videoScaleDurationUserInfoKey = "scaleDuration"
}

extension Notification.Name {
    init(_ name: OverlayMessage.Name) { self.init(name.rawValue) }
}
