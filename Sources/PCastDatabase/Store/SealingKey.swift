internal import Crypto
import Glibc
import PCastCore

/// The key that encrypts secrets in the database (AES-256-GCM), so that a copy of the database alone, such as a backup,
/// does not reveal them. A hash is not sufficient, because tokens are verified with the secret itself.
package struct SealingKey: Sendable {
    private let key: SymmetricKey

    /// Creates a key from 32 bytes; nil for another size.
    package init?(_ bytes: [UInt8]) {
        guard bytes.count == 32 else { return nil }
        key = SymmetricKey(data: bytes)
    }

    private init() { key = SymmetricKey(size: .bits256) }

    /// Returns a random key.
    package static func random() -> SealingKey { SealingKey() }

    /// Encrypts a secret. `context` names its owner: the result cannot be decrypted for another context.
    func seal(_ secret: [UInt8], for context: String) -> [UInt8] {
        // Encryption fails only for invalid sizes of key or nonce.
        guard let box = try? AES.GCM.seal(secret, using: key, authenticating: Array(context.utf8)),
            let bytes = box.combined
        else { preconditionFailure("AES-GCM must accept a key of 256 bits") }
        return Array(bytes)
    }

    /// Decrypts a secret; nil if it was encrypted with another key or for another context.
    func open(_ sealed: [UInt8], for context: String) -> [UInt8]? {
        guard let box = try? AES.GCM.SealedBox(combined: sealed),
            let secret = try? AES.GCM.open(box, using: key, authenticating: Array(context.utf8))
        else { return nil }
        return Array(secret)
    }

    /// Returns a value by which a secret can be found, 32 bytes. It does not reveal the secret to those without the key
    /// (HMAC-SHA256 with a key that HKDF derives).
    func fingerprint(of secret: [UInt8], for context: String) -> [UInt8] {
        let derived = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: key, info: Array("fingerprint of \(context)".utf8), outputByteCount: 32)
        return Array(HMAC<SHA256>.authenticationCode(for: secret, using: derived))
    }

    /// Reads the key from a file: 32 bytes as one line of base64. If the file is missing and `mayMake` is true, creates
    /// it with a random key, readable by its owner only. `mayMake` is false if secrets exist already, because a new key
    /// could not decrypt them.
    ///
    /// - Throws: ``RecordsError``.
    package static func load(_ path: String, mayMake: Bool) throws(RecordsError) -> SealingKey {
        let descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            guard errno == ENOENT else { throw .inaccessible(path: path, reason: String(cString: strerror(errno))) }
            guard mayMake else { throw .key(path: path, reason: "it is missing; restore it, or set --data-key") }
            return try make(path)
        }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 128)
        let count = max(read(descriptor, &bytes, bytes.count), 0)
        let text = String(decoding: bytes[..<count].prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
        guard let key = Base64.decode(text).flatMap({ SealingKey($0) }) else {
            throw .key(path: path, reason: "it is not 32 bytes in Base64")
        }
        return key
    }

    private static func make(_ path: String) throws(RecordsError) -> SealingKey {
        let made = SealingKey()
        let text = Array((Base64.encode(made.key.withUnsafeBytes(Array.init)) + "\n").utf8)
        let descriptor = Glibc.open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw .inaccessible(path: path, reason: String(cString: strerror(errno))) }
        defer { close(descriptor) }
        guard write(descriptor, text, text.count) == text.count, fsync(descriptor) == 0 else {
            let isFull = errno == ENOSPC
            unlink(path)
            throw isFull ? .full(path: path) : .inaccessible(path: path, reason: "it could not be written")
        }
        return made
    }
}
