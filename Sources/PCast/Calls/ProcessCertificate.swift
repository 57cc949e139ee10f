import PCastCore
import PCastIO
import PCastWebRTC

/// The certificate of this process's calls: made once, as making it takes longer than a join should.
enum ProcessCertificate {
    private static let made = Result<DTLSCertificate, DTLSError> { () throws(DTLSError) in
        try DTLSCertificate.generate(at: MonotonicClock.reference().wallTime)
    }

    /// Made with the first call; later ones wait for it at most.
    static func get() throws(PCastError) -> DTLSCertificate {
        do throws(DTLSError) {
            return try made.get()
        } catch {
            throw PCastError(.failed, .media, "no certificate for the media connection could be made: \(error)")
        }
    }
}
