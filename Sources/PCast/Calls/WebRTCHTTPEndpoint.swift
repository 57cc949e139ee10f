import Foundation
import PCastCore
import PCastIO
import PCastRTP
import PCastWeb
import PCastWebRTC
import Synchronization

/// A WHIP or WHEP endpoint of any server (RFC 9725, draft-ietf-wish-whep).
struct WebRTCHTTPEndpoint: Sendable {
    /// The URI with the scheme `http` or `https`, without user information.
    let uri: String
    /// The URI for people, without secrets.
    let name: String
    /// The value of the field `Authorization`; nil without credentials.
    private let authorization: String?
    /// The HTTP proxy, which checks the host of each request; nil for none.
    var proxy: TransportAddress?
    /// Returns whether media may be exchanged with an address that the server names.
    var permits: @Sendable (IPAddress) -> Bool = { _ in true }

    private static let schemes = "whip, whips, whep, wheps, http or https"
    /// The timeout of a request.
    private static let timeout = Duration.seconds(10)

    /// Parses a URI with the scheme `whip`, `whep`, `http` (HTTP), `whips`, `wheps` or `https` (HTTPS).
    ///
    /// - Parameters:
    ///   - text: The URI. User information is a bearer token, or with a colon, a user name and a password.
    ///   - token: The bearer token in place of user information; nil for none.
    /// - Throws: `PCastError` with the status `badRequest`.
    init(_ text: String, token: String? = nil) throws(PCastError) {
        guard let uri = MediaURI(text) else {
            throw PCastError(.badRequest, .usage, "the URI is not supported: use \(Self.schemes)")
        }
        let isSecure: Bool
        switch uri.scheme {
        case .http, .whip, .whep: isSecure = false
        case .https, .whips, .wheps: isSecure = true
        case .rtsp, .srt, .rtmp, .rtmps, .file:
            throw PCastError(
                .badRequest, .usage, "\(uri.scheme.rawValue) is not WHIP or WHEP: use \(Self.schemes)")
        }
        let host = uri.host.contains(":") ? "[\(uri.host)]" : uri.host
        let path = uri.path.hasPrefix("/") ? uri.path : "/" + uri.path
        self.uri = "\(isSecure ? "https" : "http")://\(host):\(uri.port)\(path)"
        name = "\(uri)"
        let credentials = token ?? uri.userInfo.map { $0.removingPercentEncoding ?? $0 }
        // A control character could end the field.
        guard credentials?.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) ?? true else {
            throw PCastError(.badRequest, .usage, "the token contains characters that are not printable ASCII")
        }
        authorization =
            if let credentials, token == nil, credentials.contains(":") {
                "Basic " + Base64.encode(Array(credentials.utf8))
            } else {
                credentials.map { "Bearer " + $0 }
            }
    }

    /// A session that the server has accepted.
    struct Session: Sendable {
        /// The answer in SDP.
        let answer: String
        /// The URI of the session, which ends it by `DELETE`; nil if the server named none.
        let uri: String?
    }

    /// Sends an offer.
    ///
    /// - Throws: `PCastError` if the server cannot be reached, or refuses.
    func begin(_ offer: String) async throws(PCastError) -> Session {
        let result: HTTPResult
        do {
            result = try await send(
                "POST", uri, [("Content-Type", "application/sdp"), ("Accept", "application/sdp")], Array(offer.utf8))
        } catch {
            throw PCastError(.failed, .connection, "\(error)")
        }
        guard result.status == 201 else { throw Self.refusal(result.status) }
        return Session(
            answer: String(decoding: result.body, as: UTF8.self),
            uri: result.location.flatMap { Self.resolve($0, against: result.redirectedURI ?? uri) })
    }

    /// Ends a session. Returns whether the server has confirmed.
    func end(_ session: Session) async -> Bool {
        guard let uri = session.uri, let result = try? await send("DELETE", uri, [], nil) else { return false }
        return (200...299).contains(result.status)
    }

    private func send(
        _ method: String, _ uri: String, _ fields: [(name: String, value: String)], _ body: [UInt8]?
    ) async throws -> HTTPResult {
        var fields = fields + [("User-Agent", "pcast")]
        // Another server must not receive the credentials of this one.
        if let authorization, Self.origin(of: uri) == Self.origin(of: self.uri) {
            fields.append(("Authorization", authorization))
        }
        guard let proxy else {
            return try await HTTPRequests.send(method, uri, headers: fields, body: body, within: Self.timeout)
        }
        return try await HTTPRequests.send(
            method, uri, headers: fields, body: body, proxyHost: proxy.ip.description, proxyPort: Int(proxy.port),
            within: Self.timeout)
    }

    private static func refusal(_ status: Int) -> PCastError {
        let words = "the server answered the offer with the status \(status)"
        return switch status {
        case 401, 403: PCastError(.unauthorized, .platform, words)
        case 400, 415, 422: PCastError(.badRequest, .platform, words)
        case 404: PCastError(.failed, .platform, "\(words): check the path, and that the stream is published")
        case 406: PCastError(.failed, .platform, "\(words): it sends offers itself, which is not supported")
        case 409, 425: PCastError(.notReady, .platform, words)
        case 429: PCastError(.rateLimited, .platform, words)
        case 503: PCastError(.capacity, .platform, words)
        default: PCastError(.failed, .platform, words)
        }
    }

    /// Returns the absolute form of a URI reference (RFC 3986, section 5.2); nil if it is not one of HTTP.
    static func resolve(_ reference: String, against base: String) -> String? {
        guard let base = URL(string: base), let url = URL(string: reference, relativeTo: base)?.absoluteURL,
            ["http", "https"].contains(url.scheme?.lowercased())
        else { return nil }
        return url.absoluteString
    }

    private static func origin(of uri: String) -> String? {
        guard let address = try? WebAddress(uri) else { return nil }
        return "\(address.isSecure) \(address.host.lowercased()) \(address.port)"
    }
}

