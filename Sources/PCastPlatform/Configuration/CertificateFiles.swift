import Logging
import PCastIO
import PCastMedia
import PCastWeb
import PCastWebRTC
import Synchronization

/// The certificate of the TLS port: out of files, which are read again when they change, or one that was made.
final class CertificateFiles: Sendable {
    /// Where a certificate and its key are.
    struct Paths: Hashable, Sendable {
        let certificate: String
        let key: String

        /// - Returns: nil where none are named.
        /// - Throws: `PlatformError.certificate` where one is named without the other.
        init?(_ configuration: PlatformConfiguration) throws(PlatformError) {
            switch (configuration.tlsCertificate, configuration.tlsKey) {
            case (nil, nil): return nil
            case (let certificate?, let key?): (self.certificate, self.key) = (certificate, key)
            default: throw .certificate("a certificate and its key belong together: name both")
            }
        }

        var all: [String] { [certificate, key] }
    }

    /// What the TLS port takes for each connection.
    let certificate: TLSCertificate

    private struct State {
        var paths: Paths?
        var changes: FileChanges
    }

    private let state: Mutex<State>
    private let logger: Logger

    init(_ configuration: PlatformConfiguration, logger: Logger) throws(PlatformError) {
        let paths = try Paths(configuration)
        let changes = FileChanges(paths?.all ?? [])
        let identity = if let paths { try Self.load(paths) } else { try Self.make() }
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

    // MARK: Another one

    /// - Returns: nil where the one that was made stays.
    func read(_ paths: Paths?) throws(PlatformError) -> TLSIdentity? {
        guard let paths else { return state.withLock { $0.paths } == nil ? nil : try Self.make() }
        return try Self.load(paths)
    }

    /// Connections from now on get that one.
    func use(_ identity: TLSIdentity, of paths: Paths?) {
        certificate.replace(with: identity)
        state.withLock { state in
            state.paths = paths
            state.changes.reset(paths?.all ?? [])
        }
    }

    private static let interval = Duration.seconds(1)

    /// Looks at the files each second, until the task is cancelled. A pair that cannot be used leaves the one before, and is
    /// told.
    func watch() async {
        while (try? await Task.sleep(for: Self.interval)) != nil {
            let changed: Paths? = state.withLock { $0.changes.look() ? $0.paths : nil }
            guard let paths = changed else { continue }
            do {
                certificate.replace(with: try Self.load(paths))
                logger.notice("the certificate was read again", metadata: ["file": "\(paths.certificate)"])
            } catch {
                logger.error("the certificate of before stays", metadata: ["why": "\(error)"])
            }
        }
    }
}
