import PCastSignaling

/// Requests of the protocol.
enum Requests {
    static func authenticate(_ token: String, session: String? = nil) -> SignalingRequest {
        var message = PCastAuthenticate()
        message.clientVersion = "1"
        message.deviceID = "device"
        message.platform = "test"
        message.platformVersion = "1"
        message.authenticationToken = token
        if let session { message.sessionID = session }
        return .authenticate(message)
    }

    static func publish(_ token: String = "", session: String = "", tags: [String] = []) throws -> SignalingRequest {
        setUp(token, session: session, offer: try Offers.publisher(), origin: nil, tags: tags)
    }

    static func view(
        _ token: String = "", session: String = "", origin: String? = nil, options: [String] = []
    ) throws -> SignalingRequest {
        setUp(token, session: session, offer: try Offers.viewer(), origin: origin, tags: [], options: options)
    }

    static func setUp(
        _ token: String, session: String = "", offer: String, origin: String?, tags: [String] = [],
        options: [String] = []
    ) -> SignalingRequest {
        var description = PCastSetRemoteDescription()
        description.streamID = ""
        description.sessionDescription.type = .offer
        description.sessionDescription.sdp = offer
        var create = PCastCreateStream()
        create.sessionID = session
        create.tags = tags
        create.options = options
        create.setRemoteDescription = description
        if let origin { create.originStreamID = origin }
        var message = PCastSetupStream()
        message.streamToken = token
        message.createStream = create
        return .setupStream(message)
    }

    static func destroy(_ stream: String, reason: String) -> SignalingRequest {
        var message = PCastDestroyStream()
        message.streamID = stream
        message.reason = reason
        return .destroyStream(message)
    }

    static func bye(_ session: String) -> SignalingRequest {
        var message = PCastBye()
        message.sessionID = session
        message.reason = "done"
        return .bye(message)
    }
}