/// The streams of WHIP and WHEP, which end with their client.
final class EndpointStreams: Sendable {
    private let lifecycles = Mutex<[ObjectIdentifier: StreamLifecycle]>([:])

    /// Adds a stream until it ends.
    func add(_ lifecycle: StreamLifecycle) {
        let id = ObjectIdentifier(lifecycle)
        lifecycles.withLock { $0[id] = lifecycle }
        lifecycle.whenEnded { [weak self] _ in _ = self?.lifecycles.withLock { $0.removeValue(forKey: id) } }
    }

    /// Ends all streams, and returns when they have ended.
    func end() async {
        let all = lifecycles.withLock { Array($0.values) }
        for lifecycle in all { lifecycle.sessionStopped() }
        for lifecycle in all { await lifecycle.isOver() }
    }
}

extension PCast {
    /// Publishes a stream to a WHIP endpoint of any server (RFC 9725). It needs no session with a platform.
    ///
    /// - Parameters:
    ///   - uri: The endpoint: `whip://…` or `http://…` for HTTP, `whips://…` or `https://…` for HTTPS. User information
    ///     is used as a bearer token.
    ///   - token: The bearer token; nil for that of the URI, or none.
    ///   - mediaStream: The media; see ``publish(streamToken:mediaStream:tags:options:)``.
    ///   - options: The encoding of the stream. If the server rejects the codec of the video, the other one is offered.
    /// - Returns: The publisher. The server receives no captions.
    /// - Throws: ``PCastError`` with the status `unauthorized` if the server rejects the token, and `failed` if it cannot
    ///   be reached or accepts no media.
    public func publish(
        toWHIP uri: String, token: String? = nil, mediaStream: MediaStream, options: PublishOptions = PublishOptions()
    ) async throws(PCastError) -> Publisher {
        try await publish(to: try WebRTCHTTPEndpoint(uri, token: token), mediaStream, options)
    }

    /// Subscribes to a stream at a WHEP endpoint of any server (draft-ietf-wish-whep). It needs no session with a
    /// platform.
    ///
    /// - Parameters:
    ///   - uri: The endpoint: `whep://…` or `http://…` for HTTP, `wheps://…` or `https://…` for HTTPS. User information
    ///     is used as a bearer token.
    ///   - token: The bearer token; nil for that of the URI, or none.
    /// - Returns: The subscribed stream.
    /// - Throws: ``PCastError`` with the status `unauthorized` if the server rejects the token, `notReady` if there is no
    ///   stream yet, and `failed` if it cannot be reached or sends no media.
    public func subscribe(fromWHEP uri: String, token: String? = nil) async throws(PCastError) -> MediaStream {
        try await subscribe(to: try WebRTCHTTPEndpoint(uri, token: token))
    }

