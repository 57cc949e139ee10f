import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import NIOSSL

/// What a web server answered.
public struct HTTPAnswer: Sendable {
    /// The status code (RFC 9110, section 15).
    public let status: Int

    public let body: [UInt8]

    /// `Retry-After`, where it is a number of seconds (RFC 9110, section 10.2.3).
    public let retryAfter: Int?
}

/// Single requests to web servers.
public enum HTTPRequests {
    /// In bytes; an answer with more is a broken protocol.
    public static let maximumAnswerSize = 4 * 1024 * 1024

    /// Sends a request to a server at an address that was found, and checked, before: whatever its name means by then,
    /// nothing else is reached. No redirection is followed, and no proxy asked.
    ///
    /// - Parameters:
    ///   - address: of the URI's host, as text; IPv6 without brackets.
    ///   - limit: for all of it.
    /// - Returns: without the body, which is not read.
    /// - Throws: `WebError`.
    public static func send(
        _ method: String, _ uri: String, at address: String, headers: [(name: String, value: String)], body: [UInt8],
        within limit: Duration
    ) async throws -> HTTPAnswer {
        let parts = try WebAddress(uri)
        var configuration = HTTPClient.Configuration(redirectConfiguration: .disallow)
        configuration.connectionPool.retryConnectionEstablishment = false
        configuration.dnsOverride = [parts.host: address]
        configuration.tlsConfiguration = TLSConfiguration.client
        // One of its own, as the address belongs to the client and not to the request.
        let client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
        let result: Result<HTTPAnswer, any Error>
        do {
            result = .success(
                try await send(
                    method, uri, headers, body, by: client, timeout: .nanoseconds(limit.nanoseconds), readsBody: false))
        } catch {
            result = .failure(error)
        }
        try? await client.shutdown()
        return try result.get()
    }

    /// A server that is not there is an error at once, not after the time that it would have had to answer.
    private static let client: HTTPClient = {
        var configuration = HTTPClient.Configuration.singletonConfiguration
        configuration.connectionPool.retryConnectionEstablishment = false
        configuration.tlsConfiguration = TLSConfiguration.client
        return HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }()

    /// Sends a request and waits for the whole answer, at most 15 seconds.
    ///
    /// - Throws: `WebError`.
    public static func send(
        _ method: String, _ uri: String, headers: [(name: String, value: String)] = [], body: [UInt8]? = nil
    ) async throws -> HTTPAnswer {
        try await send(method, uri, headers, body, by: client, timeout: .seconds(15), readsBody: true)
    }

    private static func send(
        _ method: String, _ uri: String, _ headers: [(name: String, value: String)], _ body: [UInt8]?,
        by client: HTTPClient, timeout: TimeAmount, readsBody: Bool
    ) async throws -> HTTPAnswer {
        let address = try WebAddress(uri)
        var request = HTTPClientRequest(url: address.origin + address.path)
        request.method = HTTPMethod(rawValue: method)
        for (name, value) in headers { request.headers.add(name: name, value: value) }
        if let body { request.body = .bytes(ByteBuffer(bytes: body)) }
        let response: HTTPClientResponse
        do {
            response = try await client.execute(request, timeout: timeout)
        } catch let error as CancellationError {
            throw error
        } catch {
            throw WebError(reaching: uri, failedWith: error)
        }
        let status = Int(response.status.code)
        let retryAfter = response.headers.first(name: "Retry-After").flatMap(Int.init)
        guard readsBody else { return HTTPAnswer(status: status, body: [], retryAfter: retryAfter) }
        do {
            let bytes = try await response.body.collect(upTo: maximumAnswerSize)
            return HTTPAnswer(status: status, body: Array(bytes.readableBytesView), retryAfter: retryAfter)
        } catch {
            let reason = ConnectionFailure.reason(of: error)
            throw WebError.protocolViolation("the answer of \(uri) is cut or too large (\(reason))")
        }
    }
}

extension Duration {
    fileprivate var nanoseconds: Int64 { components.seconds * 1_000_000_000 + components.attoseconds / 1_000_000_000 }
}
