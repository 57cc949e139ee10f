import Logging
import PCastCore
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

    /// Sends the request and lets `call` connect with the answer. After the response, `lifecycle` receives the platform's
    /// notifications of the stream, and the platform is notified when the stream ends here.
    ///
    /// - Parameters:
    ///   - call: The media connection. It is closed if the setup fails.
    ///   - lifecycle: The lifecycle of the stream, which ends if the setup fails.
    ///   - session: The session that sends the request.
    /// - Returns: The ID of the stream.
    /// - Throws: `PCastError` with the platform's refusal, or with `failed` if its answer cannot be used.
    func run(_ call: MediaCall, lifecycle: StreamLifecycle, session: SignalingClient) async throws(PCastError)
        -> StreamID
    {
        do throws(PCastError) {
            let request = SignalingRequest.setupStream(message(offer: call.offer, session: session))
            let response = try await session.perform(request, listener: lifecycle).get()
            let (stream, answer, relays) = try Self.read(response)
            Self.warn(of: response, stream, session)
            lifecycle.setEndNotifier { info in Self.notifyPlatform(to: stream, info, session) }
            let back = StreamReconnection(of: stream, by: self, call, lifecycle, session)
            lifecycle.setReturn { back.begin() }
            call.restartsICE { offer in await Self.restart(stream, offer: offer, session) }
            try await call.accept(answer, relays: relays)
            note(stream, lifecycle, session)
            return stream
        } catch {
            session.logger.info(
                "stream rejected", metadata: ["direction": "\(direction.rawValue)", "error": "\(error.description)"])
            lifecycle.end(StreamEndedInfo(ender: .connection, reason: .failed, reasonDescription: error.description))
            call.close()
            throw error
        }
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
        if direction == .download { stream.options.append("captions") }
        if let former {
            stream.options.append("resume-stream=\(former)")
        } else if resumes {
            stream.options.append("resume")
        }
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

    /// Returns the ID of the stream, the answer, and the TURN servers. Throws an error if the response is a refusal or
    /// malformed.
    static func read(
        _ response: SignalingResponse
    ) throws(PCastError) -> (StreamID, answer: String, relays: [TURNServerAddress]) {
        guard case .setupStream(let setup) = response else {
            throw PCastError(.malformedResponse, asking: "SetupStream")
        }
        let stream = setup.createStreamResponse
        let answer = stream.createAnswerDescriptionResponse
        let isRefusal = { (text: String) in RequestStatus(wire: text) != .ok }
        if isRefusal(setup.status) {
            // The inner status is more specific, if there is one.
            let isNotified = setup.hasCreateStreamResponse && isRefusal(stream.status)
            throw PCastError(
                refusal: isNotified ? stream.status : setup.status, of: "SetupStream", because: setup.refusalReason)
        }
        if isRefusal(stream.status) { throw PCastError(refusal: stream.status, of: "CreateStream") }
        if isRefusal(answer.status) { throw PCastError(refusal: answer.status, of: "CreateAnswerDescription") }
        guard stream.hasStreamID, answer.hasSessionDescription else {
            throw PCastError(.malformedResponse, asking: "SetupStream")
        }
        let relays = stream.rtcConfiguration.iceServers.flatMap { server in
            server.urls.compactMap {
                TURNServerAddress(uri: $0, username: server.username, credential: server.credential)
            }
        }
        return (StreamID(stream.streamID), answer.sessionDescription.sdp, relays)
    }

    /// Logs the capabilities that the token requests and that the platform ignores.
    private static func warn(of response: SignalingResponse, _ stream: StreamID, _ session: SignalingClient) {
        guard case .setupStream(let setup) = response else { return }
        let mark = "ignored-capability="
        let ignored = setup.createStreamResponse.options.filter { $0.hasPrefix(mark) }.map { $0.dropFirst(mark.count) }
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

/// A value that is set once, and the actions that wait for it.
final class Promise<Value: Sendable>: Sendable {
    private struct State {
        var value: Value?
        var actions: [@Sendable (Value) -> Void] = []
    }

    private let state = Mutex(State())

    /// Sets the value, if it is not set yet. Waiting actions run on the caller's thread.
    func resolve(_ value: Value) {
        let actions: [@Sendable (Value) -> Void] = state.withLock { state in
            if state.value != nil { return [] }
            state.value = value
            defer { state.actions = [] }
            return state.actions
        }
        for action in actions { action(value) }
    }

    /// Runs `action` with the value, when it is set or at once.
    func whenSettled(_ action: @escaping @Sendable (Value) -> Void) {
        let value = state.withLock { state in
            if state.value == nil { state.actions.append(action) }
            return state.value
        }
        if let value { action(value) }
    }

    /// The value; waits until it is set.
    var settled: Value {
        get async {
            await withCheckedContinuation { continuation in
                whenSettled { continuation.resume(returning: $0) }
            }
        }
    }

    /// The value; nil before it is set.
    var value: Value? { state.withLock { $0.value } }
}
