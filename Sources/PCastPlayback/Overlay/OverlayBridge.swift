import Dispatch
import PCastIO
import PCastOverlay
import PCastWeb
import Synchronization

/// Serves overlays to their pages: the page itself below `/overlay/PROGRAM/`, the module that it speaks by at `/bridge.js`,
/// and the WebSocket at `/bridge/PROGRAM?token=TOKEN`. The producer changes a programme's status by
/// `PUT /program/PROGRAM/status` with `enabled`, `hidden` or `disabled` as body, and the controller token as bearer.
///
/// It listens on this computer alone, and answers only who names it by a number or as `localhost`, so that no page of
/// elsewhere can reach it by a name of its own. Pages come from here as well.
public final class OverlayBridge: Sendable {
    private struct Place: Sendable {
        let overlay: Overlay
        let files: OverlayFiles
    }

    /// How long a page has to take what it is told at last.
    private static let timeout = DispatchTimeInterval.seconds(5)

    private let host: String
    private let port: Int
    private let places: [String: Place]

    /// - Parameters:
    ///   - overlays: of programmes with names of their own; the last of several of one name counts.
    ///   - folder: what pages are made of; nil for the example.
    ///   - host: an address of this computer's own.
    ///   - port: 0 for a free one.
    public init(_ overlays: [Overlay], folder: String? = nil, host: String = "127.0.0.1", port: Int = 0) {
        (self.host, self.port) = (host, port)
        let files = OverlayFiles(folder: folder)
        places = Dictionary(overlays.map { ($0.program, Place(overlay: $0, files: files)) }) { _, last in last }
    }

    /// Where a page of an overlay is. Holds its token, behind a `#`, which no server is told.
    public func address(of overlay: Overlay, port: Int) -> String {
        "http://\(authority(port))/overlay/\(overlay.program)/#token=\(overlay.controllerToken)"
    }

    /// Where a page of an overlay is that looks on, and cannot steer.
    public func viewerAddress(of overlay: Overlay, port: Int) -> String {
        "http://\(authority(port))/overlay/\(overlay.program)/"
    }

    private func authority(_ port: Int) -> String { "\(host.contains(":") ? "[\(host)]" : host):\(port)" }

    /// Serves until the task is cancelled.
    ///
    /// - Parameter onListening: called once with the port that is open.
    /// - Throws: when the port is another program's.
    public func run(onListening: @escaping @Sendable (Int) async -> Void) async throws {
        let site = WebSite(
            binding: .init(host: host, port: port), webSocketPath: "/bridge/", label: "pcast.overlay",
            answer: { self.answer($0) }, webSocket: { try await self.serve($0) })
        try await site.run(onListening: onListening)
    }

    // MARK: Documents

    private func answer(_ request: WebSite.Request) -> WebSite.Answer {
        guard isOurs(request.host) else { return .text(421, "This is not the server that you look for.") }
        let parts = request.path.split(separator: "/", maxSplits: 2, omittingEmptySubsequences: true)
        guard request.method == "GET" || request.method == "HEAD" else { return change(request, parts) }
        if request.path == "/bridge.js" { return OverlayFiles.module }
        guard parts.first == "overlay", parts.count >= 2, let place = places[String(parts[1])],
            place.overlay.status != .disabled
        else { return .text(404, "There is no such overlay.") }
        if parts.count == 2, !request.path.hasSuffix("/") {
            return .init(308, headers: ["Location": "/overlay/\(parts[1])/"])
        }
        return place.files.document(parts.count > 2 ? parts[2] : "")
    }

