import COpenSSL

/// The value of MESSAGE-INTEGRITY: HMAC-SHA1 of the message before the attribute (RFC 8489, section 14.5).
enum STUNIntegrity {
    /// The size of the value in bytes.
    static let size = 20

    /// Writes the code of a message, whose length field must already include the attribute as the last one.
    static func authenticate(
        _ message: UnsafeRawBufferPointer, key: [UInt8], into code: UnsafeMutableRawBufferPointer
    ) {
        precondition(code.count >= size && !key.isEmpty)
        if key.count <= HMACSHA1.maximumKeyLength {
            HMACSHA1(key: key).authenticate(message, trailer: nil, into: code.baseAddress!, count: size)
            return
        }
        // A password may have up to 256 characters (RFC 8839, section 5.4), but rarely has more than 64.
        var length: UInt32 = 0
        let written = HMAC(
            EVP_sha1(), key, Int32(key.count), message.baseAddress?.assumingMemoryBound(to: UInt8.self),
            message.count, code.baseAddress?.assumingMemoryBound(to: UInt8.self), &length)
        precondition(written != nil && length == size, "every OpenSSL has HMAC-SHA1")
    }

    /// Returns whether the value of the attribute at `offset` is the code of the bytes before it, in constant time. The
    /// length field is changed in a copy, because attributes after it do not count.
    static func verify(_ bytes: UnsafeRawBufferPointer, attributeOffset offset: Int, key: [UInt8]) -> Bool {
        guard !key.isEmpty else { return false }
        return withUnsafeTemporaryAllocation(byteCount: offset + size, alignment: 8) { memory in
            let covered = UnsafeMutableRawBufferPointer(rebasing: memory[..<offset])
            let code = UnsafeMutableRawBufferPointer(rebasing: memory[offset...])
            covered.copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[..<offset]))
            let length = UInt16(offset + 4 + size - STUNMessage.headerSize)
            covered.storeBytes(of: length.bigEndian, toByteOffset: 2, as: UInt16.self)
            authenticate(UnsafeRawBufferPointer(covered), key: key, into: code)
            return CRYPTO_memcmp(code.baseAddress, bytes.baseAddress?.advanced(by: offset + 4), size) == 0
        }
    }
}
