import PCastCore
import PCastIO
import PCastWebRTC

extension MediaCall {
    /// Forgets the connection that there was, and offers another one on the same sockets: the platform has lost its end of
    /// it. The tracks go on when the answer is accepted, with a key frame.
    ///
    /// - Returns: what is to be sent to the platform.
    /// - Throws: `failed` when the call is over.
    func renew() async throws(PCastError) -> String {
        restarting.stop()
        detour.reset()
        let certificate = try ProcessCertificate.get()
        let (purpose, bound) = (purpose, loop.boundAddresses)
        do throws(IOError) {
            return try await loop.call { [splice] machine, _ in
                machine = Self.machine(for: purpose, certificate, bound)
                splice.withLock { $0.cut() }
                return machine.offer.text
            }
        } catch {
            throw PCastError(.failed, .media, "the stream's media connection is over: \(error)")
        }
    }

    static func machine(
        for purpose: PeerConnection.Purpose, _ certificate: DTLSCertificate, _ bound: [TransportAddress]
    ) -> PeerConnection {
        var generator = SystemRandomNumberGenerator()
        let configuration = PeerConnection.Configuration(
            certificate: certificate, addresses: LocalAddresses.candidates(of: bound),
            clock: MonotonicClock.reference(), cname: RandomText.identifier())
        return PeerConnection(purpose, configuration: configuration, using: &generator)
    }
}
