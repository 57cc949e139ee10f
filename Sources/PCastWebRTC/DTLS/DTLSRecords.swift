import COpenSSL
import PCastCore

/// Decrypts the alerts of the peer after the handshake, so that the OpenSSL state can be released before.
///
/// Only alerts matter then. OpenSSL's state has tens of kilobytes; this needs only the key of one direction (RFC 5246,
/// section 6.3).
///
/// Its pointers are safe because OpenSSL writes at most the sizes of the arrays that are passed to it. The `SSL` object
/// belongs to the caller, and the cipher context is freed by the function that makes it.
struct DTLSAlertReader {
    /// The AEAD cipher of the negotiated suite.
    private enum Cipher {
        case gcm(keyLength: Int)
        case chaChaPoly

        /// The size of the key in bytes.
        var keyLength: Int { if case .gcm(let length) = self { length } else { 32 } }
        /// The number of nonce bytes that come from the key block.
        var vectorLength: Int { if case .gcm = self { 4 } else { 12 } }
        /// The number of nonce bytes in each record (RFC 5288, section 3).
        var explicitLength: Int { if case .gcm = self { 8 } else { 0 } }

        /// The cipher in OpenSSL.
        var implementation: OpaquePointer? {
            switch self {
            case .gcm(16): unsafe EVP_aes_128_gcm()
            case .gcm: unsafe EVP_aes_256_gcm()
            case .chaChaPoly: unsafe EVP_chacha20_poly1305()
            }
        }

        /// Creates the cipher of a suite. Returns nil if the suite is not AEAD, which only old peers need.
        init?(_ suite: OpaquePointer) {
            switch unsafe SSL_CIPHER_get_cipher_nid(suite) {
            case NID_aes_128_gcm: self = .gcm(keyLength: 16)
            case NID_aes_256_gcm: self = .gcm(keyLength: 32)
            case NID_chacha20_poly1305: self = .chaChaPoly
            default: return nil
            }
        }
    }

    private static let tagLength = 16
    /// The size of an alert: level and description (RFC 5246, section 7.2).
    private static let alertLength = 2
    private static let fatal: UInt8 = 2
    private static let closeNotify: UInt8 = 0

    private let cipher: Cipher
    /// The peer's write key, followed by its part of the nonces.
    private let keys: [UInt8]

    /// Derives the key of a finished handshake. Returns nil if the cipher suite is not supported here.
    init?(_ ssl: OpaquePointer, role: DTLSRole) {
        guard let suite = unsafe SSL_get_current_cipher(ssl), let cipher = unsafe Cipher(suite),
            let digest = unsafe SSL_CIPHER_get_handshake_digest(suite), let session = unsafe SSL_get_session(ssl)
        else { return nil }
        let secret = [UInt8](capacity: Int(SSL_MAX_MASTER_KEY_LENGTH)) { buffer in
            unsafe SSL_SESSION_get_master_key(
                session, buffer.unsafeBytes.bindMemory(to: UInt8.self).baseAddress, buffer.count)
        }
        func random(_ read: (UnsafeMutablePointer<UInt8>?, Int) -> Int) -> [UInt8] {
            [UInt8](capacity: Int(SSL3_RANDOM_SIZE)) { buffer in
                unsafe read(buffer.unsafeBytes.bindMemory(to: UInt8.self).baseAddress, buffer.count)
            }
        }
        let seed =
            unsafe Array("key expansion".utf8) + random { unsafe SSL_get_server_random(ssl, $0, $1) }
            + random { unsafe SSL_get_client_random(ssl, $0, $1) }
        let (keyLength, vectorLength) = (cipher.keyLength, cipher.vectorLength)
        var block = [UInt8](repeating: 0, count: 2 * (keyLength + vectorLength))
        guard
            unsafe pcast_tls12_expand(
                EVP_MD_get0_name(digest), secret, secret.count, seed, seed.count, &block, block.count) == 1
        else { return nil }
        // The order is client key, server key, client IV, server IV (RFC 5246, section 6.3).
        let peer = role == .client ? 1 : 0
        let key = peer * keyLength
        let vector = 2 * keyLength + peer * vectorLength
        self.cipher = cipher
        keys = Array(block[key..<key + keyLength] + block[vector..<vector + vectorLength])
    }

    /// Returns whether a datagram begins with an authentic alert that ends the connection, i.e. close_notify or a fatal
    /// one.
    func endsConnection(_ datagram: ByteView) -> Bool {
        let length = cipher.explicitLength + Self.alertLength + Self.tagLength
        guard datagram.count >= DTLSRecord.headerSize + length,
            Int(datagram[11]) << 8 | Int(datagram[12]) == length, let alert = open(datagram)
        else { return false }
        return alert[0] == Self.fatal || alert[1] == Self.closeNotify
    }

