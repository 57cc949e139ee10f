/// A parsed message from a page.
package enum OverlayRequest: Hashable, Sendable {
    /// The page is ready to receive messages.
    case bridgeReady
    /// The page begins to load its content.
    case appLoading
    /// The page has loaded its content.
    case appReady
    /// A sign of life.
    case keepAlive
    /// The page has failed.
    case failed(OverlayError)
    /// A request. A message with an unknown event is an ``OverlayMessage/bridgeMessage(_:)``.
    case message(OverlayMessage)

    /// Reads a message from a page.
    ///
    /// - Parameters:
    ///   - envelope: The message.
    ///   - text: The JSON text of the message, which is passed on if the event is unknown.
    /// - Throws: ``OverlayWireError/invalidPayload(event:field:)`` if a field is missing or invalid.
    package init(_ envelope: OverlayEnvelope, text: String) throws(OverlayWireError) {
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

    /// Whether a page without a controller token may send the message.
    var needsNoController: Bool {
        switch self {
        case .bridgeReady, .appLoading, .appReady, .keepAlive: true
        case .failed, .message: false
        }
    }
}