    /// The producer's word.
    private func change(_ request: WebSite.Request, _ parts: [Substring]) -> WebSite.Answer {
        guard parts.count == 3, parts[0] == "program", parts[2] == "status", let place = places[String(parts[1])] else {
            return .text(404, "There is no such overlay.")
        }
        guard request.method == "PUT" else {
            return .init(405, headers: ["Allow": "PUT"])
        }
        guard let authorization = request.authorization, authorization.lowercased().hasPrefix("bearer "),
            Self.isSame(String(authorization.dropFirst(7).drop { $0 == " " }), place.overlay.controllerToken)
        else { return .init(401, headers: ["WWW-Authenticate": "Bearer"]) }
        let word = request.body.map { String(decoding: $0, as: UTF8.self) } ?? ""
        guard let status = OverlayStatus(rawValue: word.filter { !$0.isWhitespace }) else {
            return .text(400, "A status is enabled, hidden or disabled.")
        }
        place.overlay.status = status
        return .init(204)
    }

    /// Named by a number, or as this computer.
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

    /// In a time that tells nothing.
    private static func isSame(_ left: String, _ right: String) -> Bool {
        let (left, right) = (Array(left.utf8), Array(right.utf8))
        guard left.count == right.count else { return false }
        return zip(left, right).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
    }

    // MARK: Pages

    private func serve(_ connection: WebSocketConnection) async throws {
        guard let request = connection.request, isOurs(request.host),
            // Programs that are no pages have no origin; pages of elsewhere have another.
            request.origin.map({ $0 == "http://\(request.host ?? "")" }) ?? true
        else { return await refuse(connection, .wrongToken) }
        let target = request.uri.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let name = target[0].dropFirst("/bridge/".count)
        guard let overlay = places[String(name)]?.overlay else { return await refuse(connection, .notLoaded) }
        let query = target.count > 1 ? target[1].split(separator: "&") : []
        let token = query.first { $0.hasPrefix("token=") }.map { String($0.dropFirst("token=".count)) }
        if let token, !token.isEmpty, !Self.isSame(token, overlay.controllerToken) {
            return await refuse(connection, .wrongToken)
        }
        try await attach(connection, to: overlay, isController: token?.isEmpty == false)
    }

    private func attach(_ connection: WebSocketConnection, to overlay: Overlay, isController: Bool) async throws {
        let (wakes, waking) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let id = overlay.openPage(isController: isController) { [weak overlay] id in
            waking.yield()
            guard overlay?.isClosing(id) == true else { return }
            // One that takes nothing any more does not hear the goodbye either.
            DispatchQueue.global().asyncAfter(deadline: .now() + Self.timeout) { connection.cut() }
        }
        await withTaskGroup { group in
            group.addTask {
                await Self.send(to: id, of: overlay, by: connection, wakes)
            }
            group.addTask {
                do {
                    try await connection.forEachMessage { message in
                        switch message {
                        case .text(let text): overlay.page(id, said: text)
                        case .binary: overlay.pageSaidBytes(id)
                        }
                    }
                } catch {
                    // It is gone, or broke the protocol: nothing follows from it for anyone else.
                }
            }
            // Whichever ends, the other has nothing to do any more.
            await group.next()
            waking.finish()
            connection.cut()
            group.cancelAll()
        }
        overlay.closePage(id)
    }

    /// Sends what there is to be sent, in order, as fast as the page takes it.
    private static func send(
        to id: OverlayPage.ID, of overlay: Overlay, by connection: WebSocketConnection, _ wakes: AsyncStream<Void>
    ) async {
        for await _ in wakes {
            while let outgoing = overlay.takeOutgoing(for: id) {
                switch outgoing {
                case .text(let text):
                    guard (try? await connection.send(.text(text))) != nil else { return }
                case .close(let closing):
                    // The page answers, which ends its connection.
                    await close(connection, closing)
                    for await _ in wakes {}
                    return
                }
            }
        }
    }

    private static func close(_ connection: WebSocketConnection, _ closing: OverlayClosing) async {
        await connection.close(status: closing.code, reason: closing.reason)
    }

    /// Of one that was never let in: waits for its answer, so that the goodbye is not lost.
    private func refuse(_ connection: WebSocketConnection, _ closing: OverlayClosing) async {
        await Self.close(connection, closing)
        DispatchQueue.global().asyncAfter(deadline: .now() + Self.timeout) { connection.cut() }
        try? await connection.forEachMessage { _ in }
    }
}
