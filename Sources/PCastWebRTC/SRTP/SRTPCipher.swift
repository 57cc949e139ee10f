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
            guard let loaded = IPSecMB.loaded else { preconditionFailure("libipsec-mb is not installed") }
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
        _ packet: UnsafeMutableRawBufferPointer, headerSize: Int, payload: UnsafeRawBufferPointer,
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
        _ packet: UnsafeMutableRawBufferPointer, headerSize: Int, ssrc: UInt32, index: UInt64
    ) -> Bool {
        switch self {
        case .gcm(let cipher): cipher.openRTP(packet, headerSize: headerSize, ssrc: ssrc, index: index)
        case .vectorGCM(let cipher): cipher.openRTP(packet, headerSize: headerSize, ssrc: ssrc, index: index)
        case .counterMode(let cipher): cipher.openRTP(packet, headerSize: headerSize, ssrc: ssrc, index: index)
        }
    }

    /// Reverts the decryption of a packet that was not authentic, so that another index can be tried.
    func restoreRTP(
        _ packet: UnsafeMutableRawBufferPointer, headerSize: Int, ssrc: UInt32, index: UInt64
    ) {
        switch self {
        case .gcm(let cipher): _ = cipher.openRTP(packet, headerSize: headerSize, ssrc: ssrc, index: index)
        case .vectorGCM(let cipher): _ = cipher.openRTP(packet, headerSize: headerSize, ssrc: ssrc, index: index)
        case .counterMode: break
        }
    }

    /// Encrypts a compound packet in place, which fills `packet` except for its last `SRTCPTrailer.overhead(profile)`
    /// bytes.
    func sealRTCP(_ packet: UnsafeMutableRawBufferPointer, ssrc: UInt32, index: UInt32) {
        switch self {
        case .gcm(let cipher): cipher.sealRTCP(packet, ssrc: ssrc, index: index)
        case .vectorGCM(let cipher): cipher.sealRTCP(packet, ssrc: ssrc, index: index)
        case .counterMode(let cipher): cipher.sealRTCP(packet, ssrc: ssrc, index: index)
        }
    }

    /// Decrypts a whole compound packet in place. Returns false if it is not authentic; its content is then
    /// unspecified.
    func openRTCP(_ packet: UnsafeMutableRawBufferPointer, ssrc: UInt32, trailer: SRTCPTrailer) -> Bool {
        switch self {
        case .gcm(let cipher): cipher.openRTCP(packet, ssrc: ssrc, trailer: trailer)
        case .vectorGCM(let cipher): cipher.openRTCP(packet, ssrc: ssrc, trailer: trailer)
        case .counterMode(let cipher): cipher.openRTCP(packet, ssrc: ssrc, trailer: trailer)
        }
    }
}
