import Logging
import PCastCore
import PCastIO
import PCastWeb
import PCastWebRTC
import Synchronization

/// The certificate of the TLS port. It is read from files, and again when they change, or self-signed.
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
    /// The self-signed certificate in the data folder; nil for other certificates.
    private let selfSigned: SelfSignedFile?
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
        selfSigned = try SelfSignedFile(configuration)
        let identity =
            if let selfSigned {
                try selfSigned.load(at: MonotonicClock.wallTime())
            } else if let paths, !isMissing {
                try Self.load(paths)
            } else {
                try Self.make()
            }
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

    /// The fingerprint of the self-signed certificate in the data folder; nil for other certificates.
    var selfSignedFingerprint: String? { selfSigned.map { _ in certificate.identity.fingerprint } }

    // MARK: Replacement

    /// Reads the certificate of the files, or generates one if `paths` is nil. Returns nil if the current one remains.
    ///
    /// - Throws: ``PlatformError/certificate(_:)``.
    func read(_ paths: Paths?) throws(PlatformError) -> TLSIdentity? {
        guard let paths else { return state.withLock { $0.paths } == nil ? nil : try Self.make() }
        guard selfSigned == nil else {
            throw .certificate("--tls-self-signed takes the place of --tls-certificate and --tls-key: leave them out")
        }
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
    private static let renewalInterval = Duration.seconds(10)

    /// Checks the files each second until the task is cancelled. An invalid pair is logged, and the previous
    /// certificate remains.
    func watch() async {
        if let selfSigned { return await renew(selfSigned) }
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

    /// Replaces the self-signed certificate before it expires, and when this host has another name or address, until the
    /// task is cancelled.
    private func renew(_ file: SelfSignedFile) async {
        var failure: String?
        while (try? await Task.sleep(for: Self.renewalInterval)) != nil {
            do {
                let identity = try file.load(at: MonotonicClock.wallTime())
                failure = nil
                guard identity.fingerprint != certificate.identity.fingerprint else { continue }
                certificate.replace(with: identity)
                logger.notice(
                    "the self-signed certificate was renewed",
                    metadata: ["file": "\(file.path)", "fingerprint": "\(identity.fingerprint)"])
            } catch {
                // The same failure is not repeated.
                guard failure != "\(error)" else { continue }
                failure = "\(error)"
                logger.error(
                    "the self-signed certificate could not be renewed, and the previous one stays in use",
                    metadata: ["error": "\(error)"])
            }
        }
    }
}
