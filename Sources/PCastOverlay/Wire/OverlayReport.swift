import PCastJSON

/// A message to pages: an event and its metadata. The metadata is already text, because all pages receive the same.
public struct OverlayReport: Hashable, Sendable {
    /// The name of the event.
    public let event: String
    /// The metadata as the text of a JSON object.
    public let metadata: String

    init(_ name: OverlayEventName, _ fields: JSONObject = [:]) {
        self.init(name.rawValue, fields.text)
    }

    init(_ event: String, _ metadata: String) { (self.event, self.metadata) = (event, metadata) }

    /// Whether a newer report of the same event replaces a queued one.
    var isReplaceable: Bool { event == OverlayEventName.playerTime.rawValue }

    /// The approximate size of the message in bytes.
    var size: Int { event.utf8.count + metadata.utf8.count + 64 }

    /// Creates the report of a message. Returns nil if pages do not receive messages of this kind.
    ///
    /// - Parameter message: The message.
    /// - Throws: ``OverlayWireError`` if the text of an ``OverlayMessage/appMessage(_:)`` is not JSON or is too large.
    public init?(_ message: OverlayMessage) throws(OverlayWireError) {
        switch message {
        case .easeLiveReady, .bridgeReady, .bridgeStage, .bridgeStageSwipe, .bridgeTime, .bridgeState,
            .bridgeMessage, .bridgeSpeed, .bridgeVolume, .bridgeMute, .bridgeVideoScale, .playerError:
            return nil
        case .easeLiveError(let error): self.init(.error, Self.fields(error))
        case .appLanguage(let language), .bridgeLanguage(let language, _):
            self.init(.appLanguage, ["language": .string(language)])
        case .appMessage(let text): try self.init(appMessage: text)
        case .bridgeAppStatus(let status): self.init(.appStatus, ["status": .string(status.rawValue)])
        case .playerReady: self.init(OverlayEventName.playerReady, [:])
        case .playerTime(let time): self.init(.playerTime, Self.fields(time))
        case .playerMetadata(let text): self.init(.playerMetadata, ["metadata": .string(text)])
        case .playerState(let state): self.init(.playerState, ["state": .string(state.rawValue)])
        case .playerStage(let controls): self.init(.playerControls, ["controls": .string(controls.rawValue)])
        case .playerSpeed(let speed): self.init(.playerSpeed, ["speed": .number(speed)])
        case .playerVolume(let volume): self.init(.playerVolume, ["volume": .integer(Int64(volume))])
        case .playerMute(let isMuted): self.init(.playerMute, ["mute": .boolean(isMuted)])
        case .playerVideoScale(let scale): self.init(.playerVideoScale, Self.fields(scale))
        }
    }

    /// Creates the report of an application's message.
    ///
    /// A message `{"event":"poll.opened","metadata":{…}}` becomes the event that it names, unless that is a known one.
    /// Any other becomes `app.message`, with the value as `message`.
    ///
    /// - Parameter text: The JSON text of the message.
    /// - Throws: ``OverlayWireError`` if the text is not JSON or is too large.
    private init(appMessage text: String) throws(OverlayWireError) {
        let value = try JSONValue(message: text)
        if let object = value.object, let event = object["event"]?.string, OverlayEnvelope.isName(event),
            OverlayEventName(rawValue: event) == nil, let metadata = (object["metadata"] ?? .object([:])).object
        {
            self.init(event, metadata.text)
        } else {
            self.init(.appMessage, ["message": value])
        }
    }

    private static func fields(_ error: OverlayError) -> JSONObject {
        var fields: JSONObject = [
            "type": .string(error.isFatal ? "fatal" : "warning"), "message": .string(error.reason),
            "component": .string("\(error.component)"),
        ]
        if let code = error.code { fields["code"] = .integer(Int64(code)) }
        if let programId = error.programId { fields["programId"] = .string(programId) }
        return fields
    }

    private static func fields(_ time: OverlayTime) -> JSONObject {
        var fields: JSONObject = ["timecode": .integer(time.timecode)]
        if let first = time.initialTimecode { fields["initialTimecode"] = .integer(first) }
        if let last = time.maxTimecode { fields["maxTimecode"] = .integer(last) }
        return fields
    }

