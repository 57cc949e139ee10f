package import Dispatch
import Foundation
import PCastIO
import PCastOverlay
import PCastWeb
import Synchronization

/// An HTTP server for the pages of overlays: documents at `/overlay/PROGRAM/`, the JavaScript module of the protocol at
/// `/bridge.js`, and the WebSocket at `/bridge/PROGRAM?token=TOKEN`. The producer sets a program's status with
/// `PUT /program/PROGRAM/status`, with `enabled`, `hidden` or `disabled` as body and the controller token as bearer
/// token.
///
/// It listens on one address of this host, by default loopback. It requires a numeric host or `localhost` in requests,
/// which prevents DNS rebinding by other websites. Pages must have the same origin.
public final class OverlayBridge: Sendable {
    /// An overlay with its documents.
    private struct OverlayEntry: Sendable {
        let overlay: Overlay
        let files: OverlayFiles
    }

    private let host: String
    private let port: Int
    private let entries: [String: OverlayEntry]
    /// The timeout for a page to receive the last messages and the close.
    private let closingTime: DispatchTimeInterval

    /// Creates a server for overlays with different programs; of equal programs the last one counts. `folder` contains
    /// the documents; nil for the example. `host` is an address of this host. `port` is 0 for any free port.
    public convenience init(_ overlays: [Overlay], folder: String? = nil, host: String = "127.0.0.1", port: Int = 0) {
        self.init(overlays, folder: folder, host: host, port: port, closingTime: .seconds(5))
    }

    /// Creates a server with the timeout for a page to receive the last messages and the close.
    package init(
        _ overlays: [Overlay], folder: String?, host: String = "127.0.0.1", port: Int = 0,
        closingTime: DispatchTimeInterval
    ) {
        (self.host, self.port, self.closingTime) = (host, port, closingTime)
        let files = OverlayFiles(folder: folder)
        entries = Dictionary(overlays.map { ($0.program, OverlayEntry(overlay: $0, files: files)) }) { _, last in last }
    }

    /// Returns the address of an overlay's page that may control the player. It contains the token in the fragment,
    /// which browsers do not send to servers.
    public func address(of overlay: Overlay, port: Int) -> String {
        "http://\(authority(port))/overlay/\(overlay.program)/#token=\(overlay.controllerToken)"
    }

    /// Returns the address of an overlay's page that cannot control the player.
    public func viewerAddress(of overlay: Overlay, port: Int) -> String {
        "http://\(authority(port))/overlay/\(overlay.program)/"
    }

    /// Returns the host and port as they appear in addresses.
    private func authority(_ port: Int) -> String { "\(host.contains(":") ? "[\(host)]" : host):\(port)" }

    /// Serves until the task is cancelled. `onListening` is called once with the open port. Throws an error if the port
    /// is in use.
    public func run(onListening: @escaping @Sendable (Int) async -> Void) async throws {
        let site = WebSite(
            binding: .init(host: host, port: port), webSocketPath: "/bridge/", label: "pcast.overlay",
            answer: { self.answer($0) }, webSocket: { try await self.serve($0) })
        try await site.run(onListening: onListening)
    }

    // MARK: Documents

    /// Returns the response to a request.
    private func answer(_ request: WebSite.Request) -> WebSite.SiteResponse {
        guard isOurs(request.host) else { return .text(421, "The Host header is not that of this server.") }
        let parts = request.path.split(separator: "/", maxSplits: 2, omittingEmptySubsequences: true)
        guard request.method == "GET" || request.method == "HEAD" else { return change(request, parts) }
        if request.path == "/bridge.js" { return OverlayFiles.module }
        guard parts.first == "overlay", parts.count >= 2, let entry = entries[String(parts[1])],
            entry.overlay.status != .disabled
        else { return .text(404, "The overlay does not exist.") }
        if parts.count == 2, !request.path.hasSuffix("/") {
            return .init(308, headers: ["Location": "/overlay/\(parts[1])/"])
        }
        return entry.files.document(parts.count > 2 ? parts[2] : "")
    }

    /// Changes the status of a program for the producer.
    private func change(_ request: WebSite.Request, _ parts: [Substring]) -> WebSite.SiteResponse {
        guard parts.count == 3, parts[0] == "program", parts[2] == "status", let entry = entries[String(parts[1])]
        else {
            return .text(404, "The overlay does not exist.")
        }
        guard request.method == "PUT" else {
            return .init(405, headers: ["Allow": "PUT"])
        }
        guard let authorization = request.authorization, authorization.lowercased().hasPrefix("bearer "),
            Self.isSame(String(authorization.dropFirst(7).drop { $0 == " " }), entry.overlay.controllerToken)
        else { return .init(401, headers: ["WWW-Authenticate": "Bearer"]) }
        let word = request.body.map { String(decoding: $0, as: UTF8.self) } ?? ""
        guard let status = OverlayStatus(rawValue: word.filter { !$0.isWhitespace }) else {
            return .text(400, "The status is invalid: use enabled, hidden or disabled.")
        }
        entry.overlay.status = status
        return .init(204)
    }

