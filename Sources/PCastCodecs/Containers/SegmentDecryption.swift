import CFFmpeg

/// Decrypts a segment incrementally: AES-128 in CBC mode with PKCS #7 padding (RFC 8216, section 4.3.2.4).
package final class SegmentDecryption: @unchecked Sendable {  // owned by one thread at a time
    private let cipher: OpaquePointer
    private var vector: [UInt8]
    /// The bytes that do not fill a block, or the last block, whose padding must be removed.
    private var rest: [UInt8] = []

    private static let block = 16

    /// Creates a decryption. The key and the initialization vector must have 16 bytes each.
    package init(key: [UInt8], vector: [UInt8]) {
        precondition(
            key.count == Self.block && vector.count == Self.block,
            "AES-128 needs a key and an initialization vector of 16 bytes")
        guard let cipher = av_aes_alloc() else { fatalError("out of memory for a cipher") }
        self.cipher = cipher
        self.vector = vector
        av_aes_init(cipher, key, 128, 1)
    }

    deinit { av_free(UnsafeMutableRawPointer(cipher)) }

    /// Adds encrypted bytes and returns the bytes that can be decrypted so far.
    package func update(_ bytes: [UInt8]) -> [UInt8] {
        rest += bytes
        let count = max(0, (rest.count - 1) / Self.block)
        return decipher(count)
    }

    private func decipher(_ count: Int) -> [UInt8] {
        guard count > 0 else { return [] }
        var plain = [UInt8](repeating: 0, count: count * Self.block)
        av_aes_crypt(cipher, &plain, rest, Int32(count), &vector, 1)
        rest.removeFirst(count * Self.block)
        return plain
    }

    /// Returns the last bytes without the padding. Returns nil if the length is not a multiple of the block size or the
    /// padding is invalid.
    package func finish() -> [UInt8]? {
        guard rest.count == Self.block else { return nil }
        let plain = decipher(1)
        let padding = Int(plain[Self.block - 1])
        guard (1...Self.block).contains(padding), plain.suffix(padding).allSatisfy({ $0 == padding })
        else { return nil }
        return plain.dropLast(padding)
    }
}
