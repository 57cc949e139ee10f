import PCastCore

/// Stateless nonces: each contains the time of its creation and a code of it by a key of the server.
///
/// The first thirteen characters tell clients that they can choose a password algorithm (RFC 8489, section 9.2).
struct TURNNonce: Sendable {
    /// The nonce cookie and the security feature bits (RFC 8489, section 9.2).
    private static let features = "obMatJos2gAAA"

    /// The lifetime of a nonce. A request with an older one receives a new nonce; the maximum is an hour (RFC 8656,
    /// section 5).
    static let lifetime = TimeSpan.seconds(600 as Int64)

    /// The key of the server.
    let key: [UInt8]

    /// Returns a nonce for a client, which another client cannot use.
    func make(for client: String, at now: Instant) -> String {
        let time = String(now.nanoseconds / 1_000_000_000, radix: 16)
        return Self.features + time + "-" + code(time, client)
    }

    /// Returns whether a nonce was created for the client within its lifetime.
    func isFresh(_ nonce: String, for client: String, at now: Instant) -> Bool {
        guard nonce.hasPrefix(Self.features), nonce.utf8.count <= 128 else { return false }
        let parts = nonce.dropFirst(Self.features.count).split(separator: "-", maxSplits: 1)
        guard parts.count == 2, let seconds = Int64(parts[0], radix: 16),
            HMACCode.isEqual(Array(parts[1].utf8), Array(code(String(parts[0]), client).utf8))
        else { return false }
        let age = now.nanoseconds / 1_000_000_000 - seconds
        return age >= 0 && age <= Self.lifetime.nanoseconds / 1_000_000_000
    }

    /// Returns the code of a time and a client, 18 bytes in Base64.
    private func code(_ time: String, _ client: String) -> String {
        Base64.encode(Array(HMACCode.make(.sha256, key: key, of: Array("\(time) \(client)".utf8))[..<18]))
    }
}
