internal import Foundation
internal import PCastCore
internal import PCastHLS

/// The path or address of content, as a user names it.
struct ContentAddress: Sendable {
    /// The kind of the content: a file, or a resource of a web server.
    enum Kind { case file, web }

    /// The kind of the content; nil if the address is not supported.
    let kind: Kind?
    /// The address to open. A path has the prefix `file:`, whatever characters it contains.
    let text: String
    /// The address for people, without passwords and tokens.
    let name: String
    /// The path without percent-encoding for a file, and the path of the URI otherwise.
    let path: String

    /// Analyses a path or an address.
    init(_ text: String) {
        let reference = URIReference(text)
        switch reference.scheme?.lowercased() {
        case "http", "https":
            kind = reference.authority?.isEmpty ?? true ? nil : .web
            (self.text, name, path) = (WebURI.escaped(text), Self.withoutSecrets(reference), reference.path)
        case "data":
            // The address contains the resource itself and is too long to display.
            (kind, self.text, name, path) = (.web, text, String(text.prefix(32)) + "…", "")
        case "file":
            kind = .file
            path = reference.path.removingPercentEncoding ?? reference.path
            (self.text, name) = ("file:" + path, path)
        case .some where reference.authority != nil:
            (kind, self.text, name, path) = (nil, text, Self.withoutSecrets(reference), reference.path)
        default:
            // A path may contain a colon.
            (kind, self.text, name, path) = (.file, "file:" + text, text, text)
        }
    }

    /// The URI of the file with an absolute path (RFC 8089); nil for a resource of a web server.
    var fileURI: String? { kind == .file ? URL(fileURLWithPath: path).absoluteString : nil }

    /// Returns the address without user, password, query and fragment, which may be secret.
    static func withoutSecrets(_ reference: URIReference) -> String {
        var reference = reference
        (reference.query, reference.fragment) = (nil, nil)
        if let authority = reference.authority, let sign = authority.lastIndex(of: "@") {
            reference.authority = String(authority[authority.index(after: sign)...])
        }
        return reference.text
    }

    /// Whether the file extension is that of a known container.
    var isFile: Bool {
        let files = [
            ".mp4", ".m4v", ".m4a", ".mov", ".mkv", ".webm", ".ts", ".mp3", ".aac", ".ogg", ".opus", ".flac", ".wav",
        ]
        return files.contains { path.lowercased().hasSuffix($0) }
    }

    /// Whether the file extension is that of a playlist of HTTP Live Streaming.
    var isPlaylist: Bool { [".m3u8", ".m3u"].contains { path.lowercased().hasSuffix($0) } }
}
