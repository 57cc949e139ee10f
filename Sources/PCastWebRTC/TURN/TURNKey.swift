package import PCastCore

/// The key of a long-term credential (RFC 8489, section 9.2.2), and its message integrity algorithm.
struct TURNKey: Hashable, Sendable {
    /// The password algorithms. The raw values are their numbers (RFC 8489, section 18.5).
    enum Algorithm: UInt16, Hashable, Sendable {
        case md5 = 1
        case sha256 = 2
    }

    let algorithm: Algorithm
    private let key: [UInt8]

    /// Computes the hash of username, realm and password.
    init(_ algorithm: Algorithm, username: String, realm: String, password: String) {
        self.algorithm = algorithm
        key = MessageDigest.digest(
            algorithm == .md5 ? .md5 : .sha256, of: Array("\(username):\(realm):\(password)".utf8))
    }

    /// The attribute of the code: MESSAGE-INTEGRITY for MD5, and MESSAGE-INTEGRITY-SHA256 for SHA-256.
    var attributeType: UInt16 {
        algorithm == .md5 ? STUNAttributeType.messageIntegrity : TURNAttributeType.messageIntegritySHA256
    }

    /// The size of a code in bytes.
    var codeLength: Int { algorithm == .md5 ? 20 : 32 }

    /// Returns the code of a message.
    func code(of message: [UInt8]) -> [UInt8] {
        HMACCode.make(algorithm == .md5 ? .sha1 : .sha256, key: key, of: message)
    }

    /// Returns whether a code is that of a message, in constant time.
    func isCode(_ code: [UInt8], of message: [UInt8]) -> Bool { HMACCode.isEqual(code, self.code(of: message)) }
}

/// Credentials with a limited lifetime, which derive from a secret of the server (draft-uberti-behave-turn-rest). The
/// username contains the expiration, and the password is the HMAC of the username.
package struct TURNCredentials: Hashable, Sendable {
    /// The username, `expiration:user`.
    package let username: String
    /// The password.
    package let password: String

    /// Creates credentials from username and password.
    package init(username: String, password: String) {
        self.username = username
        self.password = password
    }

    /// Creates credentials that expire.
    ///
    /// - Parameters:
    ///   - secret: The secret of the server.
    ///   - user: An identifier of the user without a colon, by which quotas count.
    ///   - expiry: The time after which no allocation can be made with the credentials.
    /// - Returns: The credentials.
    package static func make(secret: [UInt8], user: String, expiry: WallTime) -> TURNCredentials {
        let username = "\(expiry.nanosecondsSinceEpoch / 1_000_000_000):\(user)"
        return TURNCredentials(username: username, password: password(of: username, secret: secret))
    }

    /// Returns the password of a username: its HMAC-SHA1 in Base64.
    static func password(of username: String, secret: [UInt8]) -> String {
        Base64.encode(HMACCode.make(.sha1, key: secret, of: Array(username.utf8)))
    }

    /// Returns the expiration in a username, in seconds since 1970; nil if the username has another form.
    static func expiry(of username: String) -> Int64? {
        guard let colon = username.firstIndex(of: ":"), username.utf8.count <= 512 else { return nil }
        return Int64(username[..<colon])
    }
}

extension TURNCredentials: CustomStringConvertible, CustomReflectable {
    /// The username without the password.
    package var description: String { "TURNCredentials(\(username))" }
    /// A mirror that contains only the username.
    package var customMirror: Mirror { Mirror(self, children: ["username": username]) }
}
