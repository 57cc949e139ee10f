import PCastCore
import PCastSignaling

/// Sets up a stream whose media the platform brings from an address, or takes to one.
struct RemoteSetup: Sendable {
    let streamToken: String
    let uri: String
    let tags: [String]
    /// The stream that is pushed; nil for one that is pulled.
    var originStreamID: StreamID?
    var connectOptions = ConnectOptions()

    /// Asks the platform. From the answer on, `life` hears what it says of the stream, and it is told when that ends.
    func run(_ life: StreamLifecycle, _ session: SignalingSession) async throws(PCastError) -> StreamID {
        do throws(PCastError) {
            let response = try await session.perform(.setupStream(message(session)), listener: life).get()
            let stream = try Self.read(response)
            let isDetached = connectOptions.isDetached
            life.setFarewell { info in
                // What is detached goes on when the session is stopped.
                guard isDetached, info.reason == .pcastStop else {
                    return StreamSetup.sayGoodbye(to: stream, info, session)
                }
                let said = Promise<Bool>()
                session.forget(stream)
                said.resolve(true)
                return said
            }
            return stream
        } catch {
            life.end(StreamEndedInfo(ender: .connection, reason: .failed, reasonDescription: error.description))
            throw error
        }
    }

    private func message(_ session: SignalingSession) -> PCastSetupStream {
        var stream = PCastCreateStream()
        // Empty right behind Authenticate: the session of this conversation is meant.
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

    private static func read(_ response: SignalingResponse) throws(PCastError) -> StreamID {
        guard case .setupStream(let setup) = response else {
            throw PCastError(.malformedResponse, asking: "SetupStream")
        }
        if RequestStatus(wire: setup.status) != .ok {
            throw PCastError(refusal: setup.status, of: "SetupStream", because: setup.refusalReason)
        }
        guard setup.createStreamResponse.hasStreamID else {
            throw PCastError(.malformedResponse, asking: "SetupStream")
        }
        return StreamID(setup.createStreamResponse.streamID)
    }
}
