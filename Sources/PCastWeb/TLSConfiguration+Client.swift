import Glibc
import NIOSSL

extension TLSConfiguration {
    /// Trusts the authorities of the system; or those of `SSL_CERT_FILE`, as other programs have it that use OpenSSL,
    /// for certificates of one's own authority.
    static var client: TLSConfiguration {
        var configuration = makeClientConfiguration()
        if let file = getenv("SSL_CERT_FILE") { configuration.trustRoots = .file(String(cString: file)) }
        return configuration
    }
}
