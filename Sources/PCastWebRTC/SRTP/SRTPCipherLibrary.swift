import COpenSSL

/// The library for AES-GCM of media.
///
/// OpenSSL is always available. libipsec-mb takes about a quarter of the time on processors with VAES and AVX-512,
/// which OpenSSL uses only since version 3.1. It is used if it is installed and supports the processor.
package enum SRTPCipherLibrary: Sendable, CaseIterable {
    /// OpenSSL.
    case openSSL
    /// Intel's libipsec-mb.
    case ipsecMB

    /// The default library, which is selected once per process.
    package static let preferred: SRTPCipherLibrary = ipsecMB.isAvailable ? .ipsecMB : .openSSL

    /// Whether the library is installed and supports this processor.
    package var isAvailable: Bool {
        switch self {
        case .openSSL: true
        case .ipsecMB: IPSecMB.loaded != nil
        }
    }

    /// The name and version; nil if the library is not available.
    package var name: String? {
        switch self {
        case .openSSL: OpenSSL_version(OPENSSL_VERSION).map { String(cString: $0) }
        case .ipsecMB: IPSecMB.loaded.map { "libipsec-mb \($0.version)" }
        }
    }
}
