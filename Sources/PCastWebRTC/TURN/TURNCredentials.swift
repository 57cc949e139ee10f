public import PCastMedia

/// A name and a password that are good for a while, made from a secret that only the server knows
/// (draft-uberti-behave-turn-rest): the name says until when, the password is a code of the name.
public struct TURNCredentials: Hashable, Sendable {
    public let username: String
    public let password: String

    public init(username: String, password: String) {
        self.username = username
        self.password = password
    }

    /// - Parameters:
    ///   - user: anything without a colon that tells users apart; quotas count by it.
    ///   - expiry: nothing new is begun with them afterwards.
    public static func make(secret: [UInt8], user: String, expiry: WallTime) -> TURNCredentials {
        let username = "\(expiry.nanosecondsSinceEpoch / 1_000_000_000):\(user)"
        return TURNCredentials(username: username, password: password(of: username, secret: secret))
    }

    static func password(of username: String, secret: [UInt8]) -> String {
        Base64.encode(HMACCode.make(.sha1, key: secret, of: Array(username.utf8)))
    }

    /// Seconds since 1970 that stand before the colon; nil where that is not how the name reads.
    static func expiry(of username: String) -> Int64? {
        guard let colon = username.firstIndex(of: ":"), username.utf8.count <= 512 else { return nil }
        return Int64(username[..<colon])
    }
}

extension TURNCredentials: CustomStringConvertible, CustomReflectable {
    /// Without the password.
    public var description: String { "TURNCredentials(\(username))" }
    public var customMirror: Mirror { Mirror(self, children: ["username": username]) }
}
