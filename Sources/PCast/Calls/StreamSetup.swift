import Logging
import PCastCore
import PCastIO
import PCastSignaling
import Synchronization

/// Sets up a stream with one request, which carries the client's offer. The response carries the platform's answer.
struct StreamSetup: Sendable {
    /// The direction of the media.
    enum Direction: String, Sendable {
        case upload
        case download
    }

    let direction: Direction
    let streamToken: String
    var tags: [String] = []
    /// The stream to view; nil if the token specifies it.
    var originStreamID: StreamID?
    /// Whether a publisher resumes the stream that it published before.
    var resumes = false
    /// Further options for the platform.
    var options: [String] = []

    /// The stream that the platform has set up.
    struct Established: Sendable {
        let streamID: StreamID
        /// The URI of the playlist if the token is for HLS; nil for media.
        var playlist: String?
        /// The window in which a viewer can seek; nil if the stream is not packaged.
        var timeShift: TimeShiftOffer?
    }

    /// Sends the request, which `SignalingClient.preparing` has announced, and lets `call` connect with the answer. After
    /// the response, `lifecycle` receives the platform's notifications of the stream, and the platform is notified when
    /// the stream ends here.
    ///
    /// - Parameters:
    ///   - call: The media connection. It is closed if the setup fails.
    ///   - lifecycle: The lifecycle of the stream, which ends if the setup fails.
    ///   - session: The session that sends the request.
    /// - Returns: The stream. If the token is for HLS, the call is not connected, and the platform is not notified of the
    ///   end, because it knows no connection.
    /// - Throws: `PCastError` with the platform's refusal, or with `failed` if its answer cannot be used.
    func run(
        _ call: MediaCall, lifecycle: StreamLifecycle, session: SignalingClient
    ) async throws(PCastError) -> Established {
        do throws(PCastError) {
            let request = SignalingRequest.setupStream(message(offer: call.offer, session: session))
            let response = try await session.perform(request, listener: lifecycle, isPrepared: true).get()
            let (stream, answer) = try Self.read(response)
            Self.warn(of: response, stream, session)
            guard case .media(let description, let relays) = answer else {
                lifecycle.whenEnded { _ in session.discard(stream) }
                note(stream, lifecycle, session)
                return Established(streamID: stream, playlist: answer.playlist)
            }
            let back = StreamReconnection(of: stream, by: self, call, lifecycle, session)
            lifecycle.setReturn { back.begin() }
            Self.follow(stream, call, lifecycle, session)
            try await call.accept(description, relays: relays)
            note(stream, lifecycle, session)
            return Established(streamID: stream, timeShift: TimeShiftOffer(response, token: streamToken))
        } catch {
            session.logger.info(
                "stream rejected", metadata: ["direction": "\(direction.rawValue)", "error": "\(error.description)"])
            lifecycle.end(StreamEndedInfo(ender: .connection, reason: .failed, reasonDescription: error.description))
            call.close()
            throw error
        }
    }

    /// Lets the end of the stream and restarts of its ICE be sent to the platform under this ID.
    static func follow(
        _ stream: StreamID, _ call: MediaCall, _ lifecycle: StreamLifecycle, _ session: SignalingClient
    ) {
        lifecycle.setEndNotifier { info in notifyPlatform(to: stream, info, session) }
        call.restartsICE { offer in await restart(stream, offer: offer, session) }
    }

    /// Logs that the stream was set up, the changes of its data quality, and its end.
    private func note(_ stream: StreamID, _ lifecycle: StreamLifecycle, _ session: SignalingClient) {
        let (logger, stream) = (session.logger, "\(stream)")
        logger.info("stream established", metadata: ["stream": "\(stream)", "direction": "\(direction.rawValue)"])
        lifecycle.whenEnded { info in
            logger.info(
                "stream ended",
                metadata: [
                    "stream": "\(stream)", "by": "\(info.ender.rawValue)", "reason": "\(info.reason.rawValue)",
                    "description": "\(info.reasonDescription)",
                ])
        }
        let qualities = lifecycle.qualities.listen()
        Task {
            for await quality in qualities {
                logger.info(
                    "data quality",
                    metadata: [
                        "stream": "\(stream)", "status": "\(quality.status.rawValue)",
                        "reason": "\(quality.reason.rawValue)",
                    ])
            }
        }
    }

