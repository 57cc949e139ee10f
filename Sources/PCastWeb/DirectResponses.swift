import Glibc
package import HTTPTypes
package import NIOCore
import Synchronization

/// A GET or HEAD request without content: what a ``DirectResponder`` needs to know of it.
package struct DirectRequest: Sendable {
    /// The path and the query as received.
    package var target: String
    /// Whether the response has no content.
    package var isHead = false
    /// The value of `Range`; nil if there is none.
    package var range: String?
    /// The values of `Accept-Encoding`, separated by commas; nil if there is none.
    package var acceptEncoding: String?

    /// Creates a request.
    package init(target: String, isHead: Bool = false, range: String? = nil, acceptEncoding: String? = nil) {
        self.target = target
        self.isHead = isHead
        self.range = range
        self.acceptEncoding = acceptEncoding
    }
}

/// The status and the header fields of responses, which are rendered once for HTTP/1.1.
package final class DirectResponseHead: Sendable {
    /// The status.
    package let status: HTTPResponse.Status
    /// The fields without `Content-Length`, `Content-Range` and `Date`, which a response adds.
    package let fields: HTTPFields
    /// The status line and the fields of HTTP/1.1.
    fileprivate let bytes: [UInt8]

    /// Creates a head.
    package init(_ status: HTTPResponse.Status, _ fields: HTTPFields) {
        self.status = status
        self.fields = fields
        var text = "HTTP/1.1 \(status.code) \(status.reasonPhrase)\r\n"
        for field in fields { text += "\(field.name.rawName): \(field.value)\r\n" }
        bytes = Array(text.utf8)
    }
}

/// A part of a file that is sent, as `Content-Range` has it (RFC 9110, section 14.4).
package struct ContentRange: Hashable, Sendable {
    /// The bytes, of which there is at least one.
    package let bytes: Range<Int>
    /// The size of the file.
    package let size: Int

    /// Creates a range.
    package init(_ bytes: Range<Int>, of size: Int) { (self.bytes, self.size) = (bytes, size) }

    /// The value of `Content-Range`.
    package var text: String { "bytes \(bytes.lowerBound)-\(bytes.upperBound - 1)/\(size)" }
}

/// A response that may be sent without the routes. Its content is shared, not copied.
package struct DirectResponse: Sendable {
    /// The status and the header fields.
    package let head: DirectResponseHead
    /// The part of the file that the content is; nil if it is all.
    package let range: ContentRange?
    /// The content, also of the response to a HEAD request, which is not sent.
    package let body: ByteBuffer
    /// The response with its head as HTTP/1.1 sends it; nil if each connection makes it.
    private(set) var complete: ByteBuffer?

    /// The maximum size of content that is rendered with its head.
    private static let renderingLimit = 32 << 10

    /// Creates a response.
    package init(_ head: DirectResponseHead, range: ContentRange? = nil, _ body: ByteBuffer) {
        self.head = head
        self.range = range
        self.body = body
    }

    /// The header fields without `Content-Length` and `Date`.
    package var fields: HTTPFields {
        guard let range else { return head.fields }
        var fields = head.fields
        fields[.contentRange] = range.text
        return fields
    }

    /// Returns the response with the bytes that many connections with HTTP/1.1 can send at the same time, unless its content
    /// is large.
    package func rendered() -> DirectResponse {
        guard body.readableBytes <= Self.renderingLimit else { return self }
        var buffer = ByteBufferAllocator().buffer(capacity: headSize + body.readableBytes)
        writeHead(to: &buffer)
        buffer.writeImmutableBuffer(body)
        var response = self
        response.complete = buffer
        return response
    }

    /// The number of bytes that ``writeHead(to:)`` writes at most.
    var headSize: Int { head.bytes.count + 160 }

    /// Writes the head with HTTP/1.1, and the empty line after it.
    func writeHead(to buffer: inout ByteBuffer) {
        buffer.writeBytes(head.bytes)
        if let range { buffer.writeString("Content-Range: \(range.text)\r\n") }
        buffer.writeStaticString("Content-Length: ")
        buffer.writeString(String(body.readableBytes))
        buffer.writeBytes(HTTPDate.currentLine())
    }
}

/// How a ``DirectResponder`` answers a request.
package enum DirectAnswer: Sendable {
    /// The routes respond.
    case routes
    /// The response is known.
    case response(DirectResponse)
    /// The response is known later.
    case later(any DelayedResponse)
}

/// A response that is known later.
package protocol DelayedResponse: Sendable {
    /// Begins to wait. It is called once. `respond` is called at most once, on the event loop, after this function has
    /// returned.
    func begin(on eventLoop: any EventLoop, _ respond: @escaping @Sendable (DirectResponse) -> Void)

    /// Ends waiting, because the connection is closed.
    func cancel()
}

/// Responds to frequent requests without the routes, which cost several times as much as such a response.
package protocol DirectResponder: Sendable {
    /// Returns whether a path may belong to the responder. Other requests go to the routes without a further check.
    func recognizes(_ target: String) -> Bool

    /// Returns how a request is answered. It is called on the event loop of the connection and must not wait.
    func answer(to request: DirectRequest) -> DirectAnswer
}

/// The format of dates in HTTP (RFC 9110, section 5.6.7).
package enum HTTPDate {
    private static let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]
    /// The end of a line, the field `Date` of a second, and the empty line after it.
    private static let current = Mutex<(seconds: Int, line: [UInt8])>((0, []))

    /// Returns a time such as `Sun, 06 Nov 1994 08:49:37 GMT`.
    package static func text(secondsSinceEpoch: Int) -> String {
        var seconds = time_t(secondsSinceEpoch)
        var fields = tm()
        gmtime_r(&seconds, &fields)
        func two(_ number: Int32) -> String { (number < 10 ? "0" : "") + String(number) }
        let clock = "\(two(fields.tm_hour)):\(two(fields.tm_min)):\(two(fields.tm_sec))"
        return "\(days[Int(fields.tm_wday)]), \(two(fields.tm_mday)) \(months[Int(fields.tm_mon)]) "
            + "\(1_900 + fields.tm_year) \(clock) GMT"
    }

    /// Returns the end of a line, the field `Date` of the current time and an empty line. It is rendered once per second.
    fileprivate static func currentLine() -> [UInt8] {
        let seconds = time(nil)
        return current.withLock { current in
            if current.seconds != seconds {
                current = (seconds, Array("\r\nDate: \(text(secondsSinceEpoch: seconds))\r\n\r\n".utf8))
            }
            return current.line
        }
    }

    /// The current time.
    static var now: String { text(secondsSinceEpoch: time(nil)) }
}
