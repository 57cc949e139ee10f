import Glibc

/// The environment of job processes. It contains no variables that may hold secrets, and no proxy settings.
enum JobEnvironment {
    private static let names = ["PATH", "HOME", "LANG", "TMPDIR", "LD_LIBRARY_PATH", "SSL_CERT_FILE", "SSL_CERT_DIR"]

    static func make() -> [String: String] {
        var environment: [String: String] = [:]
        for name in names {
            if let value = getenv(name) { environment[name] = String(cString: value) }
        }
        return environment
    }
}
