import CIPSecMB
import COpenSSL
import PCastCore

/// The encryption and authentication of one direction, with AES-GCM by OpenSSL or libipsec-mb, or in counter mode.
/// Replay protection and rollover are not its task; indexes are parameters.
enum SRTPCipher {
    case gcm(SRTPGCMCipher)
    case vectorGCM(SRTPIPSecMBCipher)
    case counterMode(SRTPCounterModeCipher)

    /// Creates a cipher, whose session keys are derived from the master key.
    init(
        profile: SRTPProfile, masterKey: [UInt8], masterSalt: [UInt8], direction: EVPCipherContext.Direction,
        library: SRTPCipherLibrary = .preferred
    ) {
        func keys(_ purpose: SRTPSessionKeys.Purpose) -> SRTPSessionKeys {
            SRTPSessionKeys(profile: profile, masterKey: masterKey, masterSalt: masterSalt, purpose: purpose)
        }
        self.init(profile: profile, rtp: keys(.rtp), rtcp: keys(.rtcp), direction: direction, library: library)
    }

    /// Creates a cipher from session keys. `library` must be available.
    init(
        profile: SRTPProfile, rtp: SRTPSessionKeys, rtcp: SRTPSessionKeys, direction: EVPCipherContext.Direction,
        library: SRTPCipherLibrary = .preferred
    ) {
        switch (profile, library) {
        case (.aes128CMHMACSHA1, _):
            self = .counterMode(SRTPCounterModeCipher(rtp: rtp, rtcp: rtcp))
        case (_, .ipsecMB):
            guard let loaded = unsafe IPSecMB.loaded else { preconditionFailure("libipsec-mb is not installed") }
            self = .vectorGCM(
                SRTPIPSecMBCipher(loaded.functions(profile), rtp: rtp, rtcp: rtcp, direction: direction))
        case (.aeadAES128GCM, .openSSL):
            self = .gcm(SRTPGCMCipher(.aes128GCM, rtp: rtp, rtcp: rtcp, direction: direction))
        case (.aeadAES256GCM, .openSSL):
            self = .gcm(SRTPGCMCipher(.aes256GCM, rtp: rtp, rtcp: rtcp, direction: direction))
        }
    }

    /// The cipher of libipsec-mb; nil if it is another one.
    var vector: SRTPIPSecMBCipher? { if case .vectorGCM(let cipher) = self { cipher } else { nil } }

    /// Encrypts `payload` after the header at the beginning of `packet`, and appends the tag. The payload may already
    /// be at its place. `packet` has exactly the resulting size.
    func sealRTP(
        _ packet: MutableByteView, headerSize: Int, payload: ByteView,
        ssrc: UInt32, index: UInt64
    ) {
        switch self {
        case .gcm(let cipher):
            cipher.sealRTP(packet, headerSize: headerSize, payload: payload, ssrc: ssrc, index: index)
        case .vectorGCM(let cipher):
            cipher.sealRTP(packet, headerSize: headerSize, payload: payload, ssrc: ssrc, index: index)
        case .counterMode(let cipher):
            cipher.sealRTP(packet, headerSize: headerSize, payload: payload, ssrc: ssrc, index: index)
        }
    }

    /// Decrypts a whole packet in place. Returns false if it is not authentic; the payload is then unspecified.
    func openRTP(
        _ packet: MutableByteView, headerSize: Int, ssrc: UInt32, index: UInt64
    ) -> Bool {
        switch self {
        case .gcm(let cipher): cipher.openRTP(packet, headerSize: headerSize, ssrc: ssrc, index: index)
        case .vectorGCM(let cipher): cipher.openRTP(packet, headerSize: headerSize, ssrc: ssrc, index: index)
        case .counterMode(let cipher): cipher.openRTP(packet, headerSize: headerSize, ssrc: ssrc, index: index)
        }
    }

    /// Reverts the decryption of a packet that was not authentic, so that another index can be tried.
    func restoreRTP(
        _ packet: MutableByteView, headerSize: Int, ssrc: UInt32, index: UInt64
    ) {
        switch self {
        case .gcm(let cipher): _ = cipher.openRTP(packet, headerSize: headerSize, ssrc: ssrc, index: index)
        case .vectorGCM(let cipher): _ = cipher.openRTP(packet, headerSize: headerSize, ssrc: ssrc, index: index)
        case .counterMode: break
        }
    }

    /// Encrypts a compound packet in place, which fills `packet` except for its last `SRTCPTrailer.overhead(profile)`
    /// bytes.
    func sealRTCP(_ packet: MutableByteView, ssrc: UInt32, index: UInt32) {
        switch self {
        case .gcm(let cipher): cipher.sealRTCP(packet, ssrc: ssrc, index: index)
        case .vectorGCM(let cipher): cipher.sealRTCP(packet, ssrc: ssrc, index: index)
        case .counterMode(let cipher): cipher.sealRTCP(packet, ssrc: ssrc, index: index)
        }
    }

