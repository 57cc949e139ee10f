/// What OpenSSL could not do when a certificate was made: a fault of the installation.
public enum DTLSError: Error, Hashable, Sendable {
    /// The named step failed; OpenSSL's own words follow.
    case openSSL(step: String, reason: String)
}
