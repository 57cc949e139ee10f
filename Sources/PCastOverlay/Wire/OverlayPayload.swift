import PCastJSON

/// Reads and validates the fields of an event's metadata.
struct OverlayPayload {
    let event: String
    let fields: JSONObject

    init(_ envelope: OverlayEnvelope) { (event, fields) = (envelope.event, envelope.metadata) }

    /// The length in characters after which texts are truncated.
    static let textLimit = 1_024
    /// The range of timecodes, in which JavaScript numbers are exact.
    private static let timecodes: ClosedRange<Int64> = -(1 << 53) + 1...(1 << 53 - 1)
    /// The maximum number of available languages.
    private static let maximumLanguages = 64

    /// Returns the error for a field that is missing or invalid.
    private func invalid(_ field: String) -> OverlayWireError { .invalidPayload(event: event, field: field) }

    /// Returns a string that is one of the raw values of a type.
    ///
    /// - Parameters:
    ///   - field: The name of the field.
    ///   - type: The type.
    /// - Returns: The value.
    /// - Throws: ``OverlayWireError/invalidPayload(event:field:)``.
    func choice<Value: RawRepresentable<String>>(
        _ field: String, _ type: Value.Type = Value.self
    ) throws(OverlayWireError) -> Value {
        guard let value = fields[field]?.string.flatMap(Value.init(rawValue:)) else { throw invalid(field) }
        return value
    }

    /// Returns an integer within a range.
    ///
    /// - Parameters:
    ///   - field: The name of the field.
    ///   - range: The allowed values.
    /// - Returns: The value.
    /// - Throws: ``OverlayWireError/invalidPayload(event:field:)``.
    func integer(_ field: String, in range: ClosedRange<Int64>) throws(OverlayWireError) -> Int64 {
        guard let value = fields[field]?.integer, range.contains(value) else { throw invalid(field) }
        return value
    }

    /// Returns a number within a range.
    ///
    /// - Parameters:
    ///   - field: The name of the field.
    ///   - range: The allowed values.
    /// - Returns: The value.
    /// - Throws: ``OverlayWireError/invalidPayload(event:field:)``.
    func number(_ field: String, in range: ClosedRange<Double>) throws(OverlayWireError) -> Double {
        guard let value = fields[field]?.number, range.contains(value) else { throw invalid(field) }
        return value
    }

    func boolean(_ field: String) throws(OverlayWireError) -> Bool {
        guard let value = fields[field]?.boolean else { throw invalid(field) }
        return value
    }

    /// Returns an integer within a range; nil if the field is missing or null.
    ///
    /// - Parameters:
    ///   - field: The name of the field.
    ///   - range: The allowed values.
    /// - Returns: The value.
    /// - Throws: ``OverlayWireError/invalidPayload(event:field:)``.
    func optionalInteger(_ field: String, in range: ClosedRange<Int64>) throws(OverlayWireError) -> Int64? {
        switch fields[field] {
        case nil, .null?: nil
        default: try integer(field, in: range)
        }
    }

    /// Returns a text, truncated to 1,024 characters.
    ///
    /// - Parameter field: The name of the field.
    /// - Returns: The text.
    /// - Throws: ``OverlayWireError/invalidPayload(event:field:)``.
    func text(_ field: String) throws(OverlayWireError) -> String {
        guard let value = fields[field]?.string else { throw invalid(field) }
        return String(value.prefix(Self.textLimit))
    }

    // MARK: Fields of several events

    func timecode() throws(OverlayWireError) -> Int64 { try integer("timecode", in: Self.timecodes) }

    /// Returns a playback speed. The player clamps it to the speeds that it supports.
    ///
    /// - Returns: A value from 0.01 to 100, where 1 is normal speed.
    /// - Throws: ``OverlayWireError/invalidPayload(event:field:)``.
    func speed() throws(OverlayWireError) -> Double { try number("speed", in: 0.01...100) }

    func volume() throws(OverlayWireError) -> Int { Int(try integer("volume", in: 0...100)) }

    func time() throws(OverlayWireError) -> OverlayTime {
        OverlayTime(
            timecode: try timecode(), initialTimecode: try optionalInteger("initialTimecode", in: Self.timecodes),
            maxTimecode: try optionalInteger("maxTimecode", in: Self.timecodes))
    }

