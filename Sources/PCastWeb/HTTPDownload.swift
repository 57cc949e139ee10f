import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import NIOSSL
package import PCastCore
import Synchronization

/// A streaming download of a large HTTP response.
package struct HTTPDownload: Sendable {
    /// The status and fields of a response.
    package struct Head: Hashable, Sendable {
        /// The status code (RFC 9110, section 15).
        package var status: Int
        /// The URI of the response after redirections.
        package var uri: String
        /// The length of the content in bytes; nil if the server does not report it.
        package var length: Int64?
        /// The delay of `Retry-After` in seconds; nil if absent or a date (RFC 9110, section 10.2.3).
        package var retryAfter: Int?
        /// The media type of `Content-Type` in lower case without parameters; nil if absent.
        package var contentType: String?
        /// The time of the server by `Date`, in whole seconds; nil if absent or not valid (RFC 9110, section 6.6.1).
        package var date: WallTime?
    }

    /// The reason why a download failed.
    package enum Failure: Error, Hashable, Sendable {
        case invalidURI
        /// The server does not respond, or the connection broke.
        case unreachable(reason: String)
        /// No data arrived within the timeout.
        case timeout
        /// There were too many redirections, or one to an address that is not HTTP.
        case redirections
        /// The response exceeds the limit.
        case tooLarge
        /// The content coding is unknown, or the content is invalid.
        case undecodable(reason: String)
        case cancelled
    }

    /// The maximum number of redirections.
    private static let redirections = 16

    /// The number of connections to a server over HTTP/1.1, after which requests wait for one.
    private static let connectionLimit = 256

    private static let client: HTTPClient = {
        // Redirections are followed by this type, because each one may set cookies.
        var configuration = HTTPClient.Configuration(redirectConfiguration: .disallow)
        configuration.connectionPool.retryConnectionEstablishment = false
        configuration.timeout.connect = .seconds(5)
        // A player of a low-latency stream has up to a dozen requests that the server holds until the next part exists.
        // Other requests must not wait behind them.
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = Self.connectionLimit
        configuration.tlsConfiguration = TLSConfiguration.client
        return HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }()

    /// Downloads a resource or a range of it. `data:` URIs are decoded.
    ///
    /// - Parameters:
    ///   - uri: The URI. Characters that may not occur in it are encoded.
    ///   - range: The offset and length in bytes; a nil length extends to the end (RFC 9110, section 14.1.2). If the
    ///     server ignores ranges, the range is taken from the whole response, unless more than `limit` bytes precede
    ///     it.
    ///   - limit: The maximum size of the decoded content in bytes.
    ///   - timeout: The maximum time without new data.
    ///   - cookies: The cookies to send and to update; nil for none.
    ///   - fields: Further fields of the request. After a redirection to another origin they are not sent.
    ///   - take: Receives the head with each piece of the content if the status is 2xx. Returns whether more data is
    ///     wanted.
    /// - Returns: The head of the final response.
    /// - Throws: ``Failure``.
    package static func get(
        _ uri: String, range: (offset: Int64, length: Int64?)? = nil, limit: Int64, timeout: Duration,
        cookies: HTTPCookies? = nil, fields: [(name: String, value: String)] = [],
        take: @escaping @Sendable (Head, [UInt8]) async -> Bool
    ) async throws(Failure) -> Head {
        if uri.prefix(5).lowercased() == "data:" { return try await inline(uri, range, limit, take) }
        let address = WebURI.escaped(uri)
        guard let server = try? WebAddress(Credentials(address).address) else { throw .invalidURI }
        let exchange = Exchange(
            range: range, limit: limit, cookies: cookies, fields: fields, origin: server.origin, take: take)
        let activity = Activity()
        let result = await withTaskGroup(of: Result<Head, Failure>?.self) { group in
            group.addTask { await follow(address, exchange, activity) }
            group.addTask { await activity.silence(for: timeout) ? .failure(.timeout) : nil }
            var result: Result<Head, Failure>?
            while result == nil, let next = await group.next() { result = next }
            group.cancelAll()
            return result ?? .failure(.cancelled)
        }
        if Task.isCancelled, case .failure = result { throw .cancelled }
        return try result.get()
    }

    /// A request, independent of redirections.
    private struct Exchange: Sendable {
        var range: (offset: Int64, length: Int64?)?
        var limit: Int64
        var cookies: HTTPCookies?
        var fields: [(name: String, value: String)]
        /// The server that receives the fields.
        var origin: String
        var take: @Sendable (Head, [UInt8]) async -> Bool
    }

    /// Returns the content of a `data:` URI (RFC 2397).
    private static func inline(
        _ uri: String, _ range: (offset: Int64, length: Int64?)?, _ limit: Int64,
        _ take: @Sendable (Head, [UInt8]) async -> Bool
    ) async throws(Failure) -> Head {
        guard let (type, whole) = WebURI.data(uri) else { throw .invalidURI }
        guard whole.count <= limit else { throw .tooLarge }
        var bytes = whole[...]
        if let range {
            bytes = bytes.dropFirst(Int(clamping: range.offset))
            if let length = range.length {
                guard bytes.count >= length else {
                    throw .unreachable(reason: "\(bytes.count) of \(length) bytes arrived")
                }
                bytes = bytes.prefix(Int(clamping: length))
            }
        }
        let head = Head(status: 200, uri: uri, length: Int64(bytes.count), contentType: type)
        _ = await take(head, Array(bytes))
        return head
    }

    private static func follow(_ uri: String, _ exchange: Exchange, _ activity: Activity) async -> Result<Head, Failure>
    {
        var uri = uri
        for _ in 0...redirections {
            switch await receive(uri, exchange, activity) {
            case .success(.head(let head)): return .success(head)
            case .success(.redirection(let next)): uri = next
            case .failure(let failure): return .failure(failure)
            }
        }
        return .failure(.redirections)
    }

    private enum TransferResult {
        case head(Head)
        case redirection(String)
    }

    private static func receive(
        _ uri: String, _ exchange: Exchange, _ activity: Activity
    ) async -> Result<TransferResult, Failure> {
        let credentials = Credentials(uri)
        guard let address = try? WebAddress(credentials.address) else { return .failure(.redirections) }
        let range = exchange.range
        var request = HTTPClientRequest(url: address.origin + address.path)
        request.headers.add(name: "User-Agent", value: "pcast")
        request.headers.add(name: "Accept", value: "*/*")
        // A range of encoded content could not be decoded.
        request.headers.add(name: "Accept-Encoding", value: range == nil ? ContentCoding.accepted : "identity")
        if let range {
            let end = range.length.map { String(range.offset + $0 - 1) } ?? ""
            request.headers.add(name: "Range", value: "bytes=\(range.offset)-\(end)")
        }
        if address.origin == exchange.origin {
            for (name, value) in exchange.fields { request.headers.replaceOrAdd(name: name, value: value) }
        }
        if let field = credentials.field { request.headers.add(name: "Authorization", value: field) }
        if let field = exchange.cookies?.field(for: address) { request.headers.add(name: "Cookie", value: field) }
        do {
            // The other task of `get` limits the time.
            let response = try await client.execute(request, deadline: .distantFuture)
            activity.note()
            exchange.cookies?.take(response.headers["Set-Cookie"], from: address)
            let status = Int(response.status.code)
            if [301, 302, 303, 307, 308].contains(status), let location = response.headers.first(name: "Location") {
                guard let next = redirection(location, from: uri) else { return .failure(.redirections) }
                return .success(.redirection(next))
            }
            return await body(of: response, from: uri, exchange, activity).map { .head($0) }
        } catch {
            return .failure(
                Task.isCancelled ? .cancelled : .unreachable(reason: ConnectionFailure.reason(of: error)))
        }
    }

    /// Returns the target of a redirection (RFC 9110, section 10.2.2); nil if it is not an HTTP address.
    private static func redirection(_ location: String, from uri: String) -> String? {
        let whole = WebURI.escaped(location)
        if (try? WebAddress(Credentials(whole).address)) != nil { return whole }
        // The location is a relative reference. Foundation resolves it after it was encoded.
        let marker = "http://x/"
        let isRooted = location.hasPrefix("/")
        let encoded = String(WebURI.escaped(marker + location.drop { $0 == "/" }).dropFirst(marker.count))
        let slashes = isRooted ? String(location.prefix { $0 == "/" }) : ""
        guard let base = URL(string: uri), let target = URL(string: slashes + encoded, relativeTo: base) else {
            return nil
        }
        let next = WebURI.escaped(target.absoluteString)
        return (try? WebAddress(Credentials(next).address)) == nil ? nil : next
    }

    private static func body(
        of response: HTTPClientResponse, from uri: String, _ exchange: Exchange, _ activity: Activity
    ) async -> Result<Head, Failure> {
        let (range, limit) = (exchange.range, exchange.limit)
        let codings = response.headers[canonicalForm: "Content-Encoding"].map { $0.lowercased() }
            .filter { $0 != "identity" && !$0.isEmpty }
        var head = Head(
            status: Int(response.status.code), uri: uri,
            length: codings.isEmpty ? response.headers.first(name: "Content-Length").flatMap { Int64($0) } : nil,
            retryAfter: response.headers.first(name: "Retry-After").flatMap { HTTPResult.delay(ofRetryAfter: $0) })
        head.contentType = response.headers.first(name: "Content-Type")?.prefix { $0 != ";" }.lowercased()
            .trimmingCharacters(in: .whitespaces)
        head.date = response.headers.first(name: "Date").flatMap { Timestamp.parse(httpDate: $0) }
        guard (200..<300).contains(head.status) else { return .success(head) }
        let coding = codings.first.flatMap { ContentCoding($0) }
        guard codings.isEmpty || codings.count == 1 && coding != nil else {
            return .failure(
                .undecodable(reason: "the content coding \(codings.joined(separator: ", ")) is not supported"))
        }
        if head.status != 206, let range, range.offset > limit { return .failure(.tooLarge) }
        let intake = ContentForwarder(head, exchange)
        do {
            for try await piece in response.body {
                activity.note()
                let bytes = Array(piece.readableBytesView)
                if let coding {
                    guard await coding.decode(bytes, take: intake.take) else {
                        return .failure(.undecodable(reason: "the body does not have the content coding \(codings[0])"))
                    }
                } else {
                    _ = await intake.take(bytes)
                }
                activity.note()
                if intake.isTooLarge { return .failure(.tooLarge) }
                if intake.isOver { return .success(head) }
            }
        } catch {
            return .failure(
                Task.isCancelled ? .cancelled : .unreachable(reason: ConnectionFailure.reason(of: error)))
        }
        if let requestedLength = range?.length, intake.remaining > 0 {
            return .failure(
                .unreachable(reason: "\(requestedLength - intake.remaining) of \(requestedLength) bytes arrived"))
        }
        return .success(head)
    }

    /// Forwards the requested part of decoded content. If the server ignored the range, the content before and after it is
    /// skipped. It must be used by one task.
    private final class ContentForwarder: @unchecked Sendable {  // used by one task
        private let head: Head
        private let exchange: Exchange
        private var skipped: Int64
        private(set) var remaining: Int64
        private var received: Int64 = 0
        private(set) var isTooLarge = false
        private(set) var isOver = false

        init(_ head: Head, _ exchange: Exchange) {
            (self.head, self.exchange) = (head, exchange)
            skipped = head.status == 206 ? 0 : exchange.range?.offset ?? 0
            remaining = exchange.range?.length ?? .max
        }

        func take(_ piece: [UInt8]) async -> Bool {
            received += Int64(piece.count)
            guard received <= exchange.limit + (head.status == 206 ? 0 : exchange.range?.offset ?? 0) else {
                isTooLarge = true
                return false
            }
            let early = min(skipped, Int64(piece.count))
            skipped -= early
            let bytes = Array(piece.dropFirst(Int(early)).prefix(Int(min(remaining, Int64(piece.count)))))
            remaining -= Int64(bytes.count)
            if !bytes.isEmpty { isOver = !(await exchange.take(head, bytes)) }
            if remaining == 0 { isOver = true }
            return !isOver
        }
    }

    /// The user name and password of a URI, which are sent in the `Authorization` field (RFC 7617).
    private struct Credentials {
        /// The URI without them.
        let address: String
        /// The value of `Authorization`; nil without a user name.
        let field: String?

        init(_ uri: String) {
            guard let begin = uri.firstRange(of: "://")?.upperBound else {
                (address, field) = (uri, nil)
                return
            }
            let end = uri[begin...].firstIndex { "/?#".contains($0) } ?? uri.endIndex
            guard let sign = uri[begin..<end].lastIndex(of: "@") else {
                (address, field) = (uri, nil)
                return
            }
            address = String(uri[..<begin] + uri[uri.index(after: sign)...])
            let user = uri[begin..<sign]
            let plain = user.removingPercentEncoding ?? String(user)
            field = "Basic " + Data((plain.contains(":") ? plain : plain + ":").utf8).base64EncodedString()
        }
    }

    /// The time of the last received data.
    private final class Activity: Sendable {
        private let last = Mutex(ContinuousClock.now)

        func note() { last.withLock { $0 = .now } }

        /// Waits until no data has arrived for a duration, and returns true. Returns false if the task is cancelled.
        func silence(for timeout: Duration) async -> Bool {
            while true {
                let end = last.withLock { $0 } + timeout
                if end <= .now { return true }
                guard (try? await Task.sleep(until: end)) != nil else { return false }
            }
        }
    }
}
