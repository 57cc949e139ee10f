import Glibc
import NIOCore
import NIOPosix
import NIOSSL

/// The reasons of failed connections in plain English, without the codes and source files that libraries report.
enum ConnectionFailure {
    static func reason(of error: any Error) -> String {
        switch error {
        case let error as NIOConnectionError:
            error.connectionErrors.first.map { reason(of: $0.error) } ?? "the host name \(error.host) has no address"
        case let error as IOError where error.errnoCode == ECONNREFUSED: WebError.refused
        case let error as IOError: String(cString: strerror(error.errnoCode))
        case let error as NIOSSLExtraError where error == NIOSSLExtraError.failedToValidateHostname:
            "its certificate is for another name: use the name in the certificate"
        case let error as NIOSSLError where isOfCertificate(error):
            "its certificate has expired or is signed by an unknown authority: add the authority to "
                + "the system's certificates (ca-certificates), or set SSL_CERT_FILE to its file"
        case let error as NIOSSLError: words(of: error)
        default: "\(error)"
        }
    }

    /// Returns whether the server responded, but its certificate is not valid for the requested name.
    static func isOfCertificate(_ error: any Error) -> Bool {
        switch error {
        case let error as NIOSSLExtraError: error == NIOSSLExtraError.failedToValidateHostname
        case let error as NIOSSLError: "\(error)".firstRange(of: "CERTIFICATE_VERIFY_FAILED") != nil
        default: false
        }
    }

    private static func words(of error: NIOSSLError) -> String {
        switch error {
        case .failedToLoadCertificate, .noSuchFilesystemObject: return "SSL_CERT_FILE is not a file of certificates"
        default:
            guard let code = code(of: error) else { return "TLS failed: \(error)" }
            return "TLS failed: \(code.lowercased().replacing("_", with: " "))"
        }
    }

    /// Returns the code of a TLS error, such as `WRONG_VERSION_NUMBER`; nil if there is none.
    ///
    /// The library reports it only in a text: "error:100000f7:SSL routines:OPENSSL_internal:WRONG_VERSION_NUMBER at
    /// FILE:LINE".
    private static func code(of error: NIOSSLError) -> String? {
        let text = "\(error)"
        guard let mark = text.firstRange(of: "OPENSSL_internal:") else { return nil }
        return String(text[mark.upperBound...].prefix { $0 != " " })
    }
}
