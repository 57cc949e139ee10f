import COpenSSL
import PCastCore

/// An OpenSSL cipher context. The key is set rarely, and the initialization vector for each packet.
///
/// OpenSSL allocates about 1.2 kB for GCM. The context is freed with its owner.
///
/// It is marked `@safe` for these reasons. It owns the context until `deinit`, and has one owner. OpenSSL reads and
/// writes as many bytes as the views have, which are valid during the call: an output is not shorter than its input, and
/// an initialization vector has the length that the cipher needs. The ciphers are fetched once and never freed.
@safe
struct EVPCipherContext: ~Copyable {
    /// The ciphers of SRTP, which are fetched once per process.
    enum Algorithm {
        case aes128CTR, aes256CTR, aes128GCM, aes256GCM

        private nonisolated(unsafe) static let ctr128 = unsafe EVP_CIPHER_fetch(nil, "AES-128-CTR", nil)
        private nonisolated(unsafe) static let ctr256 = unsafe EVP_CIPHER_fetch(nil, "AES-256-CTR", nil)
        private nonisolated(unsafe) static let gcm128 = unsafe EVP_CIPHER_fetch(nil, "AES-128-GCM", nil)
        private nonisolated(unsafe) static let gcm256 = unsafe EVP_CIPHER_fetch(nil, "AES-256-GCM", nil)

        /// The cipher in OpenSSL.
        fileprivate var cipher: OpaquePointer? {
            switch self {
            case .aes128CTR: unsafe Self.ctr128
            case .aes256CTR: unsafe Self.ctr256
            case .aes128GCM: unsafe Self.gcm128
            case .aes256GCM: unsafe Self.gcm256
            }
        }
    }

    /// The operation. The raw values are those of OpenSSL.
    enum Direction: Int32 {
        case decrypt = 0
        case encrypt = 1
    }

    private let context: OpaquePointer
    private let direction: Direction

    init(_ algorithm: Algorithm, _ direction: Direction = .encrypt) {
        guard let context = unsafe EVP_CIPHER_CTX_new(), let cipher = unsafe algorithm.cipher,
            unsafe EVP_CipherInit_ex(context, cipher, nil, nil, nil, direction.rawValue) == 1
        else { fatalError("OpenSSL does not support AES or is out of memory") }
        unsafe self.context = context
        self.direction = direction
    }

    deinit { unsafe EVP_CIPHER_CTX_free(context) }

    /// Sets the key. Its length must be the key length of the cipher.
    func setKey(_ key: [UInt8]) {
        let keyed = unsafe EVP_CipherInit_ex(context, nil, nil, key, nil, direction.rawValue)
        precondition(keyed == 1, "the key must have the cipher's length")
    }

    /// Begins a packet with its initialization vector, 12 bytes for GCM and 16 bytes for counter mode.
    func begin(initializationVector: ByteView) {
        let vector = unsafe initializationVector.unsafeBytes.baseAddress!.assumingMemoryBound(to: UInt8.self)
        let begun = unsafe EVP_CipherInit_ex(context, nil, nil, nil, vector, -1)
        precondition(begun == 1)
    }

    /// Adds additional authenticated data, which is not encrypted.
    func associate(_ bytes: ByteView) {
        unsafe update(bytes, output: nil)
    }

    /// Encrypts or decrypts bytes into an output of the same size, which may be the same memory.
    func update(_ bytes: ByteView, into output: MutableByteView) {
        precondition(bytes.count <= output.count, "the output must have the size of the input")
        unsafe update(bytes, output: output.unsafeBytes.baseAddress!.assumingMemoryBound(to: UInt8.self))
    }

    /// Processes bytes; without output they are additional data.
    private func update(_ bytes: ByteView, output: UnsafeMutablePointer<UInt8>?) {
        guard !bytes.isEmpty else { return }
        let base = unsafe bytes.unsafeBytes.baseAddress!
        var written: Int32 = 0
        let updated = unsafe EVP_CipherUpdate(
            context, output, &written, base.assumingMemoryBound(to: UInt8.self), Int32(bytes.count))
        precondition(updated == 1)
    }

    /// Ends an encryption and writes the tag.
    func seal(tag: MutableByteView) {
        var written: Int32 = 0
        var nothing: UInt8 = 0
        let sealed =
            unsafe EVP_CipherFinal_ex(context, &nothing, &written) == 1
            && pcast_evp_read_tag(context, tag.unsafeBytes.baseAddress, tag.count) == 1
        precondition(sealed)
    }

    /// Ends a decryption. Returns false if the tag is wrong; the decrypted bytes are then invalid.
    func open(tag: MutableByteView) -> Bool {
        var written: Int32 = 0
        var nothing: UInt8 = 0
        return unsafe EVP_CIPHER_CTX_ctrl(
            context, EVP_CTRL_AEAD_SET_TAG, Int32(tag.count), tag.unsafeBytes.baseAddress) == 1
            && EVP_CipherFinal_ex(context, &nothing, &written) == 1
    }
}
