import Foundation

/// The URI and credentials of a platform on this host, which its user's other programs read. They need no options then.
struct LocalCredentials: Codable, Equatable {
    let uri: String
    let applicationId: String
    let secret: String
    /// The process identifier of the platform. The credentials are only valid while it runs.
    let pid: Int32

    var application: ApplicationArgument { ApplicationArgument(id: applicationId, secret: secret) }

    /// Whether the process of the platform exists.
    var isAlive: Bool { pid > 0 && (kill(pid, 0) == 0 || errno == EPERM) }
}

/// The text forms do not contain the secret, so that logs do not reveal it.
extension LocalCredentials: CustomStringConvertible, CustomReflectable {
    var description: String { "\(applicationId) at \(uri)" }

    var customMirror: Mirror { Mirror(self, children: ["uri": uri, "applicationId": applicationId]) }
}
