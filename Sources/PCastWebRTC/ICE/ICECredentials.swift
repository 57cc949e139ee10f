/// An ICE username fragment and its password (RFC 8445, section 5.3; grammar in RFC 8839, section 5.4).
///
/// Descriptions leave out the password, for `print` as well as for `dump`.
public struct ICECredentials: Hashable, Sendable {
    /// The username fragment.
    public let ufrag: String
    /// The password.
    public let password: String

    /// The username fragment in UTF-8.
    let ufragBytes: [UInt8]

    /// The HMAC key, which is the password of a short-term credential (RFC 8489, section 9.1.1).
    let key: [UInt8]

    /// Creates credentials. Returns nil unless the fragment has 4 to 256 and the password 22 to 256 characters. Each
    /// visible ASCII character except the colon, which separates a USERNAME, is accepted, because some peers use
    /// characters that the grammar lacks.
    public init?(ufrag: String, password: String) {
        guard (4...256).contains(ufrag.utf8.count), (22...256).contains(password.utf8.count),
            ufrag.utf8.allSatisfy(Self.isAcceptable), password.utf8.allSatisfy(Self.isAcceptable)
        else { return nil }
        self.init(validUfrag: ufrag, password: password)
    }

    private init(validUfrag ufrag: String, password: String) {
        self.ufrag = ufrag
        self.password = password
        ufragBytes = Array(ufrag.utf8)
        key = Array(password.utf8)
    }

    private static func isAcceptable(_ byte: UInt8) -> Bool {
        (0x21...0x7E).contains(byte) && byte != UInt8(ascii: ":")
    }

    /// Returns random credentials with 6 bits per character.
    ///
    /// - Parameters:
    ///   - ufragLength: The length of the fragment, 4 to 256. A server needs a longer one, because its fragments must
    ///     be unique among its peers.
    ///   - mark: A number from 0 to 63 that the first character of the fragment encodes; nil for a random character.
    ///   - generator: A cryptographically secure generator.
    /// - Returns: The credentials.
    public static func random(
        ufragLength: Int = 8, mark: Int? = nil, using generator: inout some RandomNumberGenerator
    ) -> ICECredentials {
        precondition((4...256).contains(ufragLength))
        var ufrag = mark.map { String(UnicodeScalar(alphabet[$0])) } ?? ""
        ufrag += randomCharacters(ufragLength - ufrag.utf8.count, using: &generator)
        return ICECredentials(validUfrag: ufrag, password: randomCharacters(24, using: &generator))
    }

    /// Returns the number that the first character of a ufrag encodes (see ``random(ufragLength:mark:using:)``); nil
    /// if it is not in the alphabet.
    public static func mark(of character: UInt8) -> Int? { alphabet.firstIndex(of: character) }

    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    private static func randomCharacters(_ count: Int, using generator: inout some RandomNumberGenerator) -> String {
        var bytes: [UInt8] = []
        for _ in 0..<count { bytes.append(alphabet[Int(generator.next() >> 58)]) }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Returns whether the USERNAME of a request belongs to these credentials. While the remote fragment is unknown,
    /// any is accepted (RFC 8445, section 7.3).
    func accept(username: Range<Int>, of bytes: Span<UInt8>, from remote: ICECredentials?) -> Bool {
        let own = ufragBytes.count
        guard username.count > own, username.upperBound <= bytes.count,
            bytes[username.lowerBound + own] == UInt8(ascii: ":")
        else { return false }
        for index in 0..<own where bytes[username.lowerBound + index] != ufragBytes[index] { return false }
        guard let remote else { return true }
        let rest = username.lowerBound + own + 1
        guard username.upperBound - rest == remote.ufragBytes.count else { return false }
        for index in 0..<remote.ufragBytes.count where bytes[rest + index] != remote.ufragBytes[index] {
            return false
        }
        return true
    }

    /// Returns whether a request to the owner of these credentials is authentic.
    func authenticate(_ request: STUNMessage, _ bytes: Span<UInt8>, from remote: ICECredentials?) -> Bool {
        guard let username = request.usernameRange, accept(username: username, of: bytes, from: remote) else {
            return false
        }
        return request.verifyIntegrity(bytes, key: key)
    }
}

extension ICECredentials: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The username fragment without the password.
    public var description: String { "ICECredentials(\(ufrag))" }
    /// The username fragment without the password.
    public var debugDescription: String { description }
    /// A mirror that contains only the username fragment.
    public var customMirror: Mirror { Mirror(self, children: ["ufrag": ufrag]) }
}
