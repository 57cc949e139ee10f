/// What a page says, read.
public enum OverlayRequest: Hashable, Sendable {
    /// It listens.
    case bridgeReady
    /// It is about to load what it shows.
    case appLoading
    /// It has loaded what it shows.
    case appReady
    /// It is still there.
    case keepAlive
    /// It failed.
    case failed(OverlayError)
    /// A request of the 26; what is not known as ``OverlayMessage/bridgeMessage(_:)``.
    case message(OverlayMessage)

    /// - Parameter text: of the whole message, which one that nobody knows is handed on as.
    public init(_ envelope: OverlayEnvelope, text: String) throws(OverlayWireError) {
        let payload = OverlayPayload(envelope)
        self =
            switch OverlayEventName(rawValue: envelope.event) {
            case .bridgeReady: .bridgeReady
            case .appLoading: .appLoading
            case .appReady: .appReady
            case .appKeepAlive: .keepAlive
            case .appError: .failed(try payload.error(.viewConnectivity))
            case .error: .failed(try payload.error(.bridgeConnectivity))
            case .appStatus: .message(.bridgeAppStatus(try payload.choice("status")))
            case .appLanguage:
                .message(.bridgeLanguage(try payload.language(), available: try payload.availableLanguages()))
            case .stageClicked: .message(.bridgeStage(try payload.choice("controls")))
            case .stageSwipe: .message(.bridgeStageSwipe(try payload.choice("direction")))
            case .playerTime: .message(.bridgeTime(try payload.timecode()))
            case .playerState: .message(.bridgeState(try payload.choice("state")))
            case .playerSpeed: .message(.bridgeSpeed(try payload.speed()))
            case .playerVolume: .message(.bridgeVolume(try payload.volume()))
            case .playerMute: .message(.bridgeMute(try payload.boolean("mute")))
            case .playerVideoScale: .message(.bridgeVideoScale(try payload.videoScale()))
            case .appMessage, .bridgeWelcome, .bridgeError, .bridgeKeepAlive, .playerReady, .playerMetadata,
                .playerControls, nil:
                .message(.bridgeMessage(text))
            }
    }

    /// Whoever looks on may say it too.
    var isHarmless: Bool {
        switch self {
        case .bridgeReady, .appLoading, .appReady, .keepAlive: true
        case .failed, .message: false
        }
    }
}
