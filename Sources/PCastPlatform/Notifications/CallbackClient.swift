import PCastCore
import PCastIO
import PCastWeb

/// A client that sends requests to URIs of applications: to the public internet, and to the networks that the operator
/// listed. A name is resolved once, all its addresses are checked, and the request is sent to a checked one.
/// Redirections are not followed.
struct CallbackClient: Sendable {
    /// The networks that are permitted although they are not public.
    let listed: Setting<[IPNetwork]>

    var addresses: AddressPolicy { AddressPolicy(listed: listed.value) }

    /// The result of a request.
    enum CallbackResult: Sendable {
        case status(Int, retryAfter: TimeSpan?)
        /// The address is not permitted.
        case forbidden(String)
        case none(String)
    }

    private static let timeout = Duration.seconds(15)

    func send(
        _ method: String, _ uri: String, headers: [(name: String, value: String)], body: [UInt8]
    ) async -> CallbackResult {
        guard let address = try? WebAddress(uri) else { return .forbidden("the webhook's address is not a valid URI") }
        let target: TransportAddress
        do throws(AddressRejection) {
            target = try await addresses.judged(host: address.host, port: UInt16(exactly: address.port) ?? 0)
        } catch {
            if case .forbidden = error { return .forbidden("\(error)") }
            return .none("\(error)")
        }
        do {
            let answer = try await HTTPRequests.send(
                method, uri, at: target.ip.description, headers: headers, body: body, within: Self.timeout)
            return .status(
                answer.status, retryAfter: answer.retryAfter.map { .seconds(Int64(min(max($0, 0), 86_400))) })
        } catch {
            return .none("no answer")
        }
    }
}
