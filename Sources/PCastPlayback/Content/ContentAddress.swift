internal import Foundation
internal import PCastCore
internal import PCastHLS

/// What somebody names to have it played: a path, or an address.
struct ContentAddress: Sendable {
    enum Kind { case file, web }

    /// nil for what is not played.
    let kind: Kind?
    /// As it is opened: of a file with `file:` before its path, whatever that looks like.
    let text: String
    /// For people: without what a link may hold in secret.
    let name: String
    /// Decoded; of an address without its query.
    let path: String

    init(_ text: String) {
        let reference = URIReference(text)
        switch reference.scheme?.lowercased() {
        case "http", "https":
            kind = reference.authority?.isEmpty ?? true ? nil : .web
            (self.text, name, path) = (WebURI.escaped(text), Self.withoutSecrets(reference), reference.path)
        case "data":
            // The address is the resource itself, and too long to be named.
            (kind, self.text, name, path) = (.web, text, String(text.prefix(32)) + "…", "")
        case "file":
            kind = .file
            path = reference.path.removingPercentEncoding ?? reference.path
            (self.text, name) = ("file:" + path, path)
        case .some where reference.authority != nil:
            (kind, self.text, name, path) = (nil, text, Self.withoutSecrets(reference), reference.path)
        default:
            // A path, which may hold a colon.
            (kind, self.text, name, path) = (.file, "file:" + text, text, text)
        }
    }

    /// Name, password and query may be secrets.
    static func withoutSecrets(_ reference: URIReference) -> String {
        var reference = reference
        (reference.query, reference.fragment) = (nil, nil)
        if let authority = reference.authority, let sign = authority.lastIndex(of: "@") {
            reference.authority = String(authority[authority.index(after: sign)...])
        }
        return reference.text
    }

    /// Whether its name says that it is a file of a container that is known.
    var isFile: Bool {
        let files = [
            ".mp4", ".m4v", ".m4a", ".mov", ".mkv", ".webm", ".ts", ".mp3", ".aac", ".ogg", ".opus", ".flac", ".wav",
        ]
        return files.contains { path.lowercased().hasSuffix($0) }
    }

    /// Whether its name says that it is a playlist of HTTP Live Streaming.
    var isPlaylist: Bool { [".m3u8", ".m3u"].contains { path.lowercased().hasSuffix($0) } }
}
