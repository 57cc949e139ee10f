import Foundation

/// A certificate for an address, and what makes a process believe it as if an authority of the system had signed it.
final class TrustedCertificate: Sendable {
    private static let authorities = "/etc/ssl/certs/ca-certificates.crt"

    private let folder: String
    private var certificate: String { "\(folder)/certificate.pem" }
    private var key: String { "\(folder)/key.pem" }

    /// - Throws: `BenchFailure` without the program `openssl`.
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

    /// Options of `pcast serve`.
    var serving: [String] { ["--tls-port", "443", "--tls-certificate", certificate, "--tls-key", key] }

    /// What to put before a command: for it alone, the certificate stands where the system's authorities do.
    var prefix: [String] {
        [
            "unshare", "--mount", "sh", "-c", "mount --bind \"$0\" \(Self.authorities) && exec \"$@\"", certificate,
        ]
    }

    func remove() { try? FileManager.default.removeItem(atPath: folder) }
}
