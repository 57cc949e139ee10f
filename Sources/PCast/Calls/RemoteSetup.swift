import PCastCore
import PCastSignaling

/// Sets up a stream whose media the platform pulls from an address, or pushes to one.
struct RemoteSetup: Sendable {
    let streamToken: String
    /// The address of the media.
    let uri: String
    let tags: [String]
    /// The stream that is pushed; nil for one that is pulled.
    var originStreamID: StreamID?
    var connectOptions = ConnectOptions()

    /// Sends the request. After the response, `lifecycle` receives the platform's notifications of the stream, and the
    /// platform is notified when the stream ends here. Throws an error if the platform refuses.
    func run(_ lifecycle: StreamLifecycle, _ session: SignalingClient) async throws(PCastError) -> StreamID {
        do throws(PCastError) {
            let response = try await session.perform(.setupStream(message(session)), listener: lifecycle).get()
            let stream = try Self.read(response)
            let isDetached = connectOptions.isDetached
            lifecycle.setEndNotifier { info in
                // A detached stream continues when the session is stopped.
                guard isDetached, info.reason == .pcastStop else {
                    return StreamSetup.notifyPlatform(to: stream, info, session)
                }
                let confirmation = Promise<Bool>()
                session.discard(stream)
                confirmation.resolve(true)
                return confirmation
            }
            return stream
        } catch {
            lifecycle.end(StreamEndedInfo(ender: .connection, reason: .failed, reasonDescription: error.description))
            throw error
        }
    }

    /// Returns the request.
    private func message(_ session: SignalingClient) -> PCastSetupStream {
        var stream = PCastCreateStream()
        // The ID is empty directly after Authenticate, which means the session of this conversation.
        stream.sessionID = session.sessionID?.description ?? ""
        stream.options = connectOptions.isDetached ? ["detached"] : []
        stream.tags = tags
        stream.userAgent = session.identity.userAgent
        stream.connectUri = uri
        stream.connectOptions = connectOptions.wire
        if let originStreamID { stream.originStreamID = originStreamID.description }
        var message = PCastSetupStream()
        message.streamToken = streamToken
        message.createStream = stream
        return message
    }

    /// Returns the ID of the stream. Throws an error if the response is a refusal or malformed.
    private static func read(_ response: SignalingResponse) throws(PCastError) -> StreamID {
        guard case .setupStream(let setup) = response else {
            throw PCastError(.malformedResponse, during: "SetupStream")
        }
        if RequestStatus(wire: setup.status) != .ok {
            throw PCastError(refusal: setup.status, of: "SetupStream", because: setup.refusalReason)
        }
        guard setup.createStreamResponse.hasStreamID else {
            throw PCastError(.malformedResponse, during: "SetupStream")
        }
        return StreamID(setup.createStreamResponse.streamID)
    }
}
