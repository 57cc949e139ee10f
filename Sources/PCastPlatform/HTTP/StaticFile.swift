import HTTPTypes
import Hummingbird
import NIOCore
import PCastWeb
import Synchronization

/// A file of the program, as it is sent to browsers: plain or with gzip, each with an entity tag, by which browsers ask
/// whether their copy is current (RFC 9110, section 13.1.2).
final class StaticFile: Sendable {
    private let plain: ByteBuffer
    private let type: String
    private let tag: String
    /// The coded file; nil until it is requested.
    private let coded = Mutex<ByteBuffer??>(nil)

    /// The size of the first piece of a large file in bytes. A client decrypts whole records of TLS only, and a new
    /// connection sends about 14 kB in its first flight (RFC 6928). The first record of a page arrives in that flight.
    private static let firstPiece = 10 << 10

    init(_ bytes: [UInt8], type: String) {
        plain = ByteBuffer(bytes: bytes)
        self.type = type
        let digits = Array("0123456789abcdef")
        let digest = FileDigest.sha256(bytes).prefix(12)
        tag = String(digest.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 0xF)]] })
    }

    /// Returns the response to a request, which is 304 without content if the client has the file.
    func response(to request: Request) -> Response {
        // A response to HEAD describes the plain file, because clients that decode contents expect one after this coding.
        let gzip = request.method != .head && request.headers.acceptsGzip ? self.gzip : nil
        let tag = gzip == nil ? "\"\(tag)\"" : "\"\(tag)-gzip\""
        // A browser may keep the file, and asks before each use whether it is current.
        var headers: HTTPFields = [
            .cacheControl: "no-cache", .eTag: tag, .vary: "Accept-Encoding", .xContentTypeOptions: "nosniff",
        ]
        guard !Self.names(tag, request.headers[values: .ifNoneMatch]) else {
            var response = Response(status: .notModified, headers: headers)
            // The length would be that of the file (RFC 9110, section 8.6).
            response.headers[.contentLength] = nil
            return response
        }
        headers[.contentType] = type
        if gzip != nil { headers[.contentEncoding] = "gzip" }
        return Response(status: .ok, headers: headers, body: Self.body(gzip ?? plain))
    }

    /// The file with gzip, which is coded for the first request; nil if it cannot be coded.
    private var gzip: ByteBuffer? {
        coded.withLock { coded in
            if let coded { return coded }
            let bytes = GzipEncoder.encode(Array(plain.readableBytesView), level: GzipEncoder.smallest)
            let result = bytes.map { ByteBuffer(bytes: $0) }
            coded = .some(result)
            return result
        }
    }

    /// Whether the values of `If-None-Match` name a tag, or any. The comparison is weak.
    private static func names(_ tag: String, _ values: [String]) -> Bool {
        values.lazy.flatMap { $0.split(separator: ",") }.contains { item in
            let item = String(item).trimmingSpaces
            return item == tag || item == "W/\(tag)" || item == "*"
        }
    }

    private static func body(_ buffer: ByteBuffer) -> ResponseBody {
        guard buffer.readableBytes > 2 * firstPiece else { return ResponseBody(byteBuffer: buffer) }
        return ResponseBody(contentLength: buffer.readableBytes) { writer in
            var rest = buffer
            while rest.readableBytes > 0 {
                let size = rest.readerIndex == buffer.readerIndex ? firstPiece : ResponseBody.pieceSize
                guard let piece = rest.readSlice(length: min(rest.readableBytes, size)) else { break }
                try await writer.write(piece)
            }
            try await writer.finish(nil)
        }
    }
}
