import PCastWebRTC

extension SessionDescription {
    /// Our offer as it would be our answer, had the peer offered what was agreed on: what an ICE restart of the peer's is
    /// answered with.
    func asAnswer(of session: NegotiatedSession) -> SessionDescription {
        var answer = self
        for index in answer.media.indices {
            guard session.media.contains(where: { $0.index == index }) else {
                answer.media[index].port = 0
                continue
            }
            answer.media[index].setup = session.localSetup
        }
        return answer
    }
}
