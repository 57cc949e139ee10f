/// A failure of OpenSSL to create a certificate, which is a fault of the installation.
public enum DTLSError: Error, Hashable, Sendable {
    /// A step failed; `reason` is OpenSSL's message.
    case openSSL(step: String, reason: String)
}
