import PCastMedia
import PCastSignaling
import PCastWebRTC

/// Who describes a stream first, and which way it goes, as `CreateStream` asks for it: by the client's own offer, which is
/// answered in the response, or by the platform's, which the client answers with `SetRemoteDescription`.
struct StreamNegotiation: Sendable {
    /// Nil where the platform is to offer.
    let offer: SessionDescription?
    let isPublishing: Bool
    /// Of the client, about the stream.
    let options: [String]

    init(_ create: PCastCreateStream) throws(Refusal) {
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
            throw Refusal(
                .badRequest,
                "Send an offer in createStream.setRemoteDescription, or ask for one by createOfferDescription.")
        }
        let wishes = create.createOfferDescription.options
        offer = nil
        options = create.options + wishes
        switch (wishes.contains("upload"), wishes.contains("download")) {
        case (true, false): isPublishing = true
        case (false, true): isPublishing = false
        default: throw Refusal(.badRequest, "Ask for an offer to either “upload” or “download”.")
        }
    }
}

extension SessionDescription {
    /// A client's description.
    init(described description: PCastSessionDescription) throws(Refusal) {
        do {
            self = try SessionDescription(parsing: description.sdp)
        } catch {
            throw Refusal(.badRequest, "The session description cannot be read: \(error).")
        }
    }
}

extension PCastCreateStreamResponse {
    /// The answer to who was let in, or the offer to who is about to be.
    init(_ participation: Participation, isOffer: Bool, relay: RelayOffers.Offer?) {
        self.init()
        status = RequestStatus.ok.wire
        streamID = participation.streamID.description
        options = participation.ignoredCapabilities.map { "ignored-capability=\($0)" }
        if isOffer {
            createOfferDescriptionResponse.status = RequestStatus.ok.wire
            createOfferDescriptionResponse.sessionDescription.type = .offer
            createOfferDescriptionResponse.sessionDescription.sdp = participation.description.text
        } else {
            setRemoteDescriptionResponse.status = RequestStatus.ok.wire
            createAnswerDescriptionResponse.status = RequestStatus.ok.wire
            createAnswerDescriptionResponse.sessionDescription.type = .answer
            createAnswerDescriptionResponse.sessionDescription.sdp = participation.description.text
        }
        // Phenix's Web SDK makes “maxbundle” of the bundle policy's name, which is no value of RTCBundlePolicy: browsers then
        // throw. Our offer has one bundle anyway.
        rtcConfiguration.rtcpMuxPolicy = .require
        rtcConfiguration.iceTransportPolicy = .all
        if let relay {
            var server = PCastIceServer()
            server.urls = [relay.uri]
            server.username = relay.credentials.username
            server.credential = relay.credentials.password
            rtcConfiguration.iceServers = [server]
        }
    }
}
