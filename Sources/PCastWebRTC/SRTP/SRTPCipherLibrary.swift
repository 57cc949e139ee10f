import COpenSSL

/// Whose AES-GCM protects media.
///
/// OpenSSL's runs everywhere. libipsec-mb takes about a quarter of the time on processors with VAES and AVX-512, where
/// OpenSSL before 3.1 does not use them (FAN2); it is used where it is installed and says that it has what it needs.
public enum SRTPCipherLibrary: Sendable, CaseIterable {
    case openSSL
    case ipsecMB

    /// What is used unless something else is asked for: chosen once, by what there is.
    public static let preferred: SRTPCipherLibrary = ipsecMB.isAvailable ? .ipsecMB : .openSSL

    /// Whether it is there and runs on this processor.
    public var isAvailable: Bool {
        switch self {
        case .openSSL: true
        case .ipsecMB: IPSecMB.loaded != nil
        }
    }

    /// Its name and version, for people; nil where it is not there.
    public var name: String? {
        switch self {
        case .openSSL: OpenSSL_version(OPENSSL_VERSION).map { String(cString: $0) }
        case .ipsecMB: IPSecMB.loaded.map { "libipsec-mb \($0.version)" }
        }
    }
}
