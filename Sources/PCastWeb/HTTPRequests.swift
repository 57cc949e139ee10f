import AsyncHTTPClient
import NIOCore
import NIOHTTP1

/// What a web server answered.
public struct HTTPAnswer: Sendable {
    /// The status code (RFC 9110, section 15).
    public let status: Int

    public let body: [UInt8]
}

/// Single requests to web servers.
public enum HTTPRequests {
    /// In bytes; an answer with more is a broken protocol.
    public static let maximumAnswerSize = 4 * 1024 * 1024

    /// A server that is not there is an error at once, not after the time that it would have had to answer.
    private static let client: HTTPClient = {
        var configuration = HTTPClient.Configuration.singletonConfiguration
        configuration.connectionPool.retryConnectionEstablishment = false
        return HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }()

    /// Sends a request and waits for the whole answer, at most 15 seconds.
    ///
    /// - Throws: `WebError`.
    public static func send(
        _ method: String, _ uri: String, headers: [(name: String, value: String)] = [], body: [UInt8]? = nil
    ) async throws -> HTTPAnswer {
        let address = try WebAddress(uri)
        var request = HTTPClientRequest(url: address.origin + address.path)
        request.method = HTTPMethod(rawValue: method)
        for (name, value) in headers { request.headers.add(name: name, value: value) }
        if let body { request.body = .bytes(ByteBuffer(bytes: body)) }
        let response: HTTPClientResponse
        do {
            response = try await client.execute(request, timeout: .seconds(15))
        } catch let error as CancellationError {
            throw error
        } catch {
            throw WebError.unreachable(uri: uri, reason: "\(error)")
        }
        do {
            let bytes = try await response.body.collect(upTo: maximumAnswerSize)
            return HTTPAnswer(status: Int(response.status.code), body: Array(bytes.readableBytesView))
        } catch {
            throw WebError.protocolViolation("the answer of \(uri) is cut or too large (\(error))")
        }
    }
}
