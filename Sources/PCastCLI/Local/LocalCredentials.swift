import Foundation

/// What a platform on this computer leaves for its user's other programs, so that they need not be told where it is
/// and may view what it plays.
struct LocalCredentials: Codable, Equatable {
    let uri: String
    let applicationId: String
    let secret: String
    /// The process of the platform, without which the rest is worth nothing.
    let pid: Int32

    var application: ApplicationArgument { ApplicationArgument(id: applicationId, secret: secret) }

    /// Whether the platform's process is there still.
    var isAlive: Bool { pid > 0 && (kill(pid, 0) == 0 || errno == EPERM) }
}

/// The secret is not for logs.
extension LocalCredentials: CustomStringConvertible, CustomReflectable {
    var description: String { "\(applicationId) at \(uri)" }

    var customMirror: Mirror { Mirror(self, children: ["uri": uri, "applicationId": applicationId]) }
}
