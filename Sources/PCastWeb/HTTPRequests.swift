import AsyncHTTPClient
import Glibc
import NIOCore
import NIOHTTP1
import NIOSSL

/// The response of an HTTP server.
package struct HTTPResult: Sendable {
    /// The status code (RFC 9110, section 15).
    package let status: Int

    /// The content; empty if it was not read.
    package let body: [UInt8]

    /// The delay of `Retry-After` in seconds; nil if absent or a date (RFC 9110, section 10.2.3).
    package let retryAfter: Int?

    /// The value of `Content-Type`; nil if absent.
    package var contentType: String?

    /// The value of `Content-Encoding`; nil if absent. The content is not decoded.
    package var contentEncoding: String?

    /// The value of `Location` as it was sent, which may be relative; nil if absent.
    package var location: String?

    /// The URI that responded, if a redirection was followed; nil otherwise. A relative ``location`` refers to it.
    package var redirectedURI: String?

    /// Returns the delay that a value of `Retry-After` states in seconds, at most a year; nil for a date or another text
    /// (RFC 9110, section 10.2.3).
    package static func delay(ofRetryAfter value: String) -> Int? {
        guard !value.isEmpty, value.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return min(Int(value) ?? .max, 365 * 86_400)
    }
}

/// Functions that send single HTTP requests.
package enum HTTPRequests {
    /// The maximum size of a response's content in bytes.
    package static let maximumAnswerSize = 4 * 1024 * 1024

    /// Sends a request to an IP address that was resolved and checked before, so that a changed name cannot redirect it
    /// to another address. Neither redirections nor proxies are used, and the content of the response is not read.
    /// `address` is an IP address (IPv6 without brackets), and `limit` covers the whole exchange.
    ///
    /// - Throws: ``WebError``, or `CancellationError`.
    package static func send(
        _ method: String, _ uri: String, at address: String, headers: [(name: String, value: String)], body: [UInt8],
        within limit: Duration
    ) async throws -> HTTPResult {
        let parts = try WebAddress(uri)
        var configuration = HTTPClient.Configuration(redirectConfiguration: .disallow)
        configuration.connectionPool.retryConnectionEstablishment = false
        configuration.dnsOverride = [parts.host: address]
        configuration.tlsConfiguration = TLSConfiguration.client
        // Each request needs its own client, because the address is a property of the client.
        let client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
        let result: Result<HTTPResult, any Error>
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

    /// The client does not retry to connect, so that an unreachable server is reported at once and not after the
    /// timeout.
    private static let client: HTTPClient = makeClient(.singletonConfiguration)

    /// The client for requests whose redirections the caller decides about.
    private static let clientWithoutRedirections: HTTPClient = {
        var configuration = HTTPClient.Configuration.singletonConfiguration
        configuration.redirectConfiguration = .disallow
        // Requests to a node that wait, such as those for a stream that is not ready, must not delay others to the same node.
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 64
        return makeClient(configuration)
    }()

    private static func makeClient(_ configuration: HTTPClient.Configuration) -> HTTPClient {
        var configuration = configuration
        configuration.connectionPool.retryConnectionEstablishment = false
        configuration.tlsConfiguration = TLSConfiguration.client
        return HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }

    /// Sends a request and returns the response with its content, which arrives within `limit`. Redirections are
    /// followed, also from `https` to `http`, unless `followsRedirections` is false.
    ///
    /// - Throws: ``WebError``, or `CancellationError`.
    package static func send(
        _ method: String, _ uri: String, headers: [(name: String, value: String)] = [], body: [UInt8]? = nil,
        within limit: Duration = .seconds(15), followsRedirections: Bool = true
    ) async throws -> HTTPResult {
        try await send(
            method, uri, headers, body, by: followsRedirections ? client : clientWithoutRedirections,
            timeout: .nanoseconds(limit.nanoseconds), readsBody: true)
    }

    /// Sends a request through an HTTP proxy, which connects to the host of the request by `CONNECT`, and returns the
    /// response with its content. `limit` covers the whole exchange.
    ///
    /// - Throws: ``WebError``, or `CancellationError`.
    package static func send(
        _ method: String, _ uri: String, headers: [(name: String, value: String)], body: [UInt8]?, proxyHost: String,
        proxyPort: Int, within limit: Duration
    ) async throws -> HTTPResult {
        var configuration = HTTPClient.Configuration(redirectConfiguration: .follow(max: 5, allowCycles: false))
        configuration.connectionPool.retryConnectionEstablishment = false
        configuration.proxy = .server(host: proxyHost, port: proxyPort)
        configuration.tlsConfiguration = TLSConfiguration.client
        // The proxy is a property of the client.
        let client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
        let result: Result<HTTPResult, any Error>
        do {
            result = .success(
                try await send(
                    method, uri, headers, body, by: client, timeout: .nanoseconds(limit.nanoseconds), readsBody: true))
        } catch {
            result = .failure(error)
        }
        try? await client.shutdown()
        return try result.get()
    }

    private static func send(
        _ method: String, _ uri: String, _ headers: [(name: String, value: String)], _ body: [UInt8]?,
        by client: HTTPClient, timeout: TimeAmount, readsBody: Bool
    ) async throws -> HTTPResult {
        let end = ContinuousClock.now + .nanoseconds(timeout.nanoseconds)
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
        let retryAfter = response.headers.first(name: "Retry-After").flatMap { HTTPResult.delay(ofRetryAfter: $0) }
        guard readsBody else { return HTTPResult(status: status, body: [], retryAfter: retryAfter) }
        do {
            let bytes = try await content(of: response, until: end)
            return HTTPResult(
                status: status, body: Array(bytes.readableBytesView), retryAfter: retryAfter,
                contentType: response.headers.first(name: "Content-Type"),
                contentEncoding: response.headers.first(name: "Content-Encoding"),
                location: response.headers.first(name: "Location"),
                redirectedURI: response.history.count > 1 ? response.history.last?.request.url : nil)
        } catch {
            let reason = ConnectionFailure.reason(of: error)
            throw WebError.protocolViolation("the response of \(uri) is incomplete or too large (\(reason))")
        }
    }

    /// Returns the content of a response. The timeout of the client ends with the head of the response.
    private static func content(
        of response: HTTPClientResponse, until end: ContinuousClock.Instant
    ) async throws -> ByteBuffer {
        try await withThrowingTaskGroup(of: ByteBuffer?.self) { group in
            group.addTask { try await response.body.collect(upTo: maximumAnswerSize) }
            group.addTask {
                try await Task.sleep(until: end, clock: .continuous)
                return nil
            }
            defer { group.cancelAll() }
            guard let bytes = try await group.next() ?? nil else { throw HTTPClientError.deadlineExceeded }
            return bytes
        }
    }
}

extension HTTPRequests {
    /// Connections of many clients to one server. Other requests of this program share a few connections.
    package final class ConnectionPool: Sendable {
        private let client: HTTPClient

        /// Creates a pool of at most `connections` connections, which are opened when they are needed.
        package init(connections: Int) {
            var configuration = HTTPClient.Configuration.singletonConfiguration
            configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = connections
            client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
        }

        /// Sends a GET request and returns the response with its content. The timeout is 15 seconds.
        ///
        /// - Throws: ``WebError``, or `CancellationError`.
        package func get(_ uri: String, headers: [(name: String, value: String)] = []) async throws -> HTTPResult {
            try await HTTPRequests.send("GET", uri, headers, nil, by: client, timeout: .seconds(15), readsBody: true)
        }

        /// Closes the connections.
        package func close() async { try? await client.shutdown() }
    }
}

extension Duration {
    fileprivate var nanoseconds: Int64 { components.seconds * 1_000_000_000 + components.attoseconds / 1_000_000_000 }
}

extension TLSConfiguration {
    /// The TLS configuration of clients. It trusts the certificates of the file in `SSL_CERT_FILE`, as OpenSSL does,
    /// otherwise those of the system.
    static var client: TLSConfiguration {
        var configuration = makeClientConfiguration()
        if let file = getenv("SSL_CERT_FILE") { configuration.trustRoots = .file(String(cString: file)) }
        return configuration
    }
}
