/// What encrypts and authenticates one direction of a peer: the seam behind which AES-GCM is OpenSSL's or libipsec-mb's.
/// It knows nothing of replay or roll-over: indexes are given.
enum SRTPCipher {
    case gcm(SRTPGCMCipher)
    case vectorGCM(SRTPIPSecMBCipher)
    case counterMode(SRTPCounterModeCipher)

    init(
        profile: SRTPProfile, masterKey: [UInt8], masterSalt: [UInt8], direction: EVPCipherContext.Direction,
        library: SRTPCipherLibrary = .preferred
    ) {
        func keys(_ purpose: SRTPSessionKeys.Purpose) -> SRTPSessionKeys {
            SRTPSessionKeys(profile: profile, masterKey: masterKey, masterSalt: masterSalt, purpose: purpose)
        }
        self.init(profile: profile, rtp: keys(.rtp), rtcp: keys(.rtcp), direction: direction, library: library)
    }

    init(
        profile: SRTPProfile, rtp: SRTPSessionKeys, rtcp: SRTPSessionKeys, direction: EVPCipherContext.Direction,
        library: SRTPCipherLibrary = .preferred
    ) {
        switch (profile, library) {
        case (.aes128CMHMACSHA1, _):
            self = .counterMode(SRTPCounterModeCipher(rtp: rtp, rtcp: rtcp))
        case (_, .ipsecMB):
            guard let loaded = IPSecMB.loaded else { preconditionFailure("libipsec-mb is not there") }
            self = .vectorGCM(
                SRTPIPSecMBCipher(loaded.functions(profile), rtp: rtp, rtcp: rtcp, direction: direction))
        case (.aeadAES128GCM, .openSSL):
            self = .gcm(SRTPGCMCipher(.aes128GCM, rtp: rtp, rtcp: rtcp, direction: direction))
        case (.aeadAES256GCM, .openSSL):
            self = .gcm(SRTPGCMCipher(.aes256GCM, rtp: rtp, rtcp: rtcp, direction: direction))
        }
    }

    /// libipsec-mb's, if it is that.
    var vector: SRTPIPSecMBCipher? { if case .vectorGCM(let cipher) = self { cipher } else { nil } }

    /// Encrypts `payload` behind the header that `packet` begins with, which it may already follow, and appends the
    /// tag; `packet` has exactly that size.
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

    /// Decrypts a whole packet in place; false, and the payload unspecified, when it is not authentic.
    func openRTP(
        _ packet: UnsafeMutableRawBufferPointer, headerSize: Int, ssrc: UInt32, index: UInt64
    ) -> Bool {
        switch self {
        case .gcm(let cipher): cipher.openRTP(packet, headerSize: headerSize, ssrc: ssrc, index: index)
        case .vectorGCM(let cipher): cipher.openRTP(packet, headerSize: headerSize, ssrc: ssrc, index: index)
        case .counterMode(let cipher): cipher.openRTP(packet, headerSize: headerSize, ssrc: ssrc, index: index)
        }
    }

    /// Undoes what `openRTP` did to the payload of a packet that it refused, so that another index can be tried.
    func restoreRTP(
        _ packet: UnsafeMutableRawBufferPointer, headerSize: Int, ssrc: UInt32, index: UInt64
    ) {
        switch self {
        case .gcm(let cipher): _ = cipher.openRTP(packet, headerSize: headerSize, ssrc: ssrc, index: index)
        case .vectorGCM(let cipher): _ = cipher.openRTP(packet, headerSize: headerSize, ssrc: ssrc, index: index)
        case .counterMode: break
        }
    }

    /// Encrypts the compound packet that fills `packet` but for its last `SRTCP.overhead(profile)` bytes.
    func sealRTCP(_ packet: UnsafeMutableRawBufferPointer, ssrc: UInt32, index: UInt32) {
        switch self {
        case .gcm(let cipher): cipher.sealRTCP(packet, ssrc: ssrc, index: index)
        case .vectorGCM(let cipher): cipher.sealRTCP(packet, ssrc: ssrc, index: index)
        case .counterMode(let cipher): cipher.sealRTCP(packet, ssrc: ssrc, index: index)
        }
    }

    /// Decrypts a whole compound packet in place; false, and its content unspecified, when it is not authentic.
    func openRTCP(_ packet: UnsafeMutableRawBufferPointer, ssrc: UInt32, trailer: SRTCPTrailer) -> Bool {
        switch self {
        case .gcm(let cipher): cipher.openRTCP(packet, ssrc: ssrc, trailer: trailer)
        case .vectorGCM(let cipher): cipher.openRTCP(packet, ssrc: ssrc, trailer: trailer)
        case .counterMode(let cipher): cipher.openRTCP(packet, ssrc: ssrc, trailer: trailer)
        }
    }
}
