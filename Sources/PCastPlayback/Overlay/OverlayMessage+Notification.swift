public import Foundation
public import PCastOverlay

/// The form of messages as notifications with a name.
extension OverlayMessage {
    private typealias Keys = OverlayNotificationKeys

    /// The payload for `userInfo`; nil for messages without a payload.
    public var userInfo: [AnyHashable: Any]? {
        switch self {
        case .easeLiveReady, .bridgeReady, .playerReady: nil
        case .easeLiveError(let error), .playerError(let error): [Keys.errorUserInfoKey: error]
        case .appLanguage(let language): [Keys.languageUserInfoKey: language]
        case .appMessage(let text), .bridgeMessage(let text): [Keys.jsonStringUserInfoKey: text]
        case .bridgeAppStatus(let status): [Keys.statusUserInfoKey: status.rawValue]
        case .bridgeStage(let controls), .playerStage(let controls): [Keys.controlsUserInfoKey: controls.rawValue]
        case .bridgeStageSwipe(let direction): [Keys.directionUserInfoKey: direction.rawValue]
        case .bridgeTime(let timecode): [Keys.timecodeUserInfoKey: timecode]
        case .bridgeState(let state), .playerState(let state): [Keys.stateUserInfoKey: state.rawValue]
        case .bridgeLanguage(let language, let available):
            [Keys.languageUserInfoKey: language, Keys.availableUserInfoKey: available]
        case .bridgeSpeed(let speed), .playerSpeed(let speed): [Keys.speedUserInfoKey: Float(speed)]
        case .bridgeVolume(let volume), .playerVolume(let volume): [Keys.volumeUserInfoKey: volume]
        case .bridgeMute(let isMuted), .playerMute(let isMuted): [Keys.muteUserInfoKey: isMuted]
        case .bridgeVideoScale(let scale), .playerVideoScale(let scale): Self.userInfo(scale)
        case .playerTime(let time): Self.userInfo(time)
        case .playerMetadata(let text): [Keys.metadataUserInfoKey: text]
        }
    }

    /// Returns the payload of a scale.
    private static func userInfo(_ scale: VideoScale) -> [AnyHashable: Any] {
        [
            Keys.videoScaleXUserInfoKey: Float(scale.scaleX), Keys.videoScaleYUserInfoKey: Float(scale.scaleY),
            Keys.videoPivotXUserInfoKey: Float(scale.pivotX), Keys.videoPivotYUserInfoKey: Float(scale.pivotY),
            Keys.videoScaleDurationUserInfoKey: scale.duration,
        ]
    }

    /// Returns the payload of a time.
    private static func userInfo(_ time: OverlayTime) -> [AnyHashable: Any] {
        var info: [AnyHashable: Any] = [Keys.timecodeUserInfoKey: time.timecode]
        if let first = time.initialTimecode { info[Keys.initialTimecodeUserInfoKey] = first }
        if let last = time.maxTimecode { info[Keys.maxTimecodeUserInfoKey] = last }
        return info
    }