    func videoScale() throws(OverlayWireError) -> VideoScale {
        let durations = VideoScale.durations
        return VideoScale(
            scaleX: try number("scaleX", in: 0...1), scaleY: try number("scaleY", in: 0...1),
            pivotX: try number("pivotX", in: 0...1), pivotY: try number("pivotY", in: 0...1),
            duration: Int(
                try integer("scaleDuration", in: Int64(durations.lowerBound)...Int64(durations.upperBound))))
    }

    func language() throws(OverlayWireError) -> String {
        guard let language = fields["language"]?.string, Self.isLanguage(language) else { throw invalid("language") }
        return language
    }

    /// Returns the supported languages; none if the field is missing.
    ///
    /// - Returns: At most 64 language tags.
    /// - Throws: ``OverlayWireError/invalidPayload(event:field:)``.
    func availableLanguages() throws(OverlayWireError) -> [String] {
        guard let value = fields["available"] else { return [] }
        guard let values = value.array, values.count <= Self.maximumLanguages else { throw invalid("available") }
        var languages: [String] = []
        for value in values {
            guard let language = value.string, Self.isLanguage(language) else { throw invalid("available") }
            languages.append(language)
        }
        return languages
    }

    /// Returns whether a text has the length and the characters of a language tag (BCP 47).
    static func isLanguage(_ text: String) -> Bool {
        (1...35).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
                    || byte == UInt8(ascii: "-")
            }
    }

    /// Reads an error: `{type: "fatal" | "warning", message, code?, programId?}`.
    ///
    /// - Parameter component: The component that the event concerns.
    /// - Returns: The error, with texts truncated to 1,024 characters.
    /// - Throws: ``OverlayWireError/invalidPayload(event:field:)``.
    func error(_ component: OverlayError.Component) throws(OverlayWireError) -> OverlayError {
        let level: OverlayError.Level
        switch fields["type"]?.string {
        case "fatal": level = .fatal
        case "warning": level = .warning
        default: throw invalid("type")
        }
        let code = try optionalInteger("code", in: Int64(Int32.min)...Int64(Int32.max))
        return OverlayError(
            level, component, reason: try text("message"), code: code.map(Int.init),
            programId: fields["programId"]?.string.map { String($0.prefix(Self.textLimit)) })
    }
}

/// The reason why a message was rejected.
public enum OverlayWireError: Error, Hashable, Sendable {
    /// The message is larger than ``OverlayEnvelope/sizeLimit``.
    case tooLarge
    /// The message is binary.
    case notText
    /// The text is not JSON, from about byte `at` on.
    case malformed(at: Int)
    /// The JSON text has too many levels of nesting.
    case tooDeep
    /// The JSON text has too many values, or an object too many members.
    case tooManyValues
    /// The text is JSON but not a message, because a field is missing or invalid.
    case noMessage(field: String)
    /// The version of the message format is not supported.
    case unsupportedVersion(Int64)
    /// A field of the event's metadata is missing or invalid.
    case invalidPayload(event: String, field: String)
}

extension OverlayWireError {
    /// Converts an error of the JSON parser.
    init(_ error: JSONError) {
        self =
            switch error {
            case .tooLarge: .tooLarge
            case .tooDeep: .tooDeep
            case .tooManyValues, .tooManyMembers: .tooManyValues
            case .malformed(let offset): .malformed(at: offset)
            }
    }
}

extension OverlayWireError: CustomStringConvertible {
    /// The text of the error, which describes why the overlay message is invalid.
    public var description: String {
        switch self {
        case .tooLarge: "the message has more than \(OverlayEnvelope.sizeLimit) bytes"
        case .notText: "the message is not text"
        case .malformed(let offset): "the message is not valid JSON at byte \(offset)"
        case .tooDeep: "the message is nested deeper than \(JSONLimits.overlay.depth) levels"
        case .tooManyValues: "the message has more than \(JSONLimits.overlay.values) values"
        case .noMessage(let field): "“\(field)” is missing or invalid"
        case .unsupportedVersion(let version):
            "protocol version \(version) is not supported: use \(OverlayEnvelope.version)"
        case .invalidPayload(let event, let field): "“\(field)” of \(event) is missing or invalid"
        }
    }
}

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

    /// Whether it is a message to the application, which the overlay does not know.
    var isForApplication: Bool { if case .message(.bridgeMessage) = self { true } else { false } }
}
