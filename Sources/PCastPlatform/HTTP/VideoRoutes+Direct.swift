import HTTPTypes
import NIOCore
import PCastCore
import PCastHLS
import PCastIO
import PCastPackaging
import PCastWeb
import Synchronization

/// Responds to requests for media playlists and files whose signature is valid, without the routes. Requests that wait
/// occupy no task. The routes respond if requests are logged, and if a file must be read from the disk.
extension VideoRoutes: DirectResponder {
    func recognizes(_ target: String) -> Bool { target.hasPrefix(Self.folder + "/") }

    func answer(to request: DirectRequest) -> DirectAnswer {
        guard logger.logLevel > .debug, let path = SignedPath(request.target) else { return .routes }
        guard let packaged = packaging.stream(StreamID(path.stream)) else { return answer(toOther: path, request) }
        guard packaged.check(path.signature, at: MonotonicClock.wallTime()) == .valid else { return .routes }
        let acceptsGzip = request.acceptEncoding?.acceptsGzip ?? false
        var resource = SignedResource(packaged: packaged, range: request.range, acceptsGzip: acceptsGzip)
        if let file = path.file {
            guard !packaged.isStored(file, of: path.name) else { return .routes }
            resource.kind = .file(file, of: path.name)
        } else {
            guard path.name.hasSuffix(Self.playlistSuffix), path.name != Self.index else { return .routes }
            do throws(APIError) {
                resource.kind = .playlist(
                    String(path.name.dropLast(Self.playlistSuffix.count)), try Self.directives(path.query))
            } catch {
                return .response(Self.refusal(error))
            }
        }
        let now = MonotonicClock.now()
        switch Self.reply(resource, at: now) {
        case .response(let response): return .response(response)
        case .wait(let wait):
            var reservation: QuotaReservation?
            if case .playlist(let rendition, _) = resource.kind { reservation = reserve(rendition, of: packaged) }
            return .later(DelayedVideoResponse(resource, wait, until: now + wait.timeout, reservation))
        }
    }

    /// Returns the response with a resource, or what it waits for.
    fileprivate static func reply(_ resource: SignedResource, at now: Instant) -> SignedResource.Reply {
        let packaged = resource.packaged
        do throws(APIError) {
            switch resource.kind {
            case .playlist(let rendition, let directives):
                switch packaged.mediaPlaylistNow(rendition, directives, at: now) {
                case .wait(let wait): return .wait(wait)
                case .answer(let answer):
                    return .response(
                        response(try content(answer), .media(directives), acceptsGzip: resource.acceptsGzip))
                }
            case .file(let file, let rendition):
                switch packaged.fileNow(file, of: rendition, at: now) {
                case .wait(let wait): return .wait(wait)
                case .answer(let answer):
                    return .response(
                        response(
                            try content(answer), VideoHeads.file(file, of: rendition), range: resource.range))
                }
            }
        } catch {
            return .response(refusal(error))
        }
    }

    /// Returns the response for an error.
    static func refusal(_ error: APIError) -> DirectResponse {
        var fields = error.httpHeaders
        fields[.contentType] = "text/plain; charset=utf-8"
        fields[.cacheControl] = "no-store"
        return DirectResponse(
            DirectResponseHead(error.httpStatus, VideoHeads.permitted(fields)), ByteBuffer(string: error.message))
    }
}

/// A playlist or file of a stream whose signature was valid.
private struct SignedResource: Sendable {
    enum Kind: Sendable {
        case playlist(String, DeliveryDirectives)
        case file(String, of: String)
    }

    enum Reply {
        case response(DirectResponse)
        case wait(PackagedStream.Wait)
    }

    let packaged: PackagedStream
    var kind = Kind.file("", of: "")
    let range: String?
    let acceptsGzip: Bool

    /// The properties on which the response depends, if it is the same for all viewers; nil for a file, of which a range may
    /// be requested.
    var sharedKey: SharedResponses.Key? {
        guard case .playlist(let rendition, let directives) = kind else { return nil }
        return SharedResponses.Key(rendition: rendition, directives: directives, acceptsGzip: acceptsGzip)
    }
}

/// The response to a request that waits for a part, without a task.
private final class DelayedVideoResponse: DelayedResponse {
    private struct State {
        /// The wait and its number; nil before it has begun, and after it.
        var pending: (wait: PackagedStream.Wait, number: Int)?
        var isCancelled = false
    }

    private let resource: SignedResource
    private let first: PackagedStream.Wait
    private let deadline: Instant
    /// The place of the viewer, until the response is known.
    private let reservation: QuotaReservation?
    private let state = Mutex(State())

    init(
        _ resource: SignedResource, _ wait: PackagedStream.Wait, until deadline: Instant,
        _ reservation: QuotaReservation?
    ) {
        self.resource = resource
        first = wait
        self.deadline = deadline
        self.reservation = reservation
    }

    func begin(on eventLoop: any NIOCore.EventLoop, _ respond: @escaping @Sendable (DirectResponse) -> Void) {
        wait(first, eventLoop, respond)
    }

    func cancel() {
        let pending = state.withLock { state in
            state.isCancelled = true
            return state.pending
        }
        if let pending { resource.packaged.cancel(pending.number, pending.wait) }
    }

