import Foundation
import PCastCore
import PCastIO
import PCastWeb

/// The file in the data folder with a self-signed certificate for the names and addresses of this host.
struct SelfSignedFile: Sendable {
    static let name = "self-signed.pem"

    let path: String
    /// Names and addresses besides those of this host.
    private let configured: [String]

    /// Creates the place of the file; nil if the configuration uses other certificates.
    ///
    /// - Throws: ``PlatformError/certificate(_:)`` if the configuration names other files or no data folder.
    init?(_ configuration: PlatformConfiguration) throws(PlatformError) {
        guard configuration.tlsSelfSigned else { return nil }
        guard configuration.tlsCertificate == nil, configuration.tlsKey == nil else {
            throw .certificate("a certificate and its key are given: leave out either these or --tls-self-signed")
        }
        guard let directory = configuration.storage.directory else {
            throw .certificate("--tls-self-signed keeps the certificate in the data folder: add --data")
        }
        path = URL(fileURLWithPath: directory).appendingPathComponent(Self.name).path
        configured =
            configuration.advertise.map(\.description)
            + [configuration.turnHost, configuration.host].compactMap(\.self)
    }

    /// Returns the names and addresses of the host: its name, alone and in the domain of mDNS, `localhost`, and the
    /// addresses of its interfaces, except for those of a link.
    func names(interfaces: [LocalAddress]) -> HostCertificate.Names {
        let host = ProcessInfo.processInfo.hostName.lowercased()
        let short = host.split(separator: ".").first.map(String.init) ?? host
        let addresses = configured.compactMap { IPAddress($0) }
        let names = configured.filter { IPAddress($0) == nil && !$0.hasPrefix("[") }
        return HostCertificate.Names(
            names: names.map { $0.lowercased() } + [host, short, "\(short).local", "localhost"],
            addresses: addresses + interfaces.map(\.ip).filter { !$0.isLinkLocal })
    }

    /// Reads the certificate, or makes another one if there is none, if the host has names or addresses that it does not
    /// contain, or before it expires.
    ///
    /// - Throws: ``PlatformError/certificate(_:)``.
    func load(at now: WallTime) throws(PlatformError) -> TLSIdentity {
        let names = names(interfaces: (try? LocalAddress.all()) ?? [])
        do {
            if !Self.isCurrent(path, for: names, at: now) {
                try write(HostCertificate(for: names, at: now).pem)
            }
            return try TLSIdentity(certificate: path, key: path)
        } catch {
            throw .certificate("\(error)")
        }
    }

    private static func isCurrent(_ path: String, for names: HostCertificate.Names, at now: WallTime) -> Bool {
        guard let pem = try? String(contentsOfFile: path, encoding: .utf8),
            let certificate = try? HostCertificate(pem: pem),
            (try? TLSIdentity(certificate: path, key: path)) != nil
        else { return false }
        return certificate.isCurrent(for: names, at: now)
    }

    /// Replaces the file atomically. Only the user of the platform may read it.
    private func write(_ pem: String) throws {
        let temporary = "\(path).new"
        try? FileManager.default.removeItem(atPath: temporary)
        let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw WebError.certificate("\(temporary) could not be created: \(String(cString: strerror(errno)))")
        }
        let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        try handle.write(contentsOf: Data(pem.utf8))
        try handle.synchronize()
        try handle.close()
        guard rename(temporary, path) == 0 else {
            throw WebError.certificate("\(path) could not be replaced: \(String(cString: strerror(errno)))")
        }
    }
}
