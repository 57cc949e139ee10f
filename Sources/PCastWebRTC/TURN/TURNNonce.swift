import PCastMedia

/// Nonces that need no memory: the time at which one was made, and a code of it by a key that only the server knows.
///
/// The first thirteen characters tell clients that there is a choice of password algorithms (RFC 8489, section 9.2).
struct TURNNonce: Sendable {
    private static let features = "obMatJos2gAAA"

    /// An older one is stale, and its request is answered with a fresh one (RFC 8656, section 5: an hour at most).
    static let lifetime = TimeSpan.seconds(600 as Int64)

    let key: [UInt8]

    /// For one client, so that another's does not do.
    func make(for client: String, at now: Instant) -> String {
        let time = String(now.nanoseconds / 1_000_000_000, radix: 16)
        return Self.features + time + "-" + code(time, client)
    }

    func isFresh(_ nonce: String, for client: String, at now: Instant) -> Bool {
        guard nonce.hasPrefix(Self.features), nonce.utf8.count <= 128 else { return false }
        let parts = nonce.dropFirst(Self.features.count).split(separator: "-", maxSplits: 1)
        guard parts.count == 2, let seconds = Int64(parts[0], radix: 16),
            HMACCode.isEqual(Array(parts[1].utf8), Array(code(String(parts[0]), client).utf8))
        else { return false }
        let age = now.nanoseconds / 1_000_000_000 - seconds
        return age >= 0 && age <= Self.lifetime.nanoseconds / 1_000_000_000
    }

    private func code(_ time: String, _ client: String) -> String {
        Base64.encode(Array(HMACCode.make(.sha256, key: key, of: Array("\(time) \(client)".utf8))[..<18]))
    }
}
