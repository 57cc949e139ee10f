import PCastWebRTC

extension SessionDescription {
    /// Returns the platform's offer in the form of an answer, as if the peer had offered what was negotiated. The
    /// response to an ICE restart of the peer is made from it.
    func asAnswer(of session: NegotiatedSession) -> SessionDescription {
        var answer = self
        for index in answer.media.indices {
            guard let agreed = session.media.first(where: { $0.index == index }) else {
                answer.media[index].port = 0
                continue
            }
            answer.media[index].setup = session.localSetup
            answer.media[index].direction = agreed.direction
            answer.media[index].keep(agreed.format)
        }
        answer.bundle = answer.bundle?.filter { mid in session.media.contains { $0.mid == mid } }
        return answer
    }
}

extension MediaDescription {
    /// Removes all formats except one with its repair formats.
    fileprivate mutating func keep(_ format: PayloadFormat) {
        // If the peer's answer has other payload types, the media section does not change.
        guard payloadTypes.contains(format.payloadType) else { return }
        let kept = [format.payloadType, format.rtxPayloadType, format.redPayloadType].compactMap { $0 }
        payloadTypes.removeAll { !kept.contains($0) }
        rtpMaps.removeAll { !kept.contains($0.payloadType) }
        formatParameters = formatParameters.filter { kept.contains($0.key) }
        feedback.removeAll { line in line.payloadType.map { !kept.contains($0) } ?? false }
    }
}
