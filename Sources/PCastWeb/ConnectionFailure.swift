import Glibc
import NIOCore
import NIOPosix
import NIOSSL

/// The reasons of failed connections in plain English, without the codes and source files that libraries report.
enum ConnectionFailure {
    static func reason(of error: any Error) -> String {
        switch error {
        case let error as NIOConnectionError:
            error.connectionErrors.first.map { reason(of: $0.error) } ?? "no address for \(error.host)"
        case let error as IOError where error.errnoCode == ECONNREFUSED: WebError.refused
        case let error as IOError: String(cString: strerror(error.errnoCode))
        case let error as NIOSSLExtraError where error == NIOSSLExtraError.failedToValidateHostname:
            "its certificate is for another name: use the name that it is for"
        case let error as NIOSSLError where isOfCertificate(error):
            "its certificate is signed by no authority that this machine knows, or has expired: add the authority to "
                + "the system's (ca-certificates), or name its file in SSL_CERT_FILE"
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
        case .failedToLoadCertificate, .noSuchFilesystemObject: return "SSL_CERT_FILE names no file of certificates"
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
