import Glibc
import NIOSSL

extension TLSConfiguration {
    /// The TLS configuration of clients. It trusts the certificates of the file in `SSL_CERT_FILE`, as OpenSSL does,
    /// otherwise those of the system.
    static var client: TLSConfiguration {
        var configuration = makeClientConfiguration()
        if let file = getenv("SSL_CERT_FILE") { configuration.trustRoots = .file(String(cString: file)) }
        return configuration
    }
}
