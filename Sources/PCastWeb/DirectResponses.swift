import Glibc
package import HTTPTypes
package import NIOCore
import NIOHTTPTypes

/// A response that is sent without the routes.
package struct DirectResponse: Sendable {
    /// The status.
    package var status: HTTPResponse.Status
    /// The header fields without `Content-Length` and `Date`, which are added.
    package var headers: HTTPFields
    /// The content.
    package var body: ByteBuffer

    /// Creates a response.
    package init(_ status: HTTPResponse.Status, _ headers: HTTPFields, _ body: ByteBuffer) {
        self.status = status
        self.headers = headers
        self.body = body
    }
}

/// Responds to frequent requests without the routes, which cost about 35 µs for a request.
package protocol DirectResponder: Sendable {
    /// Returns the response to a GET request; nil if the routes must respond. It is called on the event loop of the
    /// connection and must not wait.
    func response(to request: HTTPRequest) -> DirectResponse?
}

/// Sends the responses of a ``DirectResponder`` on the event loop of the connection.
///
/// With HTTP/1.1, responses keep the order of their requests: while the routes have not completed a response, they
/// respond to all further requests. With HTTP/2, each request has its own stream and handler. The routes also respond
/// while the client reads too slowly, because they wait for it.
final class DirectResponseHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    private let responder: any DirectResponder
    /// The number of requests to which the routes have not completed their responses.
    private var pendingCount = 0
    /// The response to the current request, which is sent when the request is complete.
    private var response: DirectResponse?
    /// The value of `Date` and its time in seconds since 1970.
    private var date = (seconds: 0, text: "")

    init(_ responder: any DirectResponder) { self.responder = responder }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let request):
            let isFree = pendingCount == 0 && request.method == .get && context.channel.isWritable
            response = isFree ? responder.response(to: request) : nil
            guard response == nil else { return }
            pendingCount += 1
            context.fireChannelRead(data)
        case .body:
            if response == nil { context.fireChannelRead(data) }
        case .end:
            guard let response else { return context.fireChannelRead(data) }
            self.response = nil
            send(response, context)
        }
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if case .end = unwrapOutboundIn(data) { pendingCount -= 1 }
        context.write(data, promise: promise)
    }

    private func send(_ response: DirectResponse, _ context: ChannelHandlerContext) {
        var headers = response.headers
        headers[.contentLength] = "\(response.body.readableBytes)"
        headers[.date] = currentDate()
        let head = HTTPResponse(status: response.status, headerFields: headers)
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        context.write(wrapOutboundOut(.body(response.body)), promise: nil)
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    }

    /// Returns the value of `Date`, which is formatted once per second.
    private func currentDate() -> String {
        let seconds = time(nil)
        if seconds != date.seconds { date = (seconds, HTTPDate.text(secondsSinceEpoch: seconds)) }
        return date.text
    }
}

/// The format of dates in HTTP (RFC 9110, section 5.6.7).
package enum HTTPDate {
    private static let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

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
}
