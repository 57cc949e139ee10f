import Crypto
import FoundationEssentials
package import PCastCore

/// Signs paths, so that players and content delivery networks load media below them without a token.
///
/// A signature names a window of twelve hours and not a client. So all viewers use the same URIs, and a content delivery
/// network can serve them from its cache. A signature is accepted in its window and in the next one, because players do
/// not load the multivariant playlist again.
package struct PathSigner: Sendable {
    /// The result of a check.
    package enum Verdict: Hashable, Sendable {
        /// The signature is that of the path.
        case valid
        /// It was that of the path, and its window ended more than a window ago.
        case expired
        /// It is not the signature of the path.
        case invalid
    }

    /// The duration of a window.
    package static let window = TimeSpan.seconds(12 * 3_600 as Int64)

    private let key: SymmetricKey

    /// The number of bytes of a key.
    package static let keySize = 32

    /// Creates a signer. The key must be random and have ``keySize`` bytes.
    package init(key: [UInt8]) {
        precondition(key.count == Self.keySize, "a key has \(Self.keySize) bytes")
        self.key = SymmetricKey(data: key)
    }

    /// Returns the signature of a path in the window of a time: the number of the window, a hyphen, and the HMAC-SHA-256
    /// (RFC 2104) of both as 64 hexadecimal digits.
    package func signature(of path: String, at time: WallTime) -> String {
        let number = Self.number(at: time)
        let code = HMAC<SHA256>.authenticationCode(for: Self.message(path, number), using: key)
        return "\(number)-" + code.map { Self.digits($0) }.joined()
    }

    /// Checks a signature in constant time.
    package func check(_ signature: String, of path: String, at time: WallTime) -> Verdict {
        let fields = signature.split(separator: "-", omittingEmptySubsequences: false)
        guard signature.utf8.count <= 96, fields.count == 2, let number = Int64(fields[0]),
            String(number) == fields[0], let code = Self.bytes(fields[1]),
            HMAC<SHA256>.isValidAuthenticationCode(code, authenticating: Self.message(path, number), using: key)
        else { return .invalid }
        return (0...1).contains(Self.number(at: time) - number) ? .valid : .expired
    }

    private static func number(at time: WallTime) -> Int64 {
        time.nanosecondsSinceEpoch / window.nanoseconds
    }

    private static func message(_ path: String, _ number: Int64) -> [UInt8] { Array("\(number) \(path)".utf8) }

    private static func digits(_ byte: UInt8) -> String { (byte < 16 ? "0" : "") + String(byte, radix: 16) }

    /// Returns the bytes of lowercase hexadecimal digits; nil for other text.
    private static func bytes(_ digits: Substring) -> [UInt8]? {
        let values = digits.utf8.map { character -> UInt8? in
            switch character {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): character - UInt8(ascii: "0")
            case UInt8(ascii: "a")...UInt8(ascii: "f"): character - UInt8(ascii: "a") + 10
            default: nil
            }
        }
        guard values.count == 2 * SHA256Digest.byteCount else { return nil }
        var bytes: [UInt8] = []
        for index in stride(from: 0, to: values.count, by: 2) {
            guard let high = values[index], let low = values[index + 1] else { return nil }
            bytes.append(high << 4 | low)
        }
        return bytes
    }
}
