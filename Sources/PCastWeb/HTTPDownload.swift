import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import NIOSSL
import Synchronization

/// A large answer of a web server, as it comes.
public struct HTTPDownload: Sendable {
    /// What an answer begins with.
    public struct Head: Hashable, Sendable {
        /// The status code (RFC 9110, section 15).
        public var status: Int
        /// Where the answer came from, after redirections.
        public var uri: String
        /// In bytes, as the server says; nil when it does not.
        public var length: Int64?
        /// `Retry-After`, where it is a number of seconds (RFC 9110, section 10.2.3).
        public var retryAfter: Int?
    }

    /// Why nothing came, or not all.
    public enum Failure: Error, Hashable, Sendable {
        case invalidURI
        /// Nobody answers, or the connection broke.
        case unreachable(reason: String)
        /// Nothing came for the time that is borne.
        case timeout
        /// Redirections without an end, or to what is no web address.
        case redirections
        /// More came than may.
        case tooLarge
        case cancelled
    }

    /// Redirections that are followed.
    private static let redirections = 8

    private static let client: HTTPClient = {
        var configuration = HTTPClient.Configuration(
            redirectConfiguration: .follow(max: redirections, allowCycles: false))
        configuration.connectionPool.retryConnectionEstablishment = false
        configuration.timeout.connect = .seconds(5)
        configuration.tlsConfiguration = TLSConfiguration.client
        return HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }()

    /// Asks for a resource, or for a part of it.
    ///
    /// - Parameters:
    ///   - range: bytes from an offset on, so many or all (RFC 9110, section 14.1.2). From a server that heeds no ranges it
    ///     is taken out of the whole, if no more than `limit` lies before it.
    ///   - limit: of the body, in bytes.
    ///   - patience: for how long nothing may come.
    ///   - take: is given the head with each piece of a body whose status is one of success; others are not read.
    /// - Returns: what it began with.
    public static func get(
        _ uri: String, range: (offset: Int64, length: Int64?)? = nil, limit: Int64, patience: Duration,
        take: @escaping @Sendable (Head, [UInt8]) async -> Void
    ) async throws(Failure) -> Head {
        guard let address = try? WebAddress(uri) else { throw .invalidURI }
        var request = HTTPClientRequest(url: address.origin + address.path)
        request.headers.add(name: "User-Agent", value: "pcast")
        if let range {
            let end = range.length.map { String(range.offset + $0 - 1) } ?? ""
            request.headers.add(name: "Range", value: "bytes=\(range.offset)-\(end)")
        }
        let activity = Activity()
        let (asked, original) = (request, uri)
        let result = await withTaskGroup(of: Result<Head, Failure>?.self) { group in
            group.addTask { await receive(asked, original, range, limit, activity, take) }
            group.addTask { await activity.silence(for: patience) ? .failure(.timeout) : nil }
            var result: Result<Head, Failure>?
            while result == nil, let next = await group.next() { result = next }
            group.cancelAll()
            return result ?? .failure(.cancelled)
        }
        if Task.isCancelled, case .failure = result { throw .cancelled }
        return try result.get()
    }

    private static func receive(
        _ request: HTTPClientRequest, _ uri: String, _ range: (offset: Int64, length: Int64?)?,
        _ limit: Int64,
        _ activity: Activity, _ take: @Sendable (Head, [UInt8]) async -> Void
    ) async -> Result<Head, Failure> {
        do {
            // How long is borne says the other task.
            let response = try await client.execute(request, deadline: .distantFuture)
            activity.note()
            let length = response.headers.first(name: "Content-Length").flatMap(Int64.init)
            let head = Head(
                status: Int(response.status.code), uri: response.url?.absoluteString ?? uri, length: length,
                retryAfter: response.headers.first(name: "Retry-After").flatMap(Int.init))
            guard (200..<300).contains(head.status) else { return .success(head) }
            if head.status != 206, let range, range.offset > limit { return .failure(.tooLarge) }
            // Of a whole that was not asked for, what lies before the range and behind it is passed over.
            var skipped = head.status == 206 ? 0 : range?.offset ?? 0
            var wanted = range?.length ?? .max
            var received: Int64 = 0
            for try await piece in response.body {
                activity.note()
                received += Int64(piece.readableBytes)
                guard received <= limit + (head.status == 206 ? 0 : range?.offset ?? 0) else {
                    return .failure(.tooLarge)
                }
                let view = piece.readableBytesView
                let early = min(skipped, Int64(view.count))
                skipped -= early
                let bytes = Array(view.dropFirst(Int(early)).prefix(Int(min(wanted, Int64(view.count)))))
                wanted -= Int64(bytes.count)
                if !bytes.isEmpty { await take(head, bytes) }
                activity.note()
                if wanted == 0 { break }
            }
            if let wantedLength = range?.length, wanted > 0 {
                return .failure(
                    .unreachable(reason: "\(wantedLength - wanted) of \(wantedLength) bytes came"))
            }
            return .success(head)
        } catch let error as HTTPClientError
            where error == .redirectLimitReached || error == .redirectCycleDetected
        {
            return .failure(.redirections)
        } catch {
            return .failure(
                Task.isCancelled ? .cancelled : .unreachable(reason: ConnectionFailure.reason(of: error)))
        }
    }

    /// When something came last.
    private final class Activity: Sendable {
        private let last = Mutex(ContinuousClock.now)

        func note() { last.withLock { $0 = .now } }

        /// Waits until nothing has come for so long; false when that does not matter any more.
        func silence(for patience: Duration) async -> Bool {
            while true {
                let end = last.withLock { $0 } + patience
                if end <= .now { return true }
                guard (try? await Task.sleep(until: end)) != nil else { return false }
            }
        }
    }
}