    /// Returns the request. `former` is the stream, or the subscription, to resume.
    func message(offer: String, session: SignalingClient, resuming former: StreamID? = nil) -> PCastSetupStream {
        var description = PCastSetRemoteDescription()
        description.streamID = ""
        description.apiVersion = ClientIdentity.apiVersion
        description.sessionDescription = PCastSessionDescription()
        description.sessionDescription.type = .offer
        description.sessionDescription.sdp = offer
        var answer = PCastCreateAnswerDescription()
        answer.streamID = ""
        answer.options = [direction.rawValue]
        answer.apiVersion = ClientIdentity.apiVersion
        var stream = PCastCreateStream()
        // The ID is empty directly after Authenticate, which means the session of this conversation.
        stream.sessionID = session.sessionID?.description ?? ""
        stream.options = ["data-quality-notifications"]
        if direction == .download { stream.options += ["captions", TimeShiftOffer.option, "redirect"] }
        if let former {
            stream.options.append("resume-stream=\(former)")
        } else if resumes {
            stream.options.append("resume")
        }
        stream.options += options
        stream.tags = tags
        stream.userAgent = session.identity.userAgent
        if let originStreamID { stream.originStreamID = originStreamID.description }
        stream.setRemoteDescription = description
        stream.createAnswerDescription = answer
        var message = PCastSetupStream()
        message.streamToken = streamToken
        message.createStream = stream
        return message
    }

    /// The platform's answer to an offer.
    enum Answer: Sendable {
        /// A session description, and the TURN servers.
        case media(String, relays: [TURNServerAddress])
        /// The URI of a multivariant playlist, because the token is for HLS.
        case playlist(String)

        /// The URI of the playlist; nil for media.
        var playlist: String? { if case .playlist(let uri) = self { uri } else { nil } }
    }

    /// Returns the ID of the stream and the answer. Throws an error if the response is a refusal or malformed.
    static func read(_ response: SignalingResponse) throws(PCastError) -> (StreamID, Answer) {
        guard case .setupStream(let setup) = response else {
            throw PCastError(.malformedResponse, during: "SetupStream")
        }
        let stream = setup.createStreamResponse
        let answer = stream.createAnswerDescriptionResponse
        let isRefusal = { (text: String) in RequestStatus(wire: text) != .ok }
        if isRefusal(setup.status) {
            // The inner status is more specific, if there is one.
            let hasStreamStatus = setup.hasCreateStreamResponse && isRefusal(stream.status)
            throw PCastError(
                refusal: hasStreamStatus ? stream.status : setup.status, of: "SetupStream", because: setup.refusalReason
            )
        }
        if isRefusal(stream.status) { throw PCastError(refusal: stream.status, of: "CreateStream") }
        if isRefusal(answer.status) { throw PCastError(refusal: answer.status, of: "CreateAnswerDescription") }
        guard stream.hasStreamID, answer.hasSessionDescription else {
            throw PCastError(.malformedResponse, during: "SetupStream")
        }
        if let playlist = Self.playlist(in: answer.sessionDescription.sdp) {
            return (StreamID(stream.streamID), .playlist(playlist))
        }
        let relays = stream.rtcConfiguration.iceServers.flatMap { server in
            server.urls.compactMap {
                TURNServerAddress(uri: $0, username: server.username, credential: server.credential)
            }
        }
        return (StreamID(stream.streamID), .media(answer.sessionDescription.sdp, relays: relays))
    }

    /// Returns the URI of the playlist in a session description for a token with the capability `streaming`; nil if it
    /// describes media.
    static func playlist(in description: String) -> String? {
        let attribute = "a=x-playlist:"
        let line = description.split(whereSeparator: \.isNewline).first { $0.hasPrefix(attribute) }
        return line.map { String($0.dropFirst(attribute.count)) }
    }