    /// Creates a message from a notification of an application. Returns nil if its name is unknown, or if a value is
    /// missing or has a wrong type. Integers may have any width, and other numbers may be `Float`, `Double` or
    /// integers.
    public init?(_ notification: Notification) {
        guard let name = Name(rawValue: notification.name.rawValue) else { return nil }
        let info = NotificationPayload(notification.userInfo ?? [:])
        let message: OverlayMessage?
        switch name {
        case .easeLiveReady: message = .easeLiveReady
        case .bridgeReady: message = .bridgeReady
        case .playerReady: message = .playerReady
        case .easeLiveError: message = info.error.map(Self.easeLiveError)
        case .playerError: message = info.error.map(Self.playerError)
        case .appLanguage: message = info.text(Keys.languageUserInfoKey).map(Self.appLanguage)
        case .appMessage: message = info.text(Keys.jsonStringUserInfoKey).map(Self.appMessage)
        case .bridgeMessage: message = info.text(Keys.jsonStringUserInfoKey).map(Self.bridgeMessage)
        case .bridgeAppStatus: message = info.choice(Keys.statusUserInfoKey).map(Self.bridgeAppStatus)
        case .bridgeStage: message = info.choice(Keys.controlsUserInfoKey).map(Self.bridgeStage)
        case .playerStage: message = info.choice(Keys.controlsUserInfoKey).map(Self.playerStage)
        case .bridgeStageSwipe: message = info.choice(Keys.directionUserInfoKey).map(Self.bridgeStageSwipe)
        case .bridgeTime: message = info.integer(Keys.timecodeUserInfoKey).map(Self.bridgeTime)
        case .bridgeState: message = info.choice(Keys.stateUserInfoKey).map(Self.bridgeState)
        case .playerState: message = info.choice(Keys.stateUserInfoKey).map(Self.playerState)
        case .bridgeLanguage:
            let available = info[Keys.availableUserInfoKey] as? [String] ?? []
            message = info.text(Keys.languageUserInfoKey).map { .bridgeLanguage($0, available: available) }
        case .bridgeSpeed: message = info.number(Keys.speedUserInfoKey).map(Self.bridgeSpeed)
        case .playerSpeed: message = info.number(Keys.speedUserInfoKey).map(Self.playerSpeed)
        case .bridgeVolume: message = info.volume.map(Self.bridgeVolume)
        case .playerVolume: message = info.volume.map(Self.playerVolume)
        case .bridgeMute: message = (info[Keys.muteUserInfoKey] as? Bool).map(Self.bridgeMute)
        case .playerMute: message = (info[Keys.muteUserInfoKey] as? Bool).map(Self.playerMute)
        case .bridgeVideoScale: message = info.videoScale.map(Self.bridgeVideoScale)
        case .playerVideoScale: message = info.videoScale.map(Self.playerVideoScale)
        case .playerTime: message = info.time.map(Self.playerTime)
        case .playerMetadata: message = info.text(Keys.metadataUserInfoKey).map(Self.playerMetadata)
        }
        guard let message else { return nil }
        self = message
    }
}

/// A reader for the values of `userInfo`.
private struct NotificationPayload {
    private typealias Keys = OverlayNotificationKeys
    private let info: [AnyHashable: Any]

    init(_ info: [AnyHashable: Any]) { self.info = info }

    subscript(key: String) -> Any? { info[key] }

    func text(_ key: String) -> String? { info[key] as? String }

    /// Returns a value of an enumeration, or its raw value; nil if it is missing or not valid.
    func choice<Value: RawRepresentable<String>>(_ key: String) -> Value? {
        (info[key] as? Value) ?? text(key).flatMap(Value.init(rawValue:))
    }

    /// Returns an integer of any width; nil if it is missing or of another type.
    func integer(_ key: String) -> Int64? {
        switch info[key] {
        case is Bool: nil
        case let value as any BinaryInteger: Int64(exactly: value)
        default: nil
        }
    }

    /// Returns a number of any type; nil if it is missing or of another type.
    func number(_ key: String) -> Double? {
        switch info[key] {
        case is Bool: nil
        // A Float is converted by its shortest decimal form: 0.7 becomes 0.7 and not 0.699999988.
        case let value as Float: Double("\(value)")
        case let value as Double: value
        case let value as any BinaryInteger: Double(value)
        default: nil
        }
    }

    var error: OverlayError? { info[Keys.errorUserInfoKey] as? OverlayError }

    /// The volume, clamped to 0 to 100; nil if it is missing.
    var volume: Int? { integer(Keys.volumeUserInfoKey).map { Int(min(max($0, 0), 100)) } }

    /// The time; nil if it is missing.
    var time: OverlayTime? {
        integer(Keys.timecodeUserInfoKey).map { timecode in
            OverlayTime(
                timecode: timecode, initialTimecode: integer(Keys.initialTimecodeUserInfoKey),
                maxTimecode: integer(Keys.maxTimecodeUserInfoKey))
        }
    }

    /// The scale; nil if a value is missing or not valid.
    var videoScale: VideoScale? {
        guard let scaleX = number(Keys.videoScaleXUserInfoKey), let scaleY = number(Keys.videoScaleYUserInfoKey),
            let pivotX = number(Keys.videoPivotXUserInfoKey), let pivotY = number(Keys.videoPivotYUserInfoKey),
            let duration = integer(Keys.videoScaleDurationUserInfoKey).flatMap(Int.init(exactly:))
        else { return nil }
        let scale = VideoScale(scaleX: scaleX, scaleY: scaleY, pivotX: pivotX, pivotY: pivotY, duration: duration)
        return scale.isValid ? scale : nil
    }
}
