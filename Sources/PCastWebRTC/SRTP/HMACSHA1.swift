import COpenSSL
import PCastCore

/// HMAC-SHA1 (RFC 2104). The two key blocks are hashed in advance, and no memory is allocated for a key or message.
///
/// Its pointers are safe because OpenSSL reads and writes as many bytes as the views and temporary buffers have, which
/// are valid during the call.
struct HMACSHA1 {
    static let digestLength = 20

    private var inner = SHA_CTX()
    private var outer = SHA_CTX()

    /// The maximum length of a key in bytes, for which RFC 2104 needs no hash of the key.
    static let maximumKeyLength = 64

    init(key: [UInt8]) {
        precondition(key.count <= Self.maximumKeyLength, "the key must not be longer than a block")
        unsafe pcast_sha1_init(&inner)
        unsafe pcast_sha1_init(&outer)
        unsafe withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 64) { block in
            unsafe block.initialize(repeating: 0x36)
            for index in key.indices { unsafe block[index] ^= key[index] }
            unsafe pcast_sha1_update(&inner, block.baseAddress, 64)
            for index in block.indices { unsafe block[index] ^= 0x36 ^ 0x5C }
            unsafe pcast_sha1_update(&outer, block.baseAddress, 64)
        }
    }

    /// Writes the beginning of the code of `message`, followed by `trailer` in network byte order, into a tag of at most
    /// ``digestLength`` bytes.
    func authenticate(_ message: ByteView, trailer: UInt32?, into tag: MutableByteView) {
        precondition(tag.count <= Self.digestLength, "the tag must not be longer than a digest")
        var context = inner
        unsafe pcast_sha1_update(&context, message.unsafeBytes.baseAddress, message.count)
        if var trailer = trailer?.bigEndian { unsafe pcast_sha1_update(&context, &trailer, 4) }
        unsafe withUnsafeTemporaryAllocation(of: UInt8.self, capacity: Self.digestLength) { digest in
            unsafe pcast_sha1_final(digest.baseAddress!, &context)
            context = outer
            unsafe pcast_sha1_update(&context, digest.baseAddress!, Self.digestLength)
            unsafe pcast_sha1_final(digest.baseAddress!, &context)
            unsafe tag.unsafeBytes.copyMemory(
                from: UnsafeRawBufferPointer(start: digest.baseAddress!, count: tag.count))
        }
    }

    /// Returns whether `tag` is the beginning of the code of `message` and `trailer`, in constant time.
    func isAuthentic(_ message: ByteView, trailer: UInt32?, tag: ByteView) -> Bool {
        withTemporaryBytes(Self.digestLength) { bytes in
            let expected = bytes.extracting(0..<tag.count)
            authenticate(message, trailer: trailer, into: expected)
            return HMACCode.isEqual(ByteView(expected), tag)
        }
    }
}

/// HMAC (RFC 2104) for messages that are not on the media path.
///
/// Its pointers are safe because the buffer has the largest size that OpenSSL writes, and codes are compared only if
/// their sizes are equal.
enum HMACCode {
    /// The hash function.
    enum Hash { case sha1, sha256 }

    /// Returns the code of a message.
    static func make(_ hash: Hash, key: [UInt8], of message: [UInt8]) -> [UInt8] {
        var code = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
        var length: UInt32 = 0
        let type = unsafe hash == .sha1 ? EVP_sha1() : EVP_sha256()
        let written = unsafe HMAC(type, key, Int32(key.count), message, message.count, &code, &length)
        unsafe precondition(written != nil, "every OpenSSL has HMAC")
        return Array(code[..<Int(length)])
    }

    /// Returns whether two codes are equal, in constant time.
    static func isEqual(_ first: [UInt8], _ second: [UInt8]) -> Bool {
        first.withByteView { first in second.withByteView { isEqual(first, $0) } }
    }

    /// Returns whether two codes are equal, in constant time.
    static func isEqual(_ first: ByteView, _ second: ByteView) -> Bool {
        unsafe first.count == second.count
            && CRYPTO_memcmp(first.unsafeBytes.baseAddress, second.unsafeBytes.baseAddress, first.count) == 0
    }
}

/// The hash functions of OpenSSL for messages that are not on the media path.
///
/// Its pointers are safe because the buffer has the largest size that OpenSSL writes.
enum MessageDigest {
    case md5, sha256, sha384, sha512

    /// Returns the hash of a message.
    static func digest(_ function: MessageDigest, of message: [UInt8]) -> [UInt8] {
        let type =
            switch function {
            case .md5: unsafe EVP_md5()
            case .sha256: unsafe EVP_sha256()
            case .sha384: unsafe EVP_sha384()
            case .sha512: unsafe EVP_sha512()
            }
        var digest = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
        var length: UInt32 = 0
        let made = unsafe EVP_Digest(message, message.count, &digest, &length, type, nil)
        precondition(made == 1, "every OpenSSL has this hash function")
        return Array(digest[..<Int(length)])
    }
}