    func publish(
        to endpoint: WebRTCHTTPEndpoint, _ mediaStream: MediaStream, _ options: PublishOptions
    ) async throws(PCastError) -> Publisher {
        do throws(PCastError) {
            if let publisher = try await offer(mediaStream, options, to: endpoint, acceptsAudioAlone: false) {
                return publisher
            }
        } catch {
            // The server may reject the whole offer because of the codec.
            guard error.status == .badRequest || error.cause == .media else { throw error }
        }
        var others = options
        others.videoCodec = options.videoCodec == .h264 ? .vp8 : .h264
        guard let publisher = try await offer(mediaStream, others, to: endpoint, acceptsAudioAlone: true) else {
            throw PCastError(.failed, .media, "the server accepts none of the codecs that are published")
        }
        return publisher
    }

    /// Offers a stream with one codec of video. Returns nil if the server does not accept that.
    private func offer(
        _ mediaStream: MediaStream, _ options: PublishOptions, to endpoint: WebRTCHTTPEndpoint, acceptsAudioAlone: Bool
    ) async throws(PCastError) -> Publisher? {
        let media = try Self.publishedMedia(of: mediaStream)
        let publishing = try Publishing(
            media, of: mediaStream, options: options, at: PlatformAddress(option: endpoint.uri, token: ""))
        let (call, lifecycle) = (publishing.call, publishing.lifecycle)
        try await establish(call, lifecycle, by: endpoint)
        let isAccepted =
            media.videoRate == nil ? call.sentTypes.contains(.audio) : call.sentTypes.contains(.video)
        guard isAccepted || acceptsAudioAlone && call.sentTypes.contains(.audio) else {
            lifecycle.end(
                StreamEndedInfo(ender: .stop, reason: .failed, reasonDescription: "the codec is not accepted"))
            // The server may permit one publisher only.
            _ = await lifecycle.ended
            return nil
        }
        endpointStreams.add(lifecycle)
        return Publisher(streamID: StreamID(endpoint.name), publishing: publishing, session: session)
    }

    func subscribe(to endpoint: WebRTCHTTPEndpoint) async throws(PCastError) -> MediaStream {
        let feed = ReceivedMediaFeed()
        let lifecycle = StreamLifecycle(.viewer)
        let call = try MediaCall(
            .view(video: true, audio: true), at: PlatformAddress(option: endpoint.uri, token: ""),
            received: { feed.deliver($0) })
        Task {
            for await event in call.events { lifecycle.follow(event) }
        }
        lifecycle.watch(call)
        try await establish(call, lifecycle, by: endpoint)
        let media = RemoteMedia(streamID: StreamID(endpoint.name), call: call, feed: feed, lifecycle: lifecycle)
        let codecs = await call.receivedCodecs()
        guard !codecs.isEmpty else {
            let words = "the server sends no media in a supported codec"
            lifecycle.end(StreamEndedInfo(ender: .stop, reason: .failed, reasonDescription: words))
            throw PCastError(.failed, .media, words)
        }
        endpointStreams.add(lifecycle)
        return MediaStream(remote: media, codecs: codecs)
    }

    /// Exchanges the descriptions, and lets the call connect. When the stream ends, the server is notified. If that
    /// fails, the stream ends and the call is closed.
    private func establish(
        _ call: MediaCall, _ lifecycle: StreamLifecycle, by endpoint: WebRTCHTTPEndpoint
    ) async throws(PCastError) {
        do throws(PCastError) {
            let session = try await endpoint.begin(call.offer)
            lifecycle.setEndNotifier { _ in
                let confirmation = Promise<Bool>()
                Task { confirmation.resolve(await endpoint.end(session)) }
                Task {
                    try? await Task.sleep(for: Self.endTimeout)
                    confirmation.resolve(false)
                }
                return confirmation
            }
            try await call.accept(session.answer, permits: endpoint.permits)
        } catch {
            lifecycle.end(StreamEndedInfo(ender: .connection, reason: .failed, reasonDescription: error.description))
            call.close()
            throw error
        }
    }

    /// The time for which the server's confirmation of an end is awaited.
    private static let endTimeout = Duration.seconds(1)
}
