import Logging
import PCastCore
import PCastIO
import PCastWeb
import PCastWebRTC
import Synchronization

/// The certificate of the TLS port. It is read from files, and again when they change, or generated.
final class CertificateFiles: Sendable {
    /// The paths of the certificate and its key.
    struct Paths: Hashable, Sendable {
        let certificate: String
        let key: String

        /// Reads the paths of a configuration; nil if it has none.
        ///
        /// - Throws: ``PlatformError/certificate(_:)`` if only one of them is set.
        init?(_ configuration: PlatformConfiguration) throws(PlatformError) {
            switch (configuration.tlsCertificate, configuration.tlsKey) {
            case (nil, nil): return nil
            case (let certificate?, let key?): (self.certificate, self.key) = (certificate, key)
            default: throw .certificate("either the certificate or its key is missing: set both")
            }
        }

        var all: [String] { [certificate, key] }

        /// Whether no certificate has been issued yet.
        var areMissing: Bool { all.allSatisfy { FileVersion(path: $0) == nil } }
    }

    /// The certificate that the TLS port uses for each connection.
    let certificate: TLSCertificate

    private struct State {
        var paths: Paths?
        var changes: FileChanges
    }

    private let state: Mutex<State>
    /// Whether the files may be missing until a client of ACME has written them.
    private let awaitsFiles: Bool
    private let logger: Logger

    init(_ configuration: PlatformConfiguration, logger: Logger) throws(PlatformError) {
        let paths = try Paths(configuration)
        let changes = FileChanges(paths?.all ?? [])
        awaitsFiles = configuration.acmeWebroot != nil
        let isMissing = awaitsFiles && paths?.areMissing == true
        if isMissing, let paths {
            logger.warning(
                "the certificate does not exist yet, and a self-signed one takes its place",
                metadata: ["file": "\(paths.certificate)"])
        }
        let identity = if let paths, !isMissing { try Self.load(paths) } else { try Self.make() }
        certificate = TLSCertificate(identity)
        state = Mutex(State(paths: paths, changes: changes))
        self.logger = logger
    }

    private static func load(_ paths: Paths) throws(PlatformError) -> TLSIdentity {
        do {
            return try TLSIdentity(certificate: paths.certificate, key: paths.key)
        } catch {
            throw .certificate("\(error)")
        }
    }

    private static func make() throws(PlatformError) -> TLSIdentity {
        do {
            let made = try SelfSignedCertificate.generate(at: MonotonicClock.wallTime())
            return try TLSIdentity(certificateDER: made.certificate, keyDER: made.key)
        } catch {
            throw .certificate("\(error)")
        }
    }

    // MARK: Replacement

    /// Reads the certificate of the files, or generates one if `paths` is nil. Returns nil if the current one remains.
    ///
    /// - Throws: ``PlatformError/certificate(_:)``.
    func read(_ paths: Paths?) throws(PlatformError) -> TLSIdentity? {
        guard let paths else { return state.withLock { $0.paths } == nil ? nil : try Self.make() }
        guard !(awaitsFiles && paths.areMissing) else { return nil }
        return try Self.load(paths)
    }

    /// Uses a certificate for new connections.
    func use(_ identity: TLSIdentity, of paths: Paths?) {
        certificate.replace(with: identity)
        state.withLock { state in
            state.paths = paths
            state.changes.reset(paths?.all ?? [])
        }
    }

    private static let interval = Duration.seconds(1)

    /// Checks the files each second until the task is cancelled. An invalid pair is logged, and the previous
    /// certificate remains.
    func watch() async {
        while (try? await Task.sleep(for: Self.interval)) != nil {
            let changed: Paths? = state.withLock { $0.changes.look() ? $0.paths : nil }
            guard let paths = changed else { continue }
            do {
                certificate.replace(with: try Self.load(paths))
                logger.notice("the certificate was reloaded", metadata: ["file": "\(paths.certificate)"])
            } catch {
                logger.error(
                    "the new certificate is invalid, and the previous one stays in use", metadata: ["error": "\(error)"]
                )
            }
        }
    }
}
