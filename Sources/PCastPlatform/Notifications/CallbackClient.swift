import Dispatch
import PCastIO
import PCastMedia
import PCastWeb

/// Sends requests to addresses that applications have named: to the public internet, and to what this platform's operator
/// has listed beside it. A name is resolved once, every address that it has is judged, and the request goes to the one
/// that was judged; a redirection is an answer like any other and is not followed.
struct CallbackClient: Sendable {
    /// Networks that are reached although they are not public.
    let listed: [IPNetwork]

    /// What came of a request.
    enum Answer: Sendable {
        case status(Int, retryAfter: TimeSpan?)
        /// The address is none that may be reached.
        case forbidden(String)
        case none(String)
    }

    private static let patience = Duration.seconds(15)

    func send(
        _ method: String, _ uri: String, headers: [(name: String, value: String)], body: [UInt8]
    ) async -> Answer {
        guard let address = try? WebAddress(uri) else { return .forbidden("this is no address") }
        let found = await Self.resolve(address)
        guard let first = found.first else { return .none("the name \(address.host) has no address") }
        if let refused = found.first(where: { !mayReach($0) }) {
            return .forbidden("\(refused) is not public, and not listed")
        }
        do {
            let answer = try await HTTPRequests.send(
                method, uri, at: first.description, headers: headers, body: body, within: Self.patience)
            return .status(
                answer.status, retryAfter: answer.retryAfter.map { .seconds(Int64(min(max($0, 0), 86_400))) })
        } catch {
            return .none("no answer")
        }
    }

    func mayReach(_ address: IPAddress) -> Bool {
        address.isPublic || listed.contains { $0.contains(address) }
    }

    /// On a thread that may wait.
    private static func resolve(_ address: WebAddress) async -> [IPAddress] {
        let port = UInt16(exactly: address.port) ?? 0
        return await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                continuation.resume(returning: NameResolution.resolve(host: address.host, port: port).map(\.ip))
            }
        }
    }
}
