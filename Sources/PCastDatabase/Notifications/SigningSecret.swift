internal import Crypto
public import PCastCore

/// The secret that signs the notifications to a callback (Standard Webhooks, symmetric signatures `v1`: HMAC-SHA256).
public struct SigningSecret: Sendable, Hashable {
    let bytes: [UInt8]

    private static let prefix = "whsec_"
    /// The sizes in bytes that the specification permits.
    private static let sizes = 24...64

    init?(_ bytes: [UInt8]) {
        guard Self.sizes.contains(bytes.count) else { return nil }
        self.bytes = bytes
    }

    /// Parses `whsec_` and base64; nil for other text, or if the secret has less than 24 or more than 64 bytes.
    public init?(_ text: String) {
        guard text.hasPrefix(Self.prefix), let bytes = Base64.decode(String(text.dropFirst(Self.prefix.count)))
        else { return nil }
        self.init(bytes)
    }

    /// Returns a random secret of 32 bytes.
    public static func random() -> SigningSecret {
        guard let made = SigningSecret(SymmetricKey(size: .bits256).withUnsafeBytes(Array.init)) else {
            preconditionFailure("32 bytes must be a valid size")
        }
        return made
    }

    /// The text form with the prefix `whsec_`, which backends use to verify signatures.
    public var text: String { Self.prefix + Base64.encode(bytes) }

    /// Returns the HTTP headers of a notification. `id` is the same for each attempt, so that a receiver recognizes
    /// repetitions. `time` is the time of the attempt.
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
    /// A constant text that does not contain the secret.
    public var description: String { "signing secret" }
}
