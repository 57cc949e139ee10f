import Foundation
import PCastOverlay
import PCastWeb

/// The documents of an overlay, from the example or from a folder.
struct OverlayFiles: Sendable {
    /// The maximum size of a file in bytes. Larger files are not served.
    private static let sizeLimit = 64 << 20

    private let folder: String?

    /// Creates the documents of a folder; nil for the example.
    init(folder: String?) { self.folder = folder }

    /// The media types by file extension.
    private static let types = [
        "html": "text/html; charset=utf-8", "js": "text/javascript; charset=utf-8",
        "mjs": "text/javascript; charset=utf-8", "css": "text/css; charset=utf-8",
        "json": "application/json", "svg": "image/svg+xml", "png": "image/png", "jpg": "image/jpeg",
        "jpeg": "image/jpeg", "gif": "image/gif", "webp": "image/webp", "woff": "font/woff", "woff2": "font/woff2",
        "mp3": "audio/mpeg", "mp4": "video/mp4", "webm": "video/webm", "wasm": "application/wasm",
        "txt": "text/plain; charset=utf-8",
    ]

    /// The JavaScript module that pages use for the protocol.
    static var module: WebSite.Answer { answer("bridge.js", OverlayDocuments.bridge) }

    /// Returns the document at a percent-encoded path below the overlay's address; an empty path is the page itself.
    func document(_ path: Substring) -> WebSite.Answer {
        guard let name = path.isEmpty ? "index.html" : String(path).removingPercentEncoding else { return Self.missing }
        guard let folder else {
            guard let bytes = OverlayDocuments.example(name) else { return Self.missing }
            var answer = Self.answer(name, bytes)
            if name == "index.html" { answer.headers["Content-Security-Policy"] = OverlayDocuments.policy }
            return answer
        }
        return file(name, in: folder)
    }

    /// Returns a file of a folder.
    private func file(_ name: String, in folder: String) -> WebSite.Answer {
        // Symbolic links are resolved, so that no file outside the folder is served.
        let root = URL(fileURLWithPath: folder).resolvingSymlinksInPath().path
        let path = URL(fileURLWithPath: "\(root)/\(name)").standardizedFileURL.resolvingSymlinksInPath().path
        // The comparison is by bytes, like the kernel's. By characters, a combining character would change the one
        // before it.
        guard path.utf8.starts(with: (root.hasSuffix("/") ? root : root + "/").utf8), !name.utf8.contains(0),
            !name.utf8.split(separator: UInt8(ascii: "/")).contains(where: { $0.first == UInt8(ascii: ".") }),
            let attributes = try? FileManager.default.attributesOfItem(atPath: path),
            attributes[.type] as? FileAttributeType == .typeRegular,
            let size = attributes[.size] as? Int ?? (attributes[.size] as? NSNumber)?.intValue,
            size <= Self.sizeLimit, let data = FileManager.default.contents(atPath: path)
        else { return Self.missing }
        return Self.answer(name, Array(data))
    }

    /// The response for a missing file.
    private static let missing = WebSite.Answer.text(404, "The file does not exist.")

    /// Returns the response with a document.
    private static func answer(_ name: String, _ bytes: [UInt8]) -> WebSite.Answer {
        let ending = name.split(separator: ".").last.map { $0.lowercased() } ?? ""
        return WebSite.Answer(
            type: types[ending] ?? "application/octet-stream",
            // The address may contain a token, so it is not sent as a referrer.
            headers: ["Referrer-Policy": "no-referrer"], body: bytes)
    }
}
