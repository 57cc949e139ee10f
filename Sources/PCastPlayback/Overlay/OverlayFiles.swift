import Foundation
import PCastWeb

/// The documents of an overlay: those of the example, or those of a folder.
struct OverlayFiles: Sendable {
    /// In bytes; a larger file is not served.
    private static let sizeLimit = 64 << 20

    private let folder: String?

    /// - Parameter folder: nil for the example.
    init(folder: String?) { self.folder = folder }

    /// Loads nothing from elsewhere and sends nothing elsewhere.
    private static let policy =
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        + "base-uri 'none'; form-action 'none'"

    private static let types = [
        "html": "text/html; charset=utf-8", "js": "text/javascript; charset=utf-8",
        "mjs": "text/javascript; charset=utf-8", "css": "text/css; charset=utf-8",
        "json": "application/json", "svg": "image/svg+xml", "png": "image/png", "jpg": "image/jpeg",
        "jpeg": "image/jpeg", "gif": "image/gif", "webp": "image/webp", "woff": "font/woff", "woff2": "font/woff2",
        "mp3": "audio/mpeg", "mp4": "video/mp4", "webm": "video/webm", "wasm": "application/wasm",
        "txt": "text/plain; charset=utf-8",
    ]

    /// The module that pages speak with their overlay by; the same for all.
    static var module: WebSite.Answer { answer("bridge.js", PackageResources.bridge_js) }

    /// - Parameter path: below the overlay's address, percent-encoded; empty for its page.
    func document(_ path: Substring) -> WebSite.Answer {
        guard let name = path.isEmpty ? "index.html" : String(path).removingPercentEncoding else { return Self.missing }
        guard let folder else {
            switch name {
            case "index.html":
                var answer = Self.answer(name, PackageResources.index_html)
                answer.headers["Content-Security-Policy"] = Self.policy
                return answer
            case "overlay.js": return Self.answer(name, PackageResources.overlay_js)
            case "view.js": return Self.answer(name, PackageResources.view_js)
            case "words.js": return Self.answer(name, PackageResources.words_js)
            case "overlay.css": return Self.answer(name, PackageResources.overlay_css)
            default: return Self.missing
            }
        }
        return file(name, in: folder)
    }

    private func file(_ name: String, in folder: String) -> WebSite.Answer {
        // By what the links in it lead to, so that nothing outside is given away.
        let root = URL(fileURLWithPath: folder).resolvingSymlinksInPath().path
        let path = URL(fileURLWithPath: "\(root)/\(name)").standardizedFileURL.resolvingSymlinksInPath().path
        // By bytes, as the kernel reads names: a combining character makes another character of the one before it.
        guard path.utf8.starts(with: (root.hasSuffix("/") ? root : root + "/").utf8), !name.utf8.contains(0),
            !name.utf8.split(separator: UInt8(ascii: "/")).contains(where: { $0.first == UInt8(ascii: ".") }),
            let attributes = try? FileManager.default.attributesOfItem(atPath: path),
            attributes[.type] as? FileAttributeType == .typeRegular,
            let size = attributes[.size] as? Int ?? (attributes[.size] as? NSNumber)?.intValue,
            size <= Self.sizeLimit, let data = FileManager.default.contents(atPath: path)
        else { return Self.missing }
        return Self.answer(name, Array(data))
    }

    private static let missing = WebSite.Answer.text(404, "There is no such file.")

    private static func answer(_ name: String, _ bytes: [UInt8]) -> WebSite.Answer {
        let ending = name.split(separator: ".").last.map { $0.lowercased() } ?? ""
        return WebSite.Answer(
            type: types[ending] ?? "application/octet-stream",
            // An address that holds a token is told to nobody.
            headers: ["Referrer-Policy": "no-referrer"], body: bytes)
    }
}
