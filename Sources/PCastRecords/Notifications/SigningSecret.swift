internal import Crypto
public import PCastMedia

/// What notifications to one callback address are signed with, after Standard Webhooks
/// (standardwebhooks.com, symmetric signatures: HMAC-SHA256, `v1`).
public struct SigningSecret: Sendable, Hashable {
    let bytes: [UInt8]

    private static let prefix = "whsec_"
    /// 24 to 64 bytes, as the specification asks.
    private static let sizes = 24...64

    init?(_ bytes: [UInt8]) {
        guard Self.sizes.contains(bytes.count) else { return nil }
        self.bytes = bytes
    }

    /// Reads `whsec_` and base 64.
    public init?(_ text: String) {
        guard text.hasPrefix(Self.prefix), let bytes = Base64.decode(String(text.dropFirst(Self.prefix.count)))
        else { return nil }
        self.init(bytes)
    }

    /// 32 bytes that nobody else has.
    public static func random() -> SigningSecret {
        guard let made = SigningSecret(SymmetricKey(size: .bits256).withUnsafeBytes(Array.init)) else {
            preconditionFailure("32 bytes are within the sizes")
        }
        return made
    }

    /// As backends are given it.
    public var text: String { Self.prefix + Base64.encode(bytes) }

    /// The headers that a notification is sent with.
    ///
    /// - Parameters:
    ///   - id: the same at each attempt, by which a receiver knows a repetition.
    ///   - time: of the attempt.
    public func headers(id: String, at time: WallTime, body: [UInt8]) -> [(name: String, value: String)] {
        let seconds = time.millisecondsSinceEpoch / 1_000
        let signed = Array("\(id).\(seconds).".utf8) + body
        let code = HMAC<SHA256>.authenticationCode(for: signed, using: SymmetricKey(data: bytes))
        return [
            ("webhook-id", id), ("webhook-timestamp", "\(seconds)"),
            ("webhook-signature", "v1," + Base64.encode(Array(code))),
        ]
    }
}

extension SigningSecret: CustomStringConvertible {
    /// Without the secret.
    public var description: String { "signing secret" }
}
