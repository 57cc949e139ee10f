/// A source as people write it: `camera`, `camera:ID`, `microphone:ID`, `screen:DISPLAY`, `synthetic`, `null`, or a
/// URI or a path of anything that FFmpeg opens.
public enum SourceSpecification: Hashable, Sendable {
    /// The best one when no identifier is given.
    case camera(id: String?)
    case microphone(id: String?)
    case screen(display: String?)
    case synthetic
    case null

    /// - Parameters:
    ///   - uri: without the query by which the source itself is told something.
    ///   - isLooping: `?loop=1`: played again and again.
    case uri(String, isLooping: Bool)

    /// Reads what stands on a command line.
    public init(_ text: String) throws(DeviceError) {
        guard !text.isEmpty else { throw .unusable(text, reason: "it is empty") }
        guard text.utf8.count <= 4_096, !text.utf8.contains(0) else {
            throw .unusable(String(text.prefix(32)), reason: "it is no path or URI")
        }
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        let rest = parts.count > 1 && !parts[1].hasPrefix("//") ? String(parts[1]) : nil
        if parts.count > 1, rest == "" { throw .unusable(text, reason: "nothing follows the colon") }
        switch parts[0] {
        case "camera": self = .camera(id: rest)
        case "microphone": self = .microphone(id: rest)
        case "screen": self = .screen(display: rest)
        case "synthetic" where parts.count == 1: self = .synthetic
        case "null" where parts.count == 1: self = .null
        default: self = Self.uri(of: text)
        }
    }

    /// The source that a device identifier names by itself, whatever devices there are: a URI (`rtsp://…`, `file:…`), an absolute
    /// path, `synthetic`, `null`, `screen` or `screen:DISPLAY`. Nil for any other identifier: it is one of the devices that are
    /// enumerated, or of none.
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

    /// Takes `loop=` out of the query, and leaves what a server may want to see.
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
    public var description: String {
        switch self {
        case .camera(let id): id.map { "camera:\($0)" } ?? "camera"
        case .microphone(let id): id.map { "microphone:\($0)" } ?? "microphone"
        case .screen(let display): display.map { "screen:\($0)" } ?? "screen"
        case .synthetic: "synthetic"
        case .null: "null"
        case .uri(let uri, let isLooping): isLooping ? uri + (uri.contains("?") ? "&" : "?") + "loop=1" : uri
        }
    }
}
