import AsyncHTTPClient
package import NIOCore
import NIOHTTP1
import NIOSSL

/// The requests of a cache to the servers of which it keeps content.
package enum UpstreamRequests {
    /// A response.
    package struct Response: Sendable {
        /// The status code.
        package let status: Int
        /// Whether the content is coded with gzip.
        package let isGzip: Bool
        /// The content; empty if the status is not 200.
        package let body: ByteBuffer
    }

    /// The reason why there is no response.
    package enum Failure: Error, Sendable {
        /// The server does not respond, or the connection broke, with the reason.
        case unreachable(String)
        /// There is no memory for the content.
        case tooLarge
        /// The response has a content coding that was not requested.
        case undecodable
    }

    /// The number of connections to a server over HTTP/1.1, after which requests wait for one.
    package static let connectionLimit = 256
    /// The maximum size of the content of a response that is not used.
    private static let unusedLimit = 64 << 10

    private static let client: HTTPClient = {
        var configuration = HTTPClient.Configuration(redirectConfiguration: .disallow)
        configuration.connectionPool.retryConnectionEstablishment = false
        configuration.timeout.connect = .seconds(5)
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = connectionLimit
        configuration.tlsConfiguration = TLSConfiguration.client
        return HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }()

    /// Sends a GET request and returns the response with its content, as it was sent. Redirections are not followed.
    ///
    /// - Parameters:
    ///   - uri: The URI.
    ///   - acceptsGzip: Whether the content may be coded with gzip.
    ///   - limit: The time for the whole exchange.
    ///   - admit: Reserves memory for a number of bytes before they are kept. Returns false if there is none. It is not
    ///     called after this function has returned.
    /// - Returns: The response.
    /// - Throws: ``Failure``.
    package static func get(
        _ uri: String, acceptsGzip: Bool, within limit: Duration, admit: @escaping @Sendable (Int) -> Bool
    ) async throws(Failure) -> Response {
        guard let address = try? WebAddress(uri) else { throw .unreachable("the address is invalid") }
        // The timeout of the client ends with the head of the response.
        let result = await withTaskGroup(of: Result<Response, Failure>?.self) { group in
            group.addTask { await exchange(address, acceptsGzip, limit, admit) }
            group.addTask {
                try? await Task.sleep(for: limit)
                return nil
            }
            let first = await group.next() ?? nil
            group.cancelAll()
            return first
        }
        guard let result else { throw .unreachable("the response is not complete in time") }
        return try result.get()
    }

    private static func exchange(
        _ address: WebAddress, _ acceptsGzip: Bool, _ limit: Duration, _ admit: @Sendable (Int) -> Bool
    ) async -> Result<Response, Failure> {
        var request = HTTPClientRequest(url: address.origin + address.path)
        request.headers.add(name: "Accept-Encoding", value: acceptsGzip ? "gzip" : "identity")
        do {
            let response = try await client.execute(request, timeout: .nanoseconds(limit.wholeNanoseconds))
            let status = Int(response.status.code)
            guard status == 200 else {
                // The connection can be used again after the content was read.
                _ = try? await response.body.collect(upTo: unusedLimit)
                return .success(Response(status: status, isGzip: false, body: ByteBuffer()))
            }
            let coding = response.headers.first(name: "Content-Encoding")?.lowercased()
            guard coding == nil || coding == "identity" || acceptsGzip && coding == "gzip" else {
                return .failure(.undecodable)
            }
            var body = ByteBuffer()
            for try await piece in response.body {
                guard admit(piece.readableBytes) else { return .failure(.tooLarge) }
                body.writeImmutableBuffer(piece)
            }
            // Content that is kept for a long time must be complete.
            if let size = response.headers.first(name: "Content-Length"), size != "\(body.readableBytes)" {
                return .failure(.unreachable("the response is incomplete"))
            }
            return .success(Response(status: status, isGzip: coding == "gzip", body: body))
        } catch {
            return .failure(.unreachable(ConnectionFailure.reason(of: error)))
        }
    }
}

extension Duration {
    fileprivate var wholeNanoseconds: Int64 {
        components.seconds * 1_000_000_000 + components.attoseconds / 1_000_000_000
    }
}
