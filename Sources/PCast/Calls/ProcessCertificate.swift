import PCastCore
import PCastIO
import PCastWebRTC

/// The DTLS certificate of all calls of this process. It is made once, because that takes longer than joining a stream
/// should.
enum ProcessCertificate {
    private static let made = Result<DTLSCertificate, DTLSError> { () throws(DTLSError) in
        try DTLSCertificate.generate(at: MonotonicClock.reference().wallTime)
    }

    /// Returns the certificate. The first call makes it, and concurrent calls wait. Throws an error if it cannot be
    /// made.
    static func get() throws(PCastError) -> DTLSCertificate {
        do throws(DTLSError) {
            return try made.get()
        } catch {
            throw PCastError(.failed, .media, "the certificate for the media connection could not be created: \(error)")
        }
    }
}
