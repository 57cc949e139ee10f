import FoundationEssentials
import HTTPTypes
import Hummingbird
import Logging
import PCastCore
import PCastDatabase
import PCastWeb
import Synchronization
import Testing

/// An application's backend: a web server that receives notifications, and answers each with the next of its statuses.
final class Backend: Sendable {
    struct Notification: Sendable {
        let path: String
        let id: String
        let timestamp: String
        let signature: String
        let body: [UInt8]

        struct Body: Decodable {
            struct Content: Decodable {
                let streamId: String
                let tags: [String]
                let reason: String?
                let duration: Int?
            }
            let apiVersion: Int
            let entity: String
            let what: String
            let data: Content
            let sessionId: String?
            let timestamp: String
        }

        var content: Body? { try? JSONDecoder().decode(Body.self, from: Data(body)) }

        /// Whether the notification was signed with the secret.
        func isSigned(with secret: SigningSecret) -> Bool {
            let time = WallTime(millisecondsSinceEpoch: (Int64(timestamp) ?? 0) * 1_000)
            return secret.headers(id: id, at: time, body: body).contains { $0.value == signature }
        }
    }

    private let state = Mutex<(received: [Notification], statuses: [Int])>(([], []))
    private let ports: AsyncStream<Int>
    private let listens: AsyncStream<Int>.Continuation

    private init(_ statuses: [Int]) {
        (ports, listens) = AsyncStream.makeStream()
        state.withLock { $0.statuses = statuses }
    }

    /// Runs `body` with a backend on a free port. Its first answers have the given statuses, and later ones have 200.
    static func run(statuses: [Int] = [], _ body: (Backend, Int) async throws -> Void) async throws {
        let backend = Backend(statuses)
        let router = Router(context: WebRequestContext.self)
        for method: HTTPRequest.Method in [.post, .put] {
            router.on("**", method: method) { request, _ in await backend.take(request) }
        }
        let server = WebServer(
            binding: .init(host: "127.0.0.1", port: 0), router: router, webSocketPath: "/ws",
            logger: Logger(label: "backend") { _ in SwiftLogNoOpLogHandler() }, webSocket: { _ in })
        let task = Task { try await server.run { backend.listens.yield($0) } }
        let port = try #require(await backend.ports.first { _ in true })
        do {
            try await body(backend, port)
        } catch {
            task.cancel()
            throw error
        }
        task.cancel()
        _ = await task.result
    }

    private func take(_ request: Request) async -> Response {
        var request = request
        let body = (try? await request.collectBody(upTo: 1 << 16)).map { Array($0.readableBytesView) } ?? []
        let header = { (name: String) in HTTPField.Name(name).flatMap { request.headers[$0] } ?? "" }
        let notification = Notification(
            path: request.uri.path, id: header("webhook-id"), timestamp: header("webhook-timestamp"),
            signature: header("webhook-signature"), body: body)
        let status = state.withLock { state in
            state.received.append(notification)
            return state.statuses.isEmpty ? 200 : state.statuses.removeFirst()
        }
        var headers: HTTPFields = [:]
        if status == 302 { headers[.location] = "/elsewhere" }
        return Response(status: .init(code: status), headers: headers)
    }

    var received: [Notification] { state.withLock { $0.received } }

    /// Sets the statuses of the next answers.
    func answer(_ statuses: [Int]) { state.withLock { $0.statuses = statuses } }

    /// Waits for a number of notifications.
    func receives(_ count: Int) async throws -> [Notification] {
        _ = try await eventually { received.count >= count }
        return received
    }
}
