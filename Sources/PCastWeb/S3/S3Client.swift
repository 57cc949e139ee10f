import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import NIOSSL
package import PCastCore

/// An object in a bucket.
package struct S3Object: Sendable, Hashable {
    /// The name of the bucket.
    package let bucket: String
    /// The name of the object in the bucket, which may contain slashes.
    package let key: String

    /// Creates a name.
    package init(bucket: String, key: String) {
        self.bucket = bucket
        self.key = key
    }
}

/// An error of an S3-compatible object store.
package enum S3Error: Error, Hashable, Sendable {
    /// The server does not respond, or the connection broke.
    case unreachable(reason: String)
    /// The server rejected the request, with its error code such as `NoSuchKey`; empty if it sent none.
    case rejected(status: Int, code: String, message: String)
    /// The response is not one of an object store.
    case invalidResponse(reason: String)

    /// Whether the object, or the multipart upload, does not exist.
    package var isMissing: Bool {
        if case .rejected(404, let code, _) = self { code != "NoSuchBucket" } else { false }
    }
}

extension S3Error: CustomStringConvertible {
    /// The error in English.
    package var description: String {
        switch self {
        case .unreachable(let reason): "the object store does not respond (\(reason))"
        case .rejected(let status, let code, let message):
            "the object store rejected the request: \(status) \([code, message].filter { !$0.isEmpty }.joined(separator: ", "))"
        case .invalidResponse(let reason): "the response is not one of an object store: \(reason)"
        }
    }
}

/// A client of an S3-compatible object store, with path-style addresses: `ENDPOINT/BUCKET/KEY`.
package struct S3Client: Sendable {
    private let endpoint: WebAddress
    private let region: String
    private let credentials: @Sendable () -> S3Credentials
    private let clock: @Sendable () -> WallTime

    /// The timeout of a request with little content.
    private static let timeout = TimeAmount.seconds(30)
    /// The timeout of a request with the content of a file or a part.
    private static let contentTimeout = TimeAmount.minutes(5)
    /// The maximum size of responses that are not objects.
    private static let maximumTextSize = 64 << 10

    private static let client: HTTPClient = {
        // A redirection would need another signature.
        var configuration = HTTPClient.Configuration(redirectConfiguration: .disallow)
        configuration.connectionPool.retryConnectionEstablishment = false
        configuration.timeout.connect = .seconds(5)
        configuration.tlsConfiguration = TLSConfiguration.client
        return HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }()

    /// Creates a client.
    ///
    /// - Parameters:
    ///   - endpoint: The address of the object store.
    ///   - region: The region in signatures.
    ///   - credentials: Returns the credentials for a request.
    ///   - clock: Returns the time in signatures.
    package init(
        endpoint: WebAddress, region: String, credentials: @escaping @Sendable () -> S3Credentials,
        clock: @escaping @Sendable () -> WallTime
    ) {
        self.endpoint = endpoint
        self.region = region
        self.credentials = credentials
        self.clock = clock
    }

    // MARK: Objects

    /// The size and the entity tag of an object.
    package struct Description: Hashable, Sendable {
        /// The size in bytes.
        package let size: Int64
        /// The entity tag, as the server sends it.
        package let entityTag: String
    }

    /// Creates or replaces an object. Returns its entity tag. The server verifies the SHA-256 of the content.
    ///
    /// - Throws: ``S3Error``.
    package func put(_ object: S3Object, _ content: [UInt8]) async throws(S3Error) -> String {
        let answer = try await send(
            "PUT", object, fields: [("Content-Type", "video/mp4")], content: content, timeout: Self.contentTimeout)
        return try answer.tag()
    }

    /// Returns the size and the entity tag of an object.
    ///
    /// - Throws: ``S3Error``.
    package func describe(_ object: S3Object) async throws(S3Error) -> Description {
        let answer = try await send("HEAD", object)
        guard let size = answer.size else { throw .invalidResponse(reason: "it has no Content-Length") }
        return Description(size: size, entityTag: try answer.tag())
    }

    /// Returns bytes of an object, all that were requested.
    ///
    /// - Throws: ``S3Error``.
    package func get(_ object: S3Object, _ range: Range<Int64>) async throws(S3Error) -> [UInt8] {
        guard !range.isEmpty else { return [] }
        let answer = try await send(
            "GET", object, fields: [("Range", "bytes=\(range.lowerBound)-\(range.upperBound - 1)")],
            maximumSize: range.count)
        guard answer.status == 206, answer.content.count == range.count else {
            throw .invalidResponse(reason: "\(answer.content.count) of \(range.count) bytes, with \(answer.status)")
        }
        return answer.content
    }

    /// Deletes an object. It is no error if there is none.
    ///
    /// - Throws: ``S3Error``.
    package func delete(_ object: S3Object) async throws(S3Error) {
        do throws(S3Error) {
            _ = try await send("DELETE", object)
        } catch  where error.isMissing {}
    }

    // MARK: Multipart uploads

    /// Begins a multipart upload. Returns its ID.
    ///
    /// - Throws: ``S3Error``.
    package func beginUpload(_ object: S3Object) async throws(S3Error) -> String {
        let answer = try await send(
            "POST", object, query: [("uploads", "")], fields: [("Content-Type", "video/mp4")])
        guard let id = answer.text(of: "UploadId"), !id.isEmpty else {
            throw .invalidResponse(reason: "it has no UploadId")
        }
        return id
    }

    /// Uploads a part, from number 1. All except the last one have at least 5 MiB. Returns its entity tag.
    ///
    /// - Throws: ``S3Error``.
    package func uploadPart(
        _ number: Int, of upload: String, _ object: S3Object, _ content: [UInt8]
    ) async throws(S3Error) -> String {
        try await send(
            "PUT", object, query: [("partNumber", "\(number)"), ("uploadId", upload)], content: content,
            timeout: Self.contentTimeout
        ).tag()
    }

    /// Creates the object of the parts of a multipart upload. Returns its entity tag.
    ///
    /// - Throws: ``S3Error``.
    package func completeUpload(
        _ upload: String, _ object: S3Object, entityTags: [String]
    ) async throws(S3Error) -> String {
        let parts = entityTags.enumerated().map { index, tag in
            "<Part><PartNumber>\(index + 1)</PartNumber><ETag>\(S3Text.escaped(tag))</ETag></Part>"
        }
        let list = "<CompleteMultipartUpload>\(parts.joined())</CompleteMultipartUpload>"
        let answer = try await send(
            "POST", object, query: [("uploadId", upload)], fields: [("Content-Type", "application/xml")],
            content: Array(list.utf8), timeout: Self.contentTimeout)
        // An error may follow after the server has begun to answer with 200.
        guard let tag = answer.text(of: "ETag") else { throw answer.rejection }
        return tag
    }

    /// Discards a multipart upload with its parts. It is no error if there is none.
    ///
    /// - Throws: ``S3Error``.
    package func abortUpload(_ upload: String, _ object: S3Object) async throws(S3Error) {
        do throws(S3Error) {
            _ = try await send("DELETE", object, query: [("uploadId", upload)])
        } catch  where error.isMissing {}
    }

    // MARK: Requests

    private struct Answer {
        let status: Int
        let size: Int64?
        let entityTag: String?
        let content: [UInt8]

        func tag() throws(S3Error) -> String {
            guard let entityTag, !entityTag.isEmpty else { throw .invalidResponse(reason: "it has no ETag") }
            return entityTag
        }

        func text(of element: String) -> String? { S3Text.content(of: element, in: content) }

        var rejection: S3Error {
            .rejected(status: status, code: text(of: "Code") ?? "", message: text(of: "Message") ?? "")
        }
    }

    private func send(
        _ method: String, _ object: S3Object, query: [(name: String, value: String)] = [],
        fields: [(name: String, value: String)] = [], content: [UInt8] = [], maximumSize: Int = 0,
        timeout: TimeAmount = Self.timeout
    ) async throws(S3Error) -> Answer {
        let base = endpoint.path.hasSuffix("/") ? String(endpoint.path.dropLast()) : endpoint.path
        let path = base + "/" + S3Signature.encoded("\(object.bucket)/\(object.key)", isPath: true)
        let isUsualPort = endpoint.port == (endpoint.isSecure ? 443 : 80)
        let host = endpoint.host.contains(":") ? "[\(endpoint.host)]" : endpoint.host
        let signed = S3Signature(credentials: credentials(), region: region).fields(
            of: S3Signature.Request(
                method: method, path: path, query: query, host: isUsualPort ? host : "\(host):\(endpoint.port)",
                fields: fields, contentHash: S3Signature.hash(content)),
            at: clock())
        let queryText = query.isEmpty ? "" : "?" + S3Signature.queryText(query)
        var request = HTTPClientRequest(url: endpoint.origin + path + queryText)
        request.method = HTTPMethod(rawValue: method)
        for (name, value) in signed { request.headers.add(name: name, value: value) }
        request.headers.add(name: "User-Agent", value: "pcast")
        if method == "PUT" || method == "POST" { request.body = .bytes(ByteBuffer(bytes: content)) }
        let answer: Answer
        do {
            let response = try await Self.client.execute(request, timeout: timeout)
            let limit = max(response.status.code < 300 ? maximumSize : 0, Self.maximumTextSize)
            let body = try await response.body.collect(upTo: limit)
            answer = Answer(
                status: Int(response.status.code),
                size: response.headers.first(name: "Content-Length").flatMap { Int64($0) },
                entityTag: response.headers.first(name: "ETag"), content: Array(body.readableBytesView))
        } catch {
            throw .unreachable(reason: ConnectionFailure.reason(of: error))
        }
        guard (200..<300).contains(answer.status) else { throw answer.rejection }
        return answer
    }
}

