internal import Crypto
import Glibc
import PCastMedia

/// The key that secrets are sealed with before they are recorded (AES-256-GCM): a copy of the records alone, as in a
/// backup, gives no secret away. Tokens are verified with the secret itself, so that a hash would not do.
public struct SealingKey: Sendable {
    private let key: SymmetricKey

    /// 32 bytes.
    public init?(_ bytes: [UInt8]) {
        guard bytes.count == 32 else { return nil }
        key = SymmetricKey(data: bytes)
    }

    private init() { key = SymmetricKey(size: .bits256) }

    /// One that nobody else has.
    public static func random() -> SealingKey { SealingKey() }

    /// - Parameter context: whose secret it is: what was sealed for one is not opened for another.
    func seal(_ secret: [UInt8], for context: String) -> [UInt8] {
        // Sealing fails only for keys and nonces of other sizes than these.
        guard let box = try? AES.GCM.seal(secret, using: key, authenticating: Array(context.utf8)),
            let bytes = box.combined
        else { preconditionFailure("AES-GCM refused a key of 256 bits") }
        return Array(bytes)
    }

    /// Nil when it was sealed with another key, or for another context.
    func open(_ sealed: [UInt8], for context: String) -> [UInt8]? {
        guard let box = try? AES.GCM.SealedBox(combined: sealed),
            let secret = try? AES.GCM.open(box, using: key, authenticating: Array(context.utf8))
        else { return nil }
        return Array(secret)
    }

    /// Reads the key of a file, or makes it: 32 bytes in base 64 on a line, for its owner alone.
    ///
    /// - Parameter mayMake: false where secrets were sealed already, so that a new key would open none of them.
    public static func load(_ path: String, mayMake: Bool) throws(RecordsError) -> SealingKey {
        let descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            guard errno == ENOENT else { throw .inaccessible(path: path, reason: String(cString: strerror(errno))) }
            guard mayMake else { throw .key(path: path, reason: "it is missing; put it back, or name it") }
            return try make(path)
        }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 128)
        let count = max(read(descriptor, &bytes, bytes.count), 0)
        let text = String(decoding: bytes[..<count].prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
        guard let key = Base64.decode(text).flatMap({ SealingKey($0) }) else {
            throw .key(path: path, reason: "it is not 32 bytes in base 64")
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
