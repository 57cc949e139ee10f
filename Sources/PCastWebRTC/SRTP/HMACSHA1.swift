import COpenSSL

/// HMAC-SHA1 (RFC 2104). The two key blocks are hashed in advance, and no memory is allocated for a key or message.
struct HMACSHA1 {
    static let digestLength = 20

    private var inner = SHA_CTX()
    private var outer = SHA_CTX()

    /// The maximum length of a key in bytes, for which RFC 2104 needs no hash of the key.
    static let maximumKeyLength = 64

    init(key: [UInt8]) {
        precondition(key.count <= Self.maximumKeyLength, "the key must not be longer than a block")
        pcast_sha1_init(&inner)
        pcast_sha1_init(&outer)
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 64) { block in
            block.initialize(repeating: 0x36)
            for index in key.indices { block[index] ^= key[index] }
            pcast_sha1_update(&inner, block.baseAddress, 64)
            for index in block.indices { block[index] ^= 0x36 ^ 0x5C }
            pcast_sha1_update(&outer, block.baseAddress, 64)
        }
    }

    /// Writes the first `count` bytes of the code of `message`, followed by `trailer` in network byte order.
    func authenticate(
        _ message: UnsafeRawBufferPointer, trailer: UInt32?, into tag: UnsafeMutableRawPointer, count: Int
    ) {
        var context = inner
        pcast_sha1_update(&context, message.baseAddress, message.count)
        if var trailer = trailer?.bigEndian { pcast_sha1_update(&context, &trailer, 4) }
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: Self.digestLength) { digest in
            pcast_sha1_final(digest.baseAddress!, &context)
            context = outer
            pcast_sha1_update(&context, digest.baseAddress!, Self.digestLength)
            pcast_sha1_final(digest.baseAddress!, &context)
            tag.copyMemory(from: digest.baseAddress!, byteCount: count)
        }
    }

    /// Returns whether `tag` is the beginning of the code of `message` and `trailer`, in constant time.
    func isAuthentic(
        _ message: UnsafeRawBufferPointer, trailer: UInt32?, tag: UnsafeRawPointer, count: Int
    ) -> Bool {
        withUnsafeTemporaryAllocation(byteCount: Self.digestLength, alignment: 8) { expected in
            authenticate(message, trailer: trailer, into: expected.baseAddress!, count: count)
            return CRYPTO_memcmp(expected.baseAddress!, tag, count) == 0
        }
    }
}
