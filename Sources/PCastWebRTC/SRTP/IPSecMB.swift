import CIPSecMB

/// The AES-GCM functions of libipsec-mb for this processor.
struct IPSecMB {
    /// The library; nil if it is not installed, the processor lacks the instructions that make it faster than OpenSSL,
    /// or its results differ from OpenSSL's.
    nonisolated(unsafe) static let loaded: IPSecMB? = {
        var library = pcast_imb_library()
        guard pcast_imb_load(&library) == 1 else { return nil }
        let loaded = IPSecMB(library)
        return loaded.agrees(.aeadAES128GCM) && loaded.agrees(.aeadAES256GCM) ? loaded : nil
    }()

    private let library: pcast_imb_library

    private init(_ library: pcast_imb_library) { self.library = library }

    /// The version that the library reports.
    var version: String { library.version.map { String(cString: $0) } ?? "" }

    /// Returns the functions for a GCM profile.
    func functions(_ profile: SRTPProfile) -> pcast_imb_gcm {
        profile == .aeadAES256GCM ? library.gcm256 : library.gcm128
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
            let isAuthentic = ours.withUnsafeMutableBytes { ours in
                theirs.withUnsafeMutableBytes { theirs in
                    plain.withUnsafeBytes { plain in
                        let payload = UnsafeRawBufferPointer(rebasing: plain[headerSize...])
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
