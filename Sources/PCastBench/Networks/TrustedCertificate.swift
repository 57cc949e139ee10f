import Foundation

/// A self-signed certificate for an IP address that selected processes trust like one of the system's certificate
/// authorities.
final class TrustedCertificate: Sendable {
    private static let authorities = "/etc/ssl/certs/ca-certificates.crt"

    private let folder: String
    private var certificate: String { "\(folder)/certificate.pem" }
    private var key: String { "\(folder)/key.pem" }

    /// Creates a certificate with the program `openssl`. Throws `BenchFailure` if that fails or is not installed.
    init(for address: String) throws {
        folder = NSTemporaryDirectory() + "pcast-bench-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try SystemProgram.run(
            "openssl",
            [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                "-subj", "/CN=\(address)", "-addext", "subjectAltName=IP:\(address)", "-keyout", key, "-out",
                certificate,
            ])
    }

    /// The arguments of `pcast serve` that enable TLS with the certificate.
    var serving: [String] { ["--tls-port", "443", "--tls-certificate", certificate, "--tls-key", key] }

    /// The words to put before a command. They mount the certificate over the system's certificate authorities in a
    /// mount namespace of that command only.
    var prefix: [String] {
        [
            "unshare", "--mount", "sh", "-c", "mount --bind \"$0\" \(Self.authorities) && exec \"$@\"", certificate,
        ]
    }

    func remove() { try? FileManager.default.removeItem(atPath: folder) }
}
