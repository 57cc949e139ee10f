/// A source as on a command line: `camera`, `camera:ID`, `microphone:ID`, `screen:DISPLAY`, `application:NAME`, `synthetic`,
/// `null`, or a path or URI that FFmpeg can open.
public enum SourceSpecification: Hashable, Sendable {
    /// A camera; the preferred one without an identifier.
    case camera(id: String?)
    /// A microphone; the preferred one without an identifier.
    case microphone(id: String?)
    /// A screen, or a part of it. If it is nil, the desktop portal asks the user in a Wayland session; otherwise it is
    /// the default X display.
    case screen(display: String?)
    /// The audio that one program plays, by its name or that of its executable file.
    case application(name: String)
    /// The test signal.
    case synthetic
    /// Black frames or silence.
    case null

    /// A path or URI, without the query field `loop=1`, which makes it repeat.
    case uri(String, isLooping: Bool)

    /// Parses a text. Throws `DeviceError.unusable` if it is empty or invalid.
    public init(_ text: String) throws(DeviceError) {
        guard !text.isEmpty else { throw .unusable(text, reason: "it is empty") }
        guard text.utf8.count <= 4_096, !text.utf8.contains(0) else {
            throw .unusable(String(text.prefix(32)), reason: "it is neither a path nor a URI")
        }
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        let rest = parts.count > 1 && !parts[1].hasPrefix("//") ? String(parts[1]) : nil
        if parts.count > 1, rest == "" { throw .unusable(text, reason: "the ID after the colon is missing") }
        switch parts[0] {
        case "camera": self = .camera(id: rest)
        case "microphone": self = .microphone(id: rest)
        case "screen": self = .screen(display: rest)
        case "application" where rest != nil: self = .application(name: rest ?? "")
        case "synthetic" where parts.count == 1: self = .synthetic
        case "null" where parts.count == 1: self = .null
        default: self = Self.uri(of: text)
        }
    }

    /// The source that a device identifier names by itself, regardless of existing devices: a URI (`rtsp://…`,
    /// `file:…`), an absolute path, `synthetic`, `null`, `screen` or `screen:DISPLAY`. Nil for any other identifier,
    /// which names one of the enumerated devices or none.
    public init?(deviceID: String) {
        let scheme = deviceID.prefix { $0.isASCII && ($0.isLetter || $0.isNumber || "+-.".contains($0)) }
        let rest = deviceID.dropFirst(scheme.count)
        let isURI = !scheme.isEmpty && (rest.hasPrefix("://") || (scheme == "file" && rest.hasPrefix(":/")))
        let isPath = deviceID.hasPrefix("/") && !deviceID.hasPrefix("/dev/")
        guard let source = try? SourceSpecification(deviceID) else { return nil }
        switch source {
        case .uri where isURI || isPath: self = source
        case .synthetic, .null, .screen: self = source
        default: return nil
        }
    }

    /// Removes `loop=` from the query and keeps the other fields for the server.
    private static func uri(of text: String) -> SourceSpecification {
        guard let mark = text.lastIndex(of: "?") else { return .uri(text, isLooping: false) }
        let fields = text[text.index(after: mark)...].split(separator: "&")
        guard let loop = fields.last(where: { $0.hasPrefix("loop=") }) else { return .uri(text, isLooping: false) }
        let others = fields.filter { !$0.hasPrefix("loop=") }.joined(separator: "&")
        let isLooping = loop == "loop=1" || loop == "loop=true"
        return .uri(text[..<mark] + (others.isEmpty ? "" : "?" + others), isLooping: isLooping)
    }
}

extension SourceSpecification: CustomStringConvertible {
    /// The text that can be parsed again.
    public var description: String {
        switch self {
        case .camera(let id): id.map { "camera:\($0)" } ?? "camera"
        case .microphone(let id): id.map { "microphone:\($0)" } ?? "microphone"
        case .screen(let display): display.map { "screen:\($0)" } ?? "screen"
        case .application(let name): "application:\(name)"
        case .synthetic: "synthetic"
        case .null: "null"
        case .uri(let uri, let isLooping): isLooping ? uri + (uri.contains("?") ? "&" : "?") + "loop=1" : uri
        }
    }
}
