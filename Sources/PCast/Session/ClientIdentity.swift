import Glibc
import PCastSignaling

/// What a client says of itself when it authenticates and when it sets up a stream.
struct ClientIdentity: Sendable {
    static let clientVersion = "1.0.0"
    /// Of the wire protocol; the platform answers in its terms.
    static let apiVersion: UInt32 = 1

    let deviceID: String
    let platform = "Linux"
    let platformVersion: String

    init(deviceID: String) {
        self.deviceID = deviceID
        platformVersion = Self.kernelRelease()
    }

    var userAgent: String { "PCast/\(Self.clientVersion) (\(platform) \(platformVersion))" }

    func authentication(token: String) -> PCastAuthenticate {
        var message = PCastAuthenticate()
        message.apiVersion = Self.apiVersion
        message.clientVersion = Self.clientVersion
        message.deviceID = deviceID
        message.platform = platform
        message.platformVersion = platformVersion
        message.authenticationToken = token
        return message
    }

    private static func kernelRelease() -> String {
        var name = utsname()
        guard uname(&name) == 0 else { return "unknown" }
        return withUnsafeBytes(of: &name.release) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    }
}