    /// Decrypts a whole compound packet in place. Returns false if it is not authentic; its content is then
    /// unspecified.
    func openRTCP(_ packet: MutableByteView, ssrc: UInt32, trailer: SRTCPTrailer) -> Bool {
        switch self {
        case .gcm(let cipher): cipher.openRTCP(packet, ssrc: ssrc, trailer: trailer)
        case .vectorGCM(let cipher): cipher.openRTCP(packet, ssrc: ssrc, trailer: trailer)
        case .counterMode(let cipher): cipher.openRTCP(packet, ssrc: ssrc, trailer: trailer)
        }
    }
}

/// The library for AES-GCM of media.
///
/// OpenSSL is always available. libipsec-mb takes about a quarter of the time on processors with VAES and AVX-512,
/// which OpenSSL uses only since version 3.1. It is used if it is installed and supports the processor.
package enum SRTPCipherLibrary: Sendable, CaseIterable {
    /// OpenSSL.
    case openSSL
    /// Intel's libipsec-mb.
    case ipsecMB

    /// The default library, which is selected once per process.
    package static let preferred: SRTPCipherLibrary = ipsecMB.isAvailable ? .ipsecMB : .openSSL

    /// Whether the library is installed and supports this processor.
    package var isAvailable: Bool {
        switch self {
        case .openSSL: true
        case .ipsecMB: unsafe IPSecMB.loaded != nil
        }
    }

    /// The name and version; nil if the library is not available.
    package var name: String? {
        switch self {
        case .openSSL: unsafe OpenSSL_version(OPENSSL_VERSION).map { unsafe String(cString: $0) }
        case .ipsecMB: unsafe IPSecMB.loaded.map { "libipsec-mb \($0.version)" }
        }
    }
}

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
        counter.withByteView { context.begin(initializationVector: $0) }
        stream.withMutableByteView { context.update(ByteView($0), into: $0) }
        return stream
    }
}

/// The AES-GCM functions of libipsec-mb for this processor.
///
/// It is marked `@safe` because the library stays loaded until the process exits, so that its functions and its version
/// are valid. It does not change after it was loaded.
@safe
struct IPSecMB {
    /// The library; nil if it is not installed, the processor lacks the instructions that make it faster than OpenSSL,
    /// or its results differ from OpenSSL's.
    nonisolated(unsafe) static let loaded: IPSecMB? = {
        var library = unsafe pcast_imb_library()
        guard unsafe pcast_imb_load(&library) == 1 else { return nil }
        let loaded = unsafe IPSecMB(library)
        return loaded.agrees(.aeadAES128GCM) && loaded.agrees(.aeadAES256GCM) ? loaded : nil
    }()

    private let library: pcast_imb_library

    private init(_ library: pcast_imb_library) { unsafe self.library = library }

    /// The version that the library reports.
    var version: String { unsafe library.version.map { unsafe String(cString: $0) } ?? "" }

    /// Returns the functions for a GCM profile.
    func functions(_ profile: SRTPProfile) -> pcast_imb_gcm {
        unsafe profile == .aeadAES256GCM ? library.gcm256 : library.gcm128
    }

    /// Returns whether the library encrypts as OpenSSL does, and decrypts what it has encrypted. An incompatible
    /// version of the library would otherwise break all connections.
    private func agrees(_ profile: SRTPProfile) -> Bool {
        let keys = SRTPSessionKeys(
            encryption: (0..<UInt8(profile.keyLength)).map { $0 &* 31 }, authentication: [],
            salt: [UInt8](1...12))
        let sealed = SRTPIPSecMBCipher(functions(profile), rtp: keys, rtcp: keys, direction: .encrypt)
        let opened = SRTPIPSecMBCipher(functions(profile), rtp: keys, rtcp: keys, direction: .decrypt)
        let reference = SRTPGCMCipher(
            profile == .aeadAES256GCM ? .aes256GCM : .aes128GCM, rtp: keys, rtcp: keys, direction: .encrypt)
        let headerSize = 20
        for size in [0, 1, 100, 1200] {
            let plain = (0..<headerSize + size).map { UInt8(truncatingIfNeeded: $0 &* 7) }
            var (ours, theirs) = (plain + [UInt8](repeating: 0, count: 16), plain + [UInt8](repeating: 0, count: 16))
            let isAuthentic = ours.withMutableByteView { ours in
                theirs.withMutableByteView { theirs in
                    plain.withByteView { plain in
                        let payload = plain.extracting(headerSize...)
                        reference.sealRTP(theirs, headerSize: headerSize, payload: payload, ssrc: 1, index: 2)
                        sealed.sealRTP(ours, headerSize: headerSize, payload: payload, ssrc: 1, index: 2)
                        guard ours.elementsEqual(theirs) else { return false }
                        return opened.openRTP(ours, headerSize: headerSize, ssrc: 1, index: 2)
                    }
                }
            }
            guard isAuthentic, ours.starts(with: plain) else { return false }
        }
        return true
    }
}
