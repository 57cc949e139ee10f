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

/// The decryption of samples: AES-128 in CBC mode with a key that is known (`SAMPLE-AES`; RFC 8216, section 4.3.2.4).
///
/// The samples of transport streams and of packed audio are encrypted according to Apple's "MPEG-2 Stream Encryption Format
/// for HTTP Live Streaming". Fragmented MP4 uses the scheme `cbcs` (ISO/IEC 23001-7), which libavformat decrypts.
package struct SampleDecryption: Hashable, Sendable {
    /// The key, 16 bytes.
    let key: [UInt8]
    /// The initialization vector, 16 bytes. Fragmented MP4 has its own.
    private let vector: [UInt8]

    private static let block = 16
    /// The bytes at the beginning of a NAL unit and of an audio frame behind its header that are not encrypted.
    private static let leaders = (video: 32, audio: 16)
    /// The size up to which a NAL unit is not encrypted.
    private static let plainUnitSize = 48
    /// The bytes after each encrypted block of a NAL unit that are not encrypted.
    private static let gap = 144

    /// Creates a decryption. The key and the initialization vector must have 16 bytes each.
    package init(key: [UInt8], vector: [UInt8]) {
        precondition(
            key.count == Self.block && vector.count == Self.block,
            "AES-128 needs a key and an initialization vector of 16 bytes")
        (self.key, self.vector) = (key, vector)
    }

    /// Decrypts an access unit of H.264 in the byte stream format. It becomes shorter where emulation prevention of the
    /// encrypted bytes is removed.
    package func decryptedH264(_ bytes: [UInt8]) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count)
        var start = Self.startCode(in: bytes, from: 0)
        result += bytes[..<(start ?? bytes.count)]
        while let code = start {
            let unit = code + 3
            let next = Self.startCode(in: bytes, from: unit)
            var end = next ?? bytes.count
            result += bytes[code..<unit]
            // Zero bytes before a start code do not belong to the unit.
            while end > unit, bytes[end - 1] == 0 { end -= 1 }
            result += decryptedUnit(bytes[unit..<end])
            result += bytes[end..<(next ?? bytes.count)]
            start = next
        }
        return result
    }

    /// Returns the index of the next start code; nil if there is none.
    private static func startCode(in bytes: [UInt8], from first: Int) -> Int? {
        var index = first
        while index + 2 < bytes.count {
            if bytes[index + 2] > 1 {
                index += 3
            } else if bytes[index] == 0, bytes[index + 1] == 0, bytes[index + 2] == 1 {
                return index
            } else {
                index += 1
            }
        }
        return nil
    }

    /// Decrypts a NAL unit, if it is a slice that is long enough to be encrypted.
    private func decryptedUnit(_ unit: ArraySlice<UInt8>) -> [UInt8] {
        guard let first = unit.first, first & 0x1F == 1 || first & 0x1F == 5, unit.count > Self.plainUnitSize else {
            return Array(unit)
        }
        var plain: [UInt8] = []
        plain.reserveCapacity(unit.count)
        var zeros = 0
        for byte in unit {
            // Emulation prevention was applied to the encrypted unit.
            if zeros >= 2, byte == 3 {
                zeros = 0
                continue
            }
            zeros = byte == 0 ? zeros + 1 : 0
            plain.append(byte)
        }
        guard plain.count > Self.plainUnitSize else { return Array(unit) }
        var blocks: [Int] = []
        var offset = Self.leaders.video
        while plain.count - offset > Self.block {
            blocks.append(offset)
            offset += Self.block + Self.gap
        }
        decrypt(blocks, in: &plain)
        return plain
    }

    /// Decrypts frames of AAC with ADTS headers. What is no frame is returned unchanged.
    package func decryptedADTS(_ bytes: [UInt8]) -> [UInt8] {
        var result = bytes
        var start = 0
        while start + 7 <= result.count, result[start] == 0xFF, result[start + 1] & 0xF6 == 0xF0 {
            let header = result[start + 1] & 1 == 0 ? 9 : 7
            let size =
                Int(result[start + 3] & 3) << 11 | Int(result[start + 4]) << 3 | Int(result[start + 5] >> 5)
            guard size >= header, size <= result.count - start else { break }
            let first = start + header + Self.leaders.audio
            let end = start + size
            if first < end {
                decrypt(Array(stride(from: first, through: end - Self.block, by: Self.block)), in: &result)
            }
            start = end
        }
        return result
    }

    /// Decrypts blocks at offsets, which are chained.
    private func decrypt(_ blocks: [Int], in bytes: inout [UInt8]) {
        guard !blocks.isEmpty else { return }
        guard let cipher = av_aes_alloc() else { fatalError("out of memory for a cipher") }
        defer { av_free(UnsafeMutableRawPointer(cipher)) }
        av_aes_init(cipher, key, 128, 1)
        var vector = vector
        var plain = [UInt8](repeating: 0, count: Self.block)
        for offset in blocks {
            let range = offset..<(offset + Self.block)
            av_aes_crypt(cipher, &plain, Array(bytes[range]), 1, &vector, 1)
            bytes.replaceSubrange(range, with: plain)
        }
    }
}
