import PCastCore
import PCastIO
import PCastWebRTC

extension MediaCall {
    /// Replaces the connection by a new one on the same sockets, because the platform has lost its end of the old one.
    /// The tracks resume with a key frame when the answer is accepted.
    ///
    /// - Returns: The offer for the platform.
    /// - Throws: `PCastError` with the status `failed` if the call is over.
    func renew() async throws(PCastError) -> String {
        restarting.stop()
        turnFallback.reset()
        let certificate = try ProcessCertificate.get()
        let (purpose, bound) = (purpose, loop.boundAddresses)
        do throws(IOError) {
            return try await loop.call { [splice] machine, _ in
                machine = Self.machine(for: purpose, certificate, bound)
                splice.withLock { $0.cut() }
                return machine.offer.text
            }
        } catch {
            throw PCastError(.failed, .media, "the stream's media connection has ended: \(error)")
        }
    }

    /// Returns a new connection with the certificate and the candidates of the bound addresses.
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