    /// Logs the capabilities that the token requests and that the platform ignores.
    private static func warn(of response: SignalingResponse, _ stream: StreamID, _ session: SignalingClient) {
        guard case .setupStream(let setup) = response else { return }
        let prefix = "ignored-capability="
        let ignored = setup.createStreamResponse.options.filter { $0.hasPrefix(prefix) }.map {
            $0.dropFirst(prefix.count)
        }
        guard !ignored.isEmpty else { return }
        session.logger.warning(
            "capabilities without effect",
            metadata: ["stream": "\(stream)", "capabilities": "\(ignored.joined(separator: " "))"])
    }

    /// Sends an offer that restarts ICE, and returns the answer; nil if that failed.
    private static func restart(_ stream: StreamID, offer: String, _ session: SignalingClient) async -> String? {
        var message = PCastSetRemoteDescription()
        message.streamID = stream.description
        message.apiVersion = ClientIdentity.apiVersion
        message.sessionDescription = PCastSessionDescription()
        message.sessionDescription.type = .offer
        message.sessionDescription.sdp = offer
        let answer = await session.perform(.setRemoteDescription(message))
        guard case .success(.setRemoteDescription(let response)) = answer,
            RequestStatus(wire: response.status) == .ok, response.hasSessionDescription
        else { return nil }
        return response.sessionDescription.sdp
    }

    /// The time for which the platform's confirmation is awaited.
    private static let timeout = Duration.seconds(1)

    /// Notifies the platform of the end, unless the platform ended the stream. The promise is resolved with whether the
    /// platform was notified.
    static func notifyPlatform(
        to stream: StreamID, _ info: StreamEndedInfo, _ session: SignalingClient
    ) -> Promise<Bool> {
        let confirmation = Promise<Bool>()
        session.discard(stream)
        if info.ender == .platform {
            confirmation.resolve(true)
            return confirmation
        }
        var message = PCastDestroyStream()
        message.streamID = stream.description
        message.reason = info.reason == .custom ? info.reasonDescription : info.reason.rawValue
        session.request(.destroyStream(message)) { _ in confirmation.resolve(true) }
        Task {
            try? await Task.sleep(for: timeout)
            confirmation.resolve(false)
        }
        return confirmation
    }
}

/// The window in which a viewer of a stream in real time can seek, as the platform describes it.
struct TimeShiftOffer: Hashable, Sendable {
    /// The URI of the multivariant playlist.
    let uri: String
    /// The beginning of the stream, before which there is no media; nil if it is unknown.
    let start: WallTime?
    /// The duration of the window; nil if it is unknown.
    let duration: TimeSpan?

    /// The option of the request, and the prefix of those of the response.
    static let option = "time-shift"
    /// The longest duration of a window that is believed: a year, in milliseconds.
    private static let longest: UInt64 = 31_536_000_000

    /// Reads a response; nil if the stream has no window. The token is added to a URI that ends with an empty parameter
    /// for it.
    init?(_ response: SignalingResponse, token: String) {
        guard case .setupStream(let setup) = response else { return nil }
        let options = setup.createStreamResponse.options
        let value = { (name: String) -> String? in
            options.first { $0.hasPrefix(name + "=") }.map { String($0.dropFirst(name.utf8.count + 1)) }
        }
        guard let uri = value(Self.option) else { return nil }
        let query = "?token="
        if uri.hasSuffix(query) {
            // A platform on loopback needs no token, and rejects an empty one.
            self.uri = token.isEmpty ? String(uri.dropLast(query.utf8.count)) : uri + Self.percentEncoded(token)
        } else {
            self.uri = uri
        }
        start = value("time-shift-start").flatMap { UInt64($0) }.flatMap { WallTime(wire: $0) }
        duration = value("time-shift-duration").flatMap { UInt64($0) }.flatMap {
            $0 <= Self.longest ? .milliseconds(Int64($0)) : nil
        }
    }

    /// Returns the text for a query (RFC 3986, section 2).
    private static func percentEncoded(_ text: String) -> String {
        text.utf8.map { byte in
            let scalar = Unicode.Scalar(byte)
            if scalar.properties.isAlphabetic || (0x30...0x39).contains(byte), scalar.isASCII { return String(scalar) }
            return (byte < 16 ? "%0" : "%") + String(byte, radix: 16, uppercase: true)
        }.joined()
    }

