import PCastCore
import PCastIO
import PCastSignaling
import PCastWebRTC

/// The negotiation that `CreateStream` requests. Either the client sends an offer, which the response answers, or the
/// platform sends an offer, which the client answers with `SetRemoteDescription`.
struct StreamNegotiation: Sendable {
    /// The client's offer; nil if the platform must send one.
    let offer: SessionDescription?
    let isPublishing: Bool
    /// The client's options for the stream.
    let options: [String]

    init(_ create: PCastCreateStream) throws(APIError) {
        if create.hasSetRemoteDescription {
            let offer = try SessionDescription(described: create.setRemoteDescription.sessionDescription)
            self.offer = offer
            // A data channel has no direction.
            isPublishing = offer.media.contains { media in
                media.kind.mediaType != nil && !media.isRejected && media.direction.sends
            }
            options = create.options
            return
        }
        guard create.hasCreateOfferDescription else {
            throw APIError(
                .badRequest,
                "The offer is missing: send setRemoteDescription or createOfferDescription in createStream.")
        }
        let requestedOptions = create.createOfferDescription.options
        offer = nil
        options = create.options + requestedOptions
        switch (requestedOptions.contains("upload"), requestedOptions.contains("download")) {
        case (true, false): isPublishing = true
        case (false, true): isPublishing = false
        default: throw APIError(.badRequest, "The offer's direction is invalid: request either “upload” or “download”.")
        }
    }
}

extension SessionDescription {
    /// Parses a client's session description.
    ///
    /// - Throws: ``APIError`` with the kind `badRequest`.
    init(described description: PCastSessionDescription) throws(APIError) {
        do {
            self = try SessionDescription(parsing: description.sdp)
        } catch {
            throw APIError(.badRequest, "The session description is malformed: \(error).")
        }
    }
}

extension PCastCreateStreamResponse {
    /// Creates the response, with the answer to the client's offer, or with an offer of the platform.
    init(_ peerSession: PeerSession, isOffer: Bool, turnCredentials: TURNCredentialProvider.Offer?) {
        self.init()
        status = RequestStatus.ok.wire
        streamID = peerSession.streamID.description
        options = peerSession.ignoredCapabilities.map { "ignored-capability=\($0)" }
        if isOffer {
            createOfferDescriptionResponse.status = RequestStatus.ok.wire
            createOfferDescriptionResponse.sessionDescription.type = .offer
            createOfferDescriptionResponse.sessionDescription.sdp = peerSession.description.text
        } else {
            setRemoteDescriptionResponse.status = RequestStatus.ok.wire
            createAnswerDescriptionResponse.status = RequestStatus.ok.wire
            createAnswerDescriptionResponse.sessionDescription.type = .answer
            createAnswerDescriptionResponse.sessionDescription.sdp = peerSession.description.text
        }
        // Phenix's Web SDK derives "maxbundle" from the bundle policy's name, which is not a value of RTCBundlePolicy
        // and makes browsers throw. The platform's offer has one bundle anyway.
        rtcConfiguration.rtcpMuxPolicy = .require
        rtcConfiguration.iceTransportPolicy = .all
        if let turnCredentials {
            var server = PCastIceServer()
            server.urls = [turnCredentials.uri]
            server.username = turnCredentials.credentials.username
            server.credential = turnCredentials.credentials.password
            rtcConfiguration.iceServers = [server]
        }
    }
}

extension PCastCreateStreamResponse {
    /// Creates the response for a stream whose media a job publishes.
    init(job stream: StreamID) {
        self.init()
        status = RequestStatus.ok.wire
        streamID = stream.description
    }

    /// Creates the response for a viewer that receives a playlist. `isOffer` is whether the client expects an offer.
    init(playlist uri: String, isOffer: Bool) {
        self.init()
        status = RequestStatus.ok.wire
        streamID = RandomIdentifier.make(prefix: "view-")
        // The session ID is random (RFC 8829, section 5.2.1).
        let text =
            "v=0\r\no=- \(UInt64.random(in: 1..<1 << 63)) 1 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\na=x-playlist:\(uri)\r\n"
        if isOffer {
            createOfferDescriptionResponse.status = RequestStatus.ok.wire
            createOfferDescriptionResponse.sessionDescription.type = .offer
            createOfferDescriptionResponse.sessionDescription.sdp = text
        } else {
            setRemoteDescriptionResponse.status = RequestStatus.ok.wire
            createAnswerDescriptionResponse.status = RequestStatus.ok.wire
            createAnswerDescriptionResponse.sessionDescription.type = .answer
            createAnswerDescriptionResponse.sessionDescription.sdp = text
        }
    }
}

extension PCastStreamDataQuality {
    /// Creates the notification of a stream's data quality.
    init(_ quality: DataQuality, of stream: StreamID, in session: SessionID) {
        self.init()
        sessionID = session.description
        streamID = stream.description
        timestamp = UInt64(max(MonotonicClock.wallTime().millisecondsSinceEpoch, 0))
        status =
            switch quality.status {
            case .noData: .noData
            case .audioOnly: .audioOnly
            case .all: .all
            }
        reason =
            switch quality.reason {
            case .none: .none
            case .uploadLimited: .uploadLimited
            case .downloadLimited: .downloadLimited
            case .publisherLimited: .publisherLimited
            case .networkLimited: .networkLimited
            }
    }
}
