import PCastCore
import PCastSFU
import PCastWebRTC

extension VirtualNetwork {
    /// An offer of the SFU, and the answer of a scripted client.
    struct Answering {
        let id: PeerID
        let offer: SessionDescription
        let answer: SessionDescription
        let peer: ScriptedPeer
    }

    /// Requests an offer to publish and creates the answer, without sending it to the SFU.
    func answerAsPublisher(
        _ codecs: [Codec] = [.vp8, .opus], terms: PeerOptions = PeerOptions(), stream: StreamID = VirtualNetwork.stream
    ) throws -> Answering {
        let id = PeerID(generator.next())
        let offer = try sfu.offerToPublisher(id, of: stream, terms: terms, at: now)
        return try answer(offer, of: id, codecs: codecs) { type in
            let msid = MediaStreamIdentification(stream: "s", track: "t")
            let ssrc: UInt32 = type == .video ? 0x2221 : 0x3331
            return .send(nil, from: OutgoingSource(ssrc: ssrc, rtxSSRC: ssrc + 1, cname: "c", msid: msid))
        }
    }

    /// Requests an offer to view and creates the answer, without sending it to the SFU.
    func answerAsViewer(terms: PeerOptions = PeerOptions(), stream: StreamID = VirtualNetwork.stream) throws
        -> Answering
    {
        let id = PeerID(generator.next())
        let offer = try sfu.offerToViewer(id, of: stream, terms: terms, at: now)
        return try answer(offer, of: id, codecs: [.h264, .vp8, .opus]) { _ in .receive }
    }

    private func answer(
        _ offer: SessionDescription, of id: PeerID, codecs: [Codec], intent: (MediaType) -> AnswerOptions
    ) throws -> Answering {
        let credentials = ICECredentials.random(using: &generator)
        let answer = try Answer(
            to: offer, originSessionID: generator.next() >> 1,
            transport: TransportDescription(
                iceUfrag: credentials.ufrag, icePwd: credentials.password,
                fingerprint: Self.certificate.fingerprint.attribute, candidates: []),
            // Pause requests are not supported, so the publisher always sends.
            capabilities: MediaCapabilities(codecs: codecs, feedback: [.nack, .pli, .fir, .transportCC])
        ) { type, _ in intent(type) }
        let peer = try scripted(id, credentials: credentials, session: answer.session)
        return Answering(id: id, offer: offer, answer: answer.description, peer: peer)
    }
}