    private func wait(
        _ wait: PackagedStream.Wait, _ eventLoop: any NIOCore.EventLoop,
        _ respond: @escaping @Sendable (DirectResponse) -> Void
    ) {
        // The responses to many viewers are made by all event loops, not by the task that packages.
        let request = WaitingRequest(sharingOn: eventLoop) { self.resume($0, $1, eventLoop, respond) }
        let number = resource.packaged.notify(request, after: wait, until: deadline)
        state.withLock { $0.pending = (wait, number) }
    }

    /// Responds, or waits again if the change was another one.
    private func resume(
        _ isThere: Bool, _ shared: SharedResponses, _ eventLoop: any NIOCore.EventLoop,
        _ respond: @escaping @Sendable (DirectResponse) -> Void
    ) {
        guard !state.withLock({ $0.isCancelled }) else { return }
        guard isThere else { return respond(VideoRoutes.refusal(.playlistNotReady)) }
        let key = resource.sharedKey
        if let key, let response = shared[key] { return respond(response) }
        switch VideoRoutes.reply(resource, at: MonotonicClock.now()) {
        case .response(let response): respond(key.map { shared.add(response, for: $0) } ?? response)
        case .wait(let wait): self.wait(wait, eventLoop, respond)
        }
    }
}

/// A path below a signature: `/video/STREAM/SIGNATURE/NAME` or `/video/STREAM/SIGNATURE/NAME/FILE`.
package struct SignedPath {
    /// The stream.
    package let stream: String
    /// The signature of the path.
    package let signature: String
    /// The playlist, or the rendition of a file.
    package let name: String
    /// The file of a rendition; nil for a playlist.
    package let file: String?
    /// The text after the question mark.
    package let query: String

    /// Parses the path and query of a request; nil if the routes must decode or refuse it.
    package init?(_ target: String) {
        let bytes = target.utf8.span
        // The offsets of the slashes and of the end of the path.
        var ends: [Int] = []
        ends.reserveCapacity(6)
        var end = bytes.count
        scan: for offset in bytes.indices {
            switch bytes[offset] {
            case UInt8(ascii: "/"):
                guard ends.count < 5 else { return nil }
                ends.append(offset)
            case UInt8(ascii: "%"): return nil
            case UInt8(ascii: "?"):
                end = offset
                break scan
            default: break
            }
        }
        ends.append(end)
        guard ends.count >= 5, zip(ends, ends.dropFirst()).allSatisfy({ $0 + 1 < $1 }) else { return nil }
        func text(_ range: Range<Int>) -> String {
            let utf8 = target.utf8
            let start = utf8.index(utf8.startIndex, offsetBy: range.lowerBound)
            return String(target[start..<utf8.index(start, offsetBy: range.count)])
        }
        stream = text(ends[1] + 1..<ends[2])
        signature = text(ends[2] + 1..<ends[3])
        name = text(ends[3] + 1..<ends[4])
        file = ends.count == 6 ? text(ends[4] + 1..<ends[5]) : nil
        query = end == bytes.count ? "" : text(end + 1..<bytes.count)
    }
}

/// The heads of responses, of which there are few. Any page may read the responses.
enum VideoHeads {
    /// The heads of the responses with a file, and with a part of it.
    struct File: Sendable {
        let whole: DirectResponseHead
        let part: DirectResponseHead

        init(_ fields: HTTPFields) {
            let fields = VideoHeads.permitted(fields)
            whole = DirectResponseHead(.ok, fields)
            part = DirectResponseHead(.partialContent, fields)
        }
    }

    /// The heads of the responses with a playlist, and with one that is coded with gzip.
    struct Playlist: Sendable {
        let plain: DirectResponseHead
        let coded: DirectResponseHead

        private static let current = Playlist(caching: "no-cache")
        private static let lasting = Playlist(caching: "public, max-age=1")

        init(caching: String) {
            var fields = VideoHeads.fields(VideoRoutes.playlistType, caching: caching)
            fields[.vary] = "Accept-Encoding"
            fields = VideoHeads.permitted(fields)
            plain = DirectResponseHead(.ok, fields)
            fields[.contentEncoding] = "gzip"
            coded = DirectResponseHead(.ok, fields)
        }

        /// Returns the heads of a media playlist. The response to a request that names a segment or part contains it
        /// whenever it was sent.
        static func media(_ directives: DeliveryDirectives) -> Playlist {
            directives.segment == nil ? current : lasting
        }
    }

    private static let key = File(fields("application/octet-stream", caching: "no-store"))
    private static let video = media("video/mp4")
    private static let audio = media("audio/mp4")
    private static let captions = media("text/vtt; charset=utf-8")

    /// Returns the heads of a file of a rendition. Files do not change, because each has its own name. Keys are not cached,
    /// so that nobody receives one after the access was revoked.
    static func file(_ file: String, of rendition: String) -> File {
        if file.hasSuffix(PackagedFile.keySuffix) { return key }
        if rendition.hasPrefix(PackagedStream.videoPrefix) { return video }
        return rendition == StreamPackager.captionsName ? captions : audio
    }

    private static func media(_ type: String) -> File {
        var fields = fields(type, caching: "public, max-age=31536000, immutable")
        fields[.acceptRanges] = "bytes"
        return File(fields)
    }

    fileprivate static func fields(_ type: String, caching: String) -> HTTPFields {
        [.contentType: type, .cacheControl: caching, .xContentTypeOptions: "nosniff"]
    }

    /// Returns header fields that permit any page to read the response.
    static func permitted(_ fields: HTTPFields) -> HTTPFields {
        var fields = fields
        CrossOriginMiddleware.permit(&fields)
        return fields
    }
}