/// The texts of an object store, which are XML. Bytes are compared, because a combining character would be part of the
/// character before it.
package enum S3Text {
    /// The maximum length of a text that is used, in bytes.
    package static let maximumLength = 4_096
    private static let entities: [(entity: String, character: String)] = [
        ("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#34;", "\""), ("&apos;", "'"), ("&#39;", "'"),
        // The last one, because its result may look like another entity.
        ("&amp;", "&"),
    ]

    /// Returns the content of the first element of a name, which has neither attributes nor elements in it; nil if there is
    /// none.
    package static func content(of element: String, in bytes: [UInt8]) -> String? {
        guard let start = bytes.firstRange(of: Array("<\(element)>".utf8))?.upperBound,
            let end = bytes[start...].firstRange(of: Array("</\(element)>".utf8))?.lowerBound
        else { return nil }
        let content = bytes[start..<end]
        guard content.count <= maximumLength, !content.contains(UInt8(ascii: "<")) else { return nil }
        // Control characters could change the lines of a log.
        var plain = content.filter { $0 >= 0x20 }
        for (entity, character) in entities {
            plain = plain.replacing(Array(entity.utf8), with: Array(character.utf8))
        }
        return String(decoding: plain, as: UTF8.self)
    }

    /// Returns a text as the content of an element.
    package static func escaped(_ text: String) -> String {
        let bytes = text.utf8.flatMap { byte -> [UInt8] in
            switch byte {
            case UInt8(ascii: "&"): Array("&amp;".utf8)
            case UInt8(ascii: "<"): Array("&lt;".utf8)
            case UInt8(ascii: ">"): Array("&gt;".utf8)
            default: [byte]
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
