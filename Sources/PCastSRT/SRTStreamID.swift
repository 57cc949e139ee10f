/// The stream ID that a client of SRT sends with its handshake: what it requests, and its credential.
///
/// The standard form is `#!::r=NAME,m=publish,s=KEY` (libsrt, “SRT Access Control Guidelines”). Encoders with a field for
/// a plain text send a key, also as `ingest/KEY` or `publish:KEY`.
package struct SRTStreamID: Hashable, Sendable {
    /// The direction of the media.
    package enum Mode: String, Hashable, Sendable {
        /// The client sends a stream.
        case publish
        /// The client receives a stream.
        case request
    }

    /// A reason for which a text is not a stream ID of this server.
    package enum ParsingError: Error, Hashable, Sendable {
        /// The syntax is wrong.
        case malformed
        /// The mode is neither `publish` nor `request`.
        case unsupportedMode
        /// The type of the resource is not `stream`.
        case unsupportedType
    }

    /// The direction of the media.
    package let mode: Mode
    /// The name of the resource (`r`): the ID of a stream to receive, or a key. It may be secret.
    package let resource: String
    /// The name of the user (`u`); nil if it is absent.
    package let user: String?
    /// The credential, which is a secret: the session ID (`s`), or else the resource of a publisher.
    package let credential: String
    /// The capabilities of a published stream (`capabilities=a;b`).
    package let capabilities: [String]

    /// The maximum size of a stream ID in bytes, which the protocol sets.
    package static let maximumSize = 512
    /// The application of addresses, which may precede a key, as for RTMP.
    private static let application = "ingest/"
    private static let mark = "#!::"

    /// Parses a stream ID. An empty one is that of a publisher without a key.
    ///
    /// - Throws: ``ParsingError``.
    package init(_ text: String) throws(ParsingError) {
        guard text.utf8.count <= Self.maximumSize, text.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
            throw .malformed
        }
        if text.hasPrefix(Self.mark) {
            try self.init(fields: text.dropFirst(Self.mark.count))
        } else if text.hasPrefix("#!") {
            // A nested form, or one of another version.
            throw .malformed
        } else {
            self.init(plain: text[...])
        }
    }

    private init(mode: Mode, resource: String, user: String?, session: String?, capabilities: [String]) {
        self.mode = mode
        self.resource = resource
        self.user = user
        credential = session ?? (mode == .publish ? resource : "")
        self.capabilities = capabilities
    }

    private init(fields text: Substring) throws(ParsingError) {
        var fields: [Substring: Substring] = [:]
        for part in text.split(separator: ",", omittingEmptySubsequences: true) {
            guard let sign = part.firstIndex(of: "="), sign > part.startIndex else { throw .malformed }
            let name = part[..<sign]
            guard fields[name] == nil else { throw .malformed }
            fields[name] = part[part.index(after: sign)...]
        }
        guard fields["t"] ?? "stream" == "stream" else { throw .unsupportedType }
        // The guidelines state that a client without a mode receives.
        guard let mode = Mode(rawValue: String(fields["m"] ?? "request")) else { throw .unsupportedMode }
        self.init(
            mode: mode, resource: String(Self.withoutApplication(fields["r"] ?? "")),
            user: fields["u"].map { String($0) }, session: fields["s"].map { String($0) },
            capabilities: Self.list(fields["capabilities"] ?? "", separator: ";"))
    }

    private init(plain text: Substring) {
        var rest = text
        var mode = Mode.publish
        for (prefix, value) in [("publish:", Mode.publish), ("request:", .request), ("read:", .request)]
        where rest.hasPrefix(prefix) {
            rest = rest.dropFirst(prefix.count)
            mode = value
            break
        }
        let mark = ";capabilities="
        let halves = rest.split(separator: ";", maxSplits: 1, omittingEmptySubsequences: false)
        let resource = String(Self.withoutApplication(halves.first ?? ""))
        let parameters = halves.count > 1 ? ";" + halves[1] : ""
        let capabilities = parameters.hasPrefix(mark) ? Self.list(parameters.dropFirst(mark.count), separator: ",") : []
        self.init(mode: mode, resource: resource, user: nil, session: nil, capabilities: capabilities)
    }

    private static func withoutApplication(_ text: Substring) -> Substring {
        let path = text.drop { $0 == "/" }
        return path.hasPrefix(application) ? path.dropFirst(application.count) : path
    }

    private static func list(_ text: Substring, separator: Character) -> [String] {
        text.split(separator: separator).map { String($0) }
    }
}

extension SRTStreamID: CustomStringConvertible {
    /// The mode without the secrets, for logs.
    package var description: String { "\(mode.rawValue) …" }
}
