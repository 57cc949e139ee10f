import COpenSSL
import PCastPackaging

/// Encrypts media files as a whole: AES-128 in CBC mode with PKCS #7 padding (RFC 8216bis, section 4.4.4.4).
enum SegmentEncryption {
    /// The size of a block, of a key and of an initialization vector in bytes.
    private static let block = 16

    /// Returns the encryption of a packager with random keys, each for a number of segments.
    static func packager(segmentsPerKey: Int) -> PackagerEncryption {
        PackagerEncryption(
            segmentsPerKey: Int64(segmentsPerKey),
            makeKey: {
                var generator = SystemRandomNumberGenerator()
                return (0..<block).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
            }, encrypt: { encrypt($0, key: $1, vector: $2) })
    }

    /// Returns the encrypted bytes. The key and the initialization vector must have 16 bytes.
    static func encrypt(_ bytes: [UInt8], key: [UInt8], vector: [UInt8]) -> [UInt8] {
        precondition(key.count == block && vector.count == block, "AES-128 needs a key and a vector of 16 bytes")
        let padding = block - bytes.count % block
        let padded = bytes + [UInt8](repeating: UInt8(padding), count: padding)
        var output = [UInt8](repeating: 0, count: padded.count + block)
        var written: Int32 = 0
        guard let context = EVP_CIPHER_CTX_new() else { fatalError("out of memory for a cipher") }
        defer { EVP_CIPHER_CTX_free(context) }
        guard EVP_EncryptInit_ex(context, EVP_aes_128_cbc(), nil, key, vector) == 1,
            EVP_CIPHER_CTX_set_padding(context, 0) == 1,
            EVP_EncryptUpdate(context, &output, &written, padded, Int32(padded.count)) == 1,
            Int(written) == padded.count
        else { fatalError("OpenSSL does not support AES or is out of memory") }
        output.removeLast(block)
        return output
    }
}
