import COpenSSL

/// The session keys of RTP or RTCP in one direction, derived from the master key (RFC 3711, section 4.3; RFC 7714,
/// section 11).
struct SRTPSessionKeys {
    /// The key derivation labels of the encryption keys (RFC 3711, section 4.3.2).
    enum Purpose: UInt8 {
        case rtp = 0
        case rtcp = 3
    }

    let encryption: [UInt8]
    /// The key of HMAC-SHA1; empty for GCM.
    let authentication: [UInt8]
    let salt: [UInt8]

    init(encryption: [UInt8], authentication: [UInt8], salt: [UInt8]) {
        self.encryption = encryption
        self.authentication = authentication
        self.salt = salt
    }

    /// Derives the keys; master key and salt must have the lengths of the profile.
    init(profile: SRTPProfile, masterKey: [UInt8], masterSalt: [UInt8], purpose: Purpose) {
        precondition(masterKey.count == profile.keyLength && masterSalt.count == profile.saltLength)
        let label = purpose.rawValue
        func derive(_ label: UInt8, _ count: Int) -> [UInt8] {
            Self.derive(label: label, count: count, masterKey: masterKey, masterSalt: masterSalt)
        }
        encryption = derive(label, profile.keyLength)
        authentication = profile == .aes128CMHMACSHA1 ? derive(label + 1, 20) : []
        salt = derive(label + 2, profile.saltLength)
    }

    /// Returns bytes of the pseudorandom function AES-CM, with AES-256 for 256-bit keys (RFC 6188), at a key derivation
    /// rate of zero. A salt of 96 bits is padded with zeros on the right.
    static func derive(label: UInt8, count: Int, masterKey: [UInt8], masterSalt: [UInt8]) -> [UInt8] {
        var counter = masterSalt + [UInt8](repeating: 0, count: 16 - masterSalt.count)
        counter[7] ^= label
        let context = EVPCipherContext(masterKey.count == 32 ? .aes256CTR : .aes128CTR)
        context.setKey(masterKey)
        var stream = [UInt8](repeating: 0, count: count)
        counter.withUnsafeBufferPointer { counter in
            stream.withUnsafeMutableBytes { bytes in
                context.begin(initializationVector: counter.baseAddress!)
                context.update(UnsafeRawBufferPointer(bytes), into: bytes.baseAddress!)
            }
        }
        return stream
    }
}
