import COpenSSL

/// The key of a long-term credential (RFC 8489, section 9.2.2), and which integrity it makes.
struct TURNKey: Hashable, Sendable {
    enum Algorithm: UInt16, Hashable, Sendable {
        case md5 = 1
        case sha256 = 2
    }

    let algorithm: Algorithm
    private let key: [UInt8]

    init(_ algorithm: Algorithm, username: String, realm: String, password: String) {
        self.algorithm = algorithm
        let text = Array("\(username):\(realm):\(password)".utf8)
        var digest = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
        var length: UInt32 = 0
        let type = algorithm == .md5 ? EVP_md5() : EVP_sha256()
        precondition(EVP_Digest(text, text.count, &digest, &length, type, nil) == 1, "part of every OpenSSL")
        key = Array(digest[..<Int(length)])
    }

    /// MESSAGE-INTEGRITY for MD5, and MESSAGE-INTEGRITY-SHA256 for what replaces it.
    var attributeType: UInt16 {
        algorithm == .md5 ? STUNAttributeType.messageIntegrity : TURNAttributeType.messageIntegritySHA256
    }

    /// Bytes of a code.
    var codeLength: Int { algorithm == .md5 ? 20 : 32 }

    func code(of message: [UInt8]) -> [UInt8] {
        HMACCode.make(algorithm == .md5 ? .sha1 : .sha256, key: key, of: message)
    }

    func isCode(_ code: [UInt8], of message: [UInt8]) -> Bool { HMACCode.isEqual(code, self.code(of: message)) }
}

/// Codes by HMAC (RFC 2104) for what is said now and then.
enum HMACCode {
    enum Hash { case sha1, sha256 }

    static func make(_ hash: Hash, key: [UInt8], of message: [UInt8]) -> [UInt8] {
        var code = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
        var length: UInt32 = 0
        let type = hash == .sha1 ? EVP_sha1() : EVP_sha256()
        let written = HMAC(type, key, Int32(key.count), message, message.count, &code, &length)
        precondition(written != nil, "HMAC is part of every OpenSSL")
        return Array(code[..<Int(length)])
    }

    /// In a time that does not tell where they differ.
    static func isEqual(_ first: [UInt8], _ second: [UInt8]) -> Bool {
        first.count == second.count && CRYPTO_memcmp(first, second, first.count) == 0
    }
}