    /// Decrypts the first record, whose length is that of an alert. Returns nil if it is not authentic.
    private func open(_ datagram: ByteView) -> [UInt8]? {
        let record = datagram.extracting(DTLSRecord.headerSize...)
        var nonce = Array(keys[cipher.keyLength...])
        if cipher.explicitLength > 0 {
            nonce += record[..<cipher.explicitLength]
        } else {
            // The nonce is the IV combined with epoch and sequence number, padded on the left (RFC 7905, section 2).
            for index in 0..<8 { nonce[4 + index] ^= datagram[3 + index] }
        }
        // The additional data are epoch and sequence number, type, version and plaintext length (RFC 5246, section
        // 6.2.3.3).
        let associated = Array(datagram[3..<11]) + Array(datagram[0..<3]) + [0, UInt8(Self.alertLength)]
        guard let context = unsafe EVP_CIPHER_CTX_new() else { return nil }
        defer { unsafe EVP_CIPHER_CTX_free(context) }
        let start = cipher.explicitLength
        let sealed = Array(record[start..<start + Self.alertLength])
        var tag = Array(record[(start + Self.alertLength)..<(start + Self.alertLength + Self.tagLength)])
        var alert = [UInt8](repeating: 0, count: Self.alertLength)
        var written: Int32 = 0
        var nothing: UInt8 = 0
        let isAuthentic =
            unsafe EVP_DecryptInit_ex(context, cipher.implementation, nil, keys, nonce) == 1
            && EVP_DecryptUpdate(context, nil, &written, associated, Int32(associated.count)) == 1
            && EVP_DecryptUpdate(context, &alert, &written, sealed, Int32(sealed.count)) == 1
            && EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, Int32(tag.count), &tag) == 1
            && EVP_DecryptFinal_ex(context, &nothing, &written) == 1
        ERR_clear_error()
        return isAuthentic ? alert : nil
    }
}

/// Reads the header of the first record in a datagram (RFC 6347, section 4.1).
enum DTLSRecord {
    /// The size of a record header in bytes.
    static let headerSize = 13

    /// The content types that matter here (RFC 5246, section 6.2.1).
    enum ContentType: UInt8 {
        case changeCipherSpec = 20
        case alert = 21
        case handshake = 22
    }

    /// Returns the content type of the record; nil if the datagram is too short or the type does not matter here.
    static func contentType(_ datagram: ByteView) -> ContentType? {
        datagram.count >= headerSize ? ContentType(rawValue: datagram[0]) : nil
    }

    /// Returns whether the record, whose header is complete, has an epoch after the first and is thus encrypted.
    static func isEncrypted(_ datagram: ByteView) -> Bool { datagram[3] != 0 || datagram[4] != 0 }

    /// Returns whether the datagram begins with a complete header of an unencrypted handshake record.
    static func isPlaintextHandshake(_ datagram: ByteView) -> Bool {
        contentType(datagram) == .handshake && !isEncrypted(datagram)
    }

    /// Returns whether the datagram begins with a complete record of DTLS 1.0 or 1.2 in one of the epochs of a
    /// handshake, which are 0 and 1 (RFC 6347, section 4.1).
    static func isOfHandshakeEpoch(_ datagram: ByteView) -> Bool {
        guard datagram.count > headerSize, datagram[1] == 0xFE, datagram[2] == 0xFD || datagram[2] == 0xFF,
            datagram[3] == 0, datagram[4] <= 1
        else { return false }
        let length = Int(datagram[11]) << 8 | Int(datagram[12])
        return length > 0 && headerSize + length <= datagram.count
    }
}

/// Assigns the sequence numbers of unencrypted records (epoch 0; RFC 6347, section 4.1).
///
/// A flight that is retransmitted as a copy needs new sequence numbers (RFC 6347, section 4.2.4). A peer may have
/// dropped a ChangeCipherSpec that arrived too early, and would drop a copy as a replay. The numbers are not
/// authenticated, so they can be changed.
struct PlaintextRecordNumbers {
    /// The next sequence number, 48 bits.
    private var next: UInt64 = 0

    /// Assigns new numbers to all records of epoch 0 in a datagram.
    mutating func renumber(_ datagram: inout [UInt8]) {
        var offset = 0
        while offset + DTLSRecord.headerSize <= datagram.count {
            if datagram[offset + 3] == 0, datagram[offset + 4] == 0 {
                for byte in 0..<6 {
                    datagram[offset + 5 + byte] = UInt8(truncatingIfNeeded: next >> UInt64(40 - 8 * byte))
                }
                next += 1
            }
            offset += DTLSRecord.headerSize + (Int(datagram[offset + 11]) << 8 | Int(datagram[offset + 12]))
        }
    }
}
