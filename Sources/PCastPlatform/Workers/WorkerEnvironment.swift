import Glibc

/// What a worker has of this process's environment: nothing that could hold a secret, and no proxy.
enum WorkerEnvironment {
    private static let names = ["PATH", "HOME", "LANG", "TMPDIR", "LD_LIBRARY_PATH", "SSL_CERT_FILE", "SSL_CERT_DIR"]

    static func make() -> [String: String] {
        var environment: [String: String] = [:]
        for name in names {
            if let value = getenv(name) { environment[name] = String(cString: value) }
        }
        return environment
    }
}
