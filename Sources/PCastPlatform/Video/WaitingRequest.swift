import NIOCore
import PCastHLS
import PCastWeb
import Synchronization

/// A request that waits, and the function that resumes it.
struct WaitingRequest: Sendable {
    /// The event loop that calls the function; nil if it is called at once.
    private let eventLoop: (any NIOCore.EventLoop)?
    private let function: @Sendable (Bool, SharedResponses) -> Void

    /// Creates a request. The function receives true if the request is answered, and false if its time is over.
    init(_ eventLoop: (any NIOCore.EventLoop)? = nil, _ function: @escaping @Sendable (Bool) -> Void) {
        self.eventLoop = eventLoop
        self.function = { isThere, _ in function(isThere) }
    }

    /// Creates a request of an event loop. The function also receives the responses to the requests that were resumed before
    /// it at the same time.
    init(sharingOn eventLoop: any NIOCore.EventLoop, _ function: @escaping @Sendable (Bool, SharedResponses) -> Void) {
        self.eventLoop = eventLoop
        self.function = function
    }

    /// Resumes requests. Each event loop resumes all of its requests before it reads others: a viewer that was answered
    /// requests the next part at once, and would otherwise delay those that still wait for this one.
    static func resume(_ requests: [WaitingRequest], with result: Bool) {
        var groups: [ObjectIdentifier: (eventLoop: any NIOCore.EventLoop, requests: [WaitingRequest])] = [:]
        for request in requests {
            guard let eventLoop = request.eventLoop else {
                request.function(result, SharedResponses())
                continue
            }
            groups[ObjectIdentifier(eventLoop), default: (eventLoop, [])].requests.append(request)
        }
        for (eventLoop, requests) in groups.values {
            eventLoop.execute {
                let responses = SharedResponses()
                for request in requests { request.function(result, responses) }
            }
        }
    }
}

/// The responses to requests of one stream that an event loop resumes together. Viewers that waited for the same part
/// receive the same bytes, so that these are made once.
final class SharedResponses {
    /// The properties on which a response depends.
    struct Key: Hashable {
        let rendition: String
        let directives: DeliveryDirectives
        let acceptsGzip: Bool
    }

    private var responses: [Key: DirectResponse] = [:]

    /// Returns the response that was made for a key; nil if there is none.
    subscript(key: Key) -> DirectResponse? { responses[key] }

    /// Returns a response with its bytes for HTTP/1.1, and keeps it for a key.
    func add(_ response: DirectResponse, for key: Key) -> DirectResponse {
        let rendered = response.rendered()
        responses[key] = rendered
        return rendered
    }
}

/// A playlist as it is sent, plain and with gzip.
final class RenderedPlaylist: Sendable {
    let plain: ByteBuffer
    /// The coded playlist; nil until it is requested.
    private let coded = Mutex<ByteBuffer??>(nil)

    init(_ text: String) { plain = ByteBuffer(string: text) }

    /// Creates a playlist from its bytes, and from those with gzip; nil if they are not known yet.
    init(_ plain: ByteBuffer, gzip: ByteBuffer? = nil) {
        self.plain = plain
        if let gzip { coded.withLock { $0 = .some(gzip) } }
    }

    /// The playlist with gzip, which is coded for the first request. Nil if it cannot be coded.
    var gzip: ByteBuffer? {
        coded.withLock { coded in
            if let coded { return coded }
            let result = GzipEncoder.encode(Array(plain.readableBytesView)).map { ByteBuffer(bytes: $0) }
            coded = .some(result)
            return result
        }
    }
}
