import HTTPTypes
import Hummingbird
import NIOCore
import NIOHTTPTypes

/// Responds to `Expect: 100-continue` (RFC 9110, section 10.1.1). It sends `100 Continue` when a handler reads the
/// content, otherwise only the final response. Other expectations fail with status 417.
struct ExpectationResponder<Next: HTTPResponder<WebRequestContext>>: HTTPResponder {
    let next: Next

    func respond(to request: Request, context: WebRequestContext) async throws -> Response {
        // Requests of HTTP/1.0 do not contain `Expect` here.
        let expectations = request.headers[values: .expect].flatMap { $0.split(separator: ",") }
            .map { $0.filter { $0 != " " && $0 != "\t" }.lowercased() }.filter { !$0.isEmpty }
        guard !expectations.isEmpty else { return try await next.respond(to: request, context: context) }
        guard expectations.allSatisfy({ $0 == "100-continue" }) else {
            return Response(
                status: .expectationFailed, headers: [.contentType: "text/plain; charset=utf-8"],
                body: ResponseBody(byteBuffer: ByteBuffer(string: "Only “Expect: 100-continue” is supported.")))
        }
        var request = request
        request.body = RequestBody(asyncSequence: ExpectedContent(content: request.body, channel: context.channel))
        return try await next.respond(to: request, context: context)
    }
}

/// The content of a request whose client waits for `100 Continue`.
private struct ExpectedContent: AsyncSequence, Sendable {
    typealias Element = ByteBuffer

    let content: RequestBody
    let channel: any Channel

    struct AsyncIterator: AsyncIteratorProtocol {
        var content: RequestBody.AsyncIterator
        var channel: (any Channel)?

        mutating func next() async throws -> ByteBuffer? {
            if let channel {
                self.channel = nil
                try await channel.writeAndFlush(HTTPResponsePart.head(HTTPResponse(status: .continue)))
            }
            return try await content.next()
        }
    }

    func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(content: content.makeAsyncIterator(), channel: channel)
    }
}
