import Crypto
import PCastCore

/// Signs messages between nodes that have a common secret.
///
/// A message has a purpose and a nonce, which are signed with it. Therefore a message cannot be used for another purpose
/// or exchange. No clock is involved, because the clocks of nodes may differ.
package struct NodeSignature: Sendable {
    /// The minimum number of bytes of a secret.
    package static let minimumSecretSize = 16

    private let key: SymmetricKey

    /// Creates a signer. Returns nil if the secret has less than ``minimumSecretSize`` bytes.
    package init?(secret: String) {
        guard secret.utf8.count >= Self.minimumSecretSize else { return nil }
        key = SymmetricKey(data: Array(secret.utf8))
    }

    /// Returns the HMAC-SHA-256 (RFC 2104) of a message in base64.
    package func sign(_ payload: String, purpose: String, nonce: String) -> String {
        let code = HMAC<SHA256>.authenticationCode(for: Self.message(payload, purpose, nonce), using: key)
        return Base64.encode(Array(code))
    }

    /// Checks a signature in constant time.
    package func isValid(_ signature: String, of payload: String, purpose: String, nonce: String) -> Bool {
        guard let code = Base64.decode(signature) else { return false }
        return HMAC<SHA256>.isValidAuthenticationCode(
            code, authenticating: Self.message(payload, purpose, nonce), using: key)
    }

    /// The parts are preceded by their sizes, so that no two messages have the same bytes.
    private static func message(_ payload: String, _ purpose: String, _ nonce: String) -> [UInt8] {
        Array("\(purpose.utf8.count) \(nonce.utf8.count) \(purpose) \(nonce) \(payload)".utf8)
    }
}