    /// Returns the capture times of the ends of the window while the newest frame has a capture time; nil if they are
    /// unknown.
    func window(until end: WallTime) -> ClosedRange<WallTime>? {
        guard let start, let duration else { return nil }
        let beginning = max(start, end - duration)
        return beginning <= end ? beginning...end : nil
    }
}

/// Sets up a stream again, each time that the platform reports its media connection as lost. The stream ends with `failed`
/// if that does not succeed in time.
///
/// The ID is the same at the same platform. A subscription continues at another node under another ID.
final class StreamReconnection: Sendable {
    /// A stream, and the platform that knows it.
    private struct Place {
        var stream: StreamID
        var platform: PlatformAddress?
    }

    private let place: Mutex<Place>
    private let setup: StreamSetup
    private let call: MediaCall
    private let lifecycle: StreamLifecycle
    private let session: SignalingClient
    private let attempt = Mutex<Task<Void, Never>?>(nil)

    /// The time limit, which is longer than the 15 s for which the platform waits.
    private static let limit = TimeSpan.seconds(16)
    /// The delay before the next attempt.
    private static let pause = Duration.milliseconds(250)

    init(
        of stream: StreamID, by setup: StreamSetup, _ call: MediaCall, _ lifecycle: StreamLifecycle,
        _ session: SignalingClient
    ) {
        place = Mutex(Place(stream: stream, platform: session.platform))
        self.setup = setup
        self.call = call
        self.lifecycle = lifecycle
        self.session = session
    }

    /// Begins to set up the stream again, and cancels an attempt that is under way.
    func begin() {
        attempt.withLock { attempt in
            let former = attempt
            former?.cancel()
            attempt = Task {
                await former?.value
                await run()
            }
        }
    }

    private func run() async {
        let deadline = MonotonicClock.now() + Self.limit
        while lifecycle.endedInfo == nil, !Task.isCancelled {
            do throws(PCastError) {
                return try await setUp()
            } catch {
                // Another node may not know the stream yet.
                let isMoving = setup.direction == .download && session.platform != place.withLock { $0.platform }
                guard Self.mayStillWork(error) || isMoving && error.status == .noStreamPlaying,
                    MonotonicClock.now() < deadline
                else {
                    return lifecycle.end(
                        StreamEndedInfo(ender: .connection, reason: .failed, reasonDescription: error.description))
                }
                try? await Task.sleep(for: Self.pause)
            }
        }
    }

    /// Makes one attempt. Throws an error if it fails.
    private func setUp() async throws(PCastError) {
        let offer = try await call.renew()
        let (former, platform) = (place.withLock { $0 }, session.platform)
        let isMoved = setup.direction == .download && platform != former.platform
        let request = SignalingRequest.setupStream(
            setup.message(offer: offer, session: session, resuming: isMoved ? nil : former.stream))
        let response = try await session.perform(request, listener: isMoved ? lifecycle : nil).get()
        let (id, answer) = try StreamSetup.read(response)
        guard isMoved || id == former.stream, case .media(let description, let relays) = answer else {
            throw PCastError(.malformedResponse, during: "SetupStream")
        }
        if isMoved {
            place.withLock { $0 = Place(stream: id, platform: platform) }
            session.forget(former.stream)
            StreamSetup.follow(id, call, lifecycle, session)
            session.logger.info(
                "the subscription continues at another node",
                metadata: ["stream": "\(former.stream)", "continuation": "\(id)"])
        }
        // If the connection was lost once more, the next attempt starts from the beginning.
        guard !Task.isCancelled else { return }
        try await call.accept(description, relays: relays)
        lifecycle.returned()
    }

    /// Returns whether another attempt may succeed, because the platform waits for another party or is not connected at
    /// the moment.
    private static func mayStillWork(_ error: PCastError) -> Bool {
        switch error.status {
        case .notReady, .timeout, .rateLimited, .capacity: true
        default: error.cause == .connection
        }
    }
}
