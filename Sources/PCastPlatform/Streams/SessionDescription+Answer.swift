import PCastWebRTC

extension SessionDescription {
    /// Our offer as it would be our answer, had the peer offered what was agreed on: what an ICE restart of the peer's is
    /// answered with.
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
    /// Leaves one format with its repair formats, under their numbers.
    fileprivate mutating func keep(_ format: PayloadFormat) {
        // Who answers under other numbers has its own reasons; the description stays whole.
        guard payloadTypes.contains(format.payloadType) else { return }
        let kept = [format.payloadType, format.rtxPayloadType, format.redPayloadType].compactMap { $0 }
        payloadTypes.removeAll { !kept.contains($0) }
        rtpMaps.removeAll { !kept.contains($0.payloadType) }
        formatParameters = formatParameters.filter { kept.contains($0.key) }
        feedback.removeAll { line in line.payloadType.map { !kept.contains($0) } ?? false }
    }
}
