import Glibc
import PCastSignaling

/// The client's description of itself, which is sent with an authentication and with the setup of a stream.
struct ClientIdentity: Sendable {
    /// The version of the SDK.
    static let clientVersion = "1.0.0"
    /// The version of the signaling protocol. The platform responds in the same version.
    static let apiVersion: UInt32 = 1

    let deviceID: String
    let platform = "Linux"
    let platformVersion: String

    init(deviceID: String) {
        self.deviceID = deviceID
        platformVersion = Self.kernelRelease()
    }

    var userAgent: String { "PCast/\(Self.clientVersion) (\(platform) \(platformVersion))" }

    /// Returns the message that authenticates with a token.
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

    /// Returns the release of the kernel, or "unknown".
    private static func kernelRelease() -> String {
        var name = utsname()
        guard uname(&name) == 0 else { return "unknown" }
        return withUnsafeBytes(of: &name.release) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    }
}