    static func fields(_ scale: VideoScale) -> JSONObject {
        [
            "scaleX": .number(scale.scaleX), "scaleY": .number(scale.scaleY), "pivotX": .number(scale.pivotX),
            "pivotY": .number(scale.pivotY), "scaleDuration": .integer(Int64(scale.duration)),
        ]
    }
}

extension OverlayMessage {
    /// Reads a message of another overlay as its page receives it. Returns nil unless it is a report of the player.
    ///
    /// - Parameter envelope: The message.
    /// - Throws: ``OverlayWireError/invalidPayload(event:field:)`` if a field is missing or invalid.
    public init?(report envelope: OverlayEnvelope) throws(OverlayWireError) {
        let payload = OverlayPayload(envelope)
        switch OverlayEventName(rawValue: envelope.event) {
        case .playerReady: self = .playerReady
        case .playerTime: self = .playerTime(try payload.time())
        case .playerState: self = .playerState(try payload.choice("state"))
        case .playerSpeed: self = .playerSpeed(try payload.speed())
        case .playerVolume: self = .playerVolume(try payload.volume())
        case .playerMute: self = .playerMute(try payload.boolean("mute"))
        case .playerVideoScale: self = .playerVideoScale(try payload.videoScale())
        case .playerControls: self = .playerStage(try payload.choice("controls"))
        case .playerMetadata:
            guard let text = envelope.metadata["metadata"]?.string else {
                throw .invalidPayload(event: envelope.event, field: "metadata")
            }
            self = .playerMetadata(text)
        default: return nil
        }
    }

    /// Returns the message that a page sends to another overlay to make this request; nil if it is not a request to the
    /// player.
    public func request(sequence: Int64, epoch: Int64) -> OverlayEnvelope? {
        let (name, fields): (OverlayEventName, JSONObject)
        switch self {
        case .bridgeTime(let timecode): (name, fields) = (.playerTime, ["timecode": .integer(timecode)])
        case .bridgeState(let state): (name, fields) = (.playerState, ["state": .string(state.rawValue)])
        case .bridgeSpeed(let speed): (name, fields) = (.playerSpeed, ["speed": .number(speed)])
        case .bridgeVolume(let volume): (name, fields) = (.playerVolume, ["volume": .integer(Int64(volume))])
        case .bridgeMute(let isMuted): (name, fields) = (.playerMute, ["mute": .boolean(isMuted)])
        case .bridgeVideoScale(let scale): (name, fields) = (.playerVideoScale, OverlayReport.fields(scale))
        case .bridgeStage(let controls): (name, fields) = (.stageClicked, ["controls": .string(controls.rawValue)])
        case .bridgeStageSwipe(let swipe): (name, fields) = (.stageSwipe, ["direction": .string(swipe.rawValue)])
        default: return nil
        }
        return OverlayEnvelope(name.rawValue, fields, sequence: sequence, epoch: epoch)
    }
}

/// The names of known events. They are those of Ease Live, except for `bridge.welcome`, `bridge.error` and
/// `bridge.keepalive`.
enum OverlayEventName: String, CaseIterable {
    case bridgeReady = "bridge.ready"
    case bridgeWelcome = "bridge.welcome"
    case bridgeError = "bridge.error"
    case bridgeKeepAlive = "bridge.keepalive"
    case appLoading = "app.loading"
    case appReady = "app.ready"
    case appError = "app.error"
    case appKeepAlive = "app.keepalive"
    case appStatus = "app.status"
    case appLanguage = "app.language"
    case appMessage = "app.message"
    case error = "easelive.error"
    case stageClicked = "stage.clicked"
    case stageSwipe = "stage.swipe"
    case playerReady = "player.ready"
    case playerTime = "player.time"
    case playerState = "player.state"
    case playerSpeed = "player.speed"
    case playerVolume = "player.volume"
    case playerMute = "player.mute"
    case playerVideoScale = "player.videoscale"
    case playerMetadata = "player.metadata"
    case playerControls = "player.controls"
}