    /// Whether the host of a request is numeric or `localhost`.
    private func isOurs(_ authority: String?) -> Bool {
        guard let authority else { return false }
        let name: Substring
        if authority.hasPrefix("[") {
            name = authority.dropFirst().prefix { $0 != "]" }
        } else {
            name = authority.prefix { $0 != ":" }
        }
        return name == "localhost" || name == host || name.contains(":")
            || !name.isEmpty && name.allSatisfy { $0.isASCII && ($0.isNumber || $0 == ".") }
    }

    /// Whether both are equal, in constant time for equal lengths.
    private static func isSame(_ left: String, _ right: String) -> Bool {
        let (left, right) = (Array(left.utf8), Array(right.utf8))
        guard left.count == right.count else { return false }
        return zip(left, right).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
    }

    // MARK: Pages

    /// Accepts or rejects the WebSocket of a page.
    private func serve(_ connection: WebSocketConnection) async throws {
        guard let request = connection.request, isOurs(request.host),
            // Clients other than browsers send no origin. Pages of other websites send another one.
            request.origin.map({ $0 == "http://\(request.host ?? "")" }) ?? true
        else { return await refuse(connection, .wrongToken) }
        let target = request.uri.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let name = target[0].dropFirst("/bridge/".count)
        guard let overlay = entries[String(name)]?.overlay else { return await refuse(connection, .notLoaded) }
        let query = target.count > 1 ? target[1].split(separator: "&") : []
        let token = query.first { $0.hasPrefix("token=") }.map { String($0.dropFirst("token=".count)) }
        if let token, !token.isEmpty, !Self.isSame(token, overlay.controllerToken) {
            return await refuse(connection, .wrongToken)
        }
        try await attach(connection, to: overlay, isController: token?.isEmpty == false)
    }

    /// Connects a page to its overlay until either end closes.
    private func attach(_ connection: WebSocketConnection, to overlay: Overlay, isController: Bool) async throws {
        let (wakes, waking) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let id = overlay.openPage(isController: isController) { [weak overlay, closingTime] id in
            waking.yield()
            guard overlay?.isClosing(id) == true else { return }
            // A page that does not read would not receive the close frame either.
            DispatchQueue.global().asyncAfter(deadline: .now() + closingTime) { connection.cut() }
        }
        await withTaskGroup { group in
            group.addTask {
                await Self.send(to: id, of: overlay, by: connection, wakes)
            }
            group.addTask {
                do {
                    try await connection.forEachMessage { message in
                        switch message {
                        case .text(let text): overlay.page(id, message: text)
                        case .binary: overlay.pageBinaryMessage(id)
                        }
                    } admitsControl: {
                        overlay.admitsControl(of: id)
                    }
                } catch {
                    // The page disconnected or violated the protocol, which has no effect on others.
                }
            }
            // When one task ends, the other one ends too.
            await group.next()
            waking.finish()
            connection.cut()
            group.cancelAll()
        }
        overlay.closePage(id)
    }

    /// Sends the messages for a page, in order, as fast as the page reads them.
    private static func send(
        to id: OverlayPage.ID, of overlay: Overlay, by connection: WebSocketConnection, _ wakes: AsyncStream<Void>
    ) async {
        for await _ in wakes {
            while let outgoing = overlay.takeOutgoing(for: id) {
                switch outgoing {
                case .text(let text):
                    guard (try? await connection.send(.text(text))) != nil else { return }
                case .close(let closing):
                    // The page responds with a close frame, which ends the connection.
                    await close(connection, closing)
                    for await _ in wakes {}
                    return
                }
            }
        }
    }

    /// Sends a close frame.
    private static func close(_ connection: WebSocketConnection, _ closing: OverlayClosing) async {
        await connection.close(status: closing.code, reason: closing.reason)
    }

    /// Rejects a page with a close frame, and waits for the page's close frame, so that the page receives the reason.
    private func refuse(_ connection: WebSocketConnection, _ closing: OverlayClosing) async {
        await Self.close(connection, closing)
        DispatchQueue.global().asyncAfter(deadline: .now() + closingTime) { connection.cut() }
        try? await connection.forEachMessage { _ in
        } admitsControl: {
            false
        }
    }
}

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
    static var module: WebSite.SiteResponse { answer("bridge.js", OverlayDocuments.bridge) }

    /// Returns the document at a percent-encoded path below the overlay's address; an empty path is the page itself.
    func document(_ path: Substring) -> WebSite.SiteResponse {
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
    private func file(_ name: String, in folder: String) -> WebSite.SiteResponse {
        // Symbolic links are resolved, so that no file outside the folder is served.
        let root = URL(fileURLWithPath: folder).resolvingSymlinksInPath().path
        let path = URL(fileURLWithPath: "\(root)/\(name)").standardizedFileURL.resolvingSymlinksInPath().path
        // The comparison is by bytes, as in the kernel. By characters, a combining character would change the one
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
    private static let missing = WebSite.SiteResponse.text(404, "The file does not exist.")

    /// Returns the response with a document.
    private static func answer(_ name: String, _ bytes: [UInt8]) -> WebSite.SiteResponse {
        let ending = name.split(separator: ".").last.map { $0.lowercased() } ?? ""
        return WebSite.SiteResponse(
            type: types[ending] ?? "application/octet-stream",
            // The address may contain a token, so it is not sent as a referrer.
            headers: ["Referrer-Policy": "no-referrer"], body: bytes)
    }
}
