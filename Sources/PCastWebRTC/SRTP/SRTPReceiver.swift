/// Authenticates and decrypts in place what one peer sends: RTP and RTCP of up to 64 SSRCs (RFC 3711, RFC 7714).
///
/// The index is decided before anything is decrypted (SRTP6), and nothing about a stream is remembered before one of its
/// packets is authentic (SRTP4). Feed it every RTP packet, of paused layers too: who is not shown 2^15 packets in a row
/// loses the roll-over counter (SRTP5). Owned by one thread at a time.
public final class SRTPReceiver {
    public let profile: SRTPProfile

    private let cipher: SRTPCipher
    /// The same where it is libipsec-mb's, which is looked at without being kept.
    private let vectorCipher: Unmanaged<SRTPIPSecMBCipher>?
    private let streams = SRTPStreamTable<SRTPIndexWindow>()
    private let controls = SRTPStreamTable<SRTCPIndexWindow>()
    /// Bounded by the two tables.
    private var newSources: [UInt32] = []

    /// The last authentic packet is the newest of its stream, so that where it came from is where its sender is now. An
    /// older one may have been under way while its sender moved (as RFC 9000, section 9.3, has it for QUIC).
    public private(set) var lastWasNewest = false

    /// - Parameter library: one that is available.
    public convenience init(_ keys: SRTPKeyingMaterial, by library: SRTPCipherLibrary = .preferred) {
        let cipher = SRTPCipher(
            profile: keys.profile, masterKey: keys.remoteKey, masterSalt: keys.remoteSalt, direction: .decrypt,
            library: library)
        self.init(profile: keys.profile, cipher: cipher)
    }

    init(profile: SRTPProfile, cipher: SRTPCipher) {
        self.profile = profile
        self.cipher = cipher
        vectorCipher = cipher.vector.map { Unmanaged.passUnretained($0) }
    }

    /// The SSRC of a stream whose first authentic packet came; nil when no more.
    public func takeNewSource() -> UInt32? {
        let source = newSources.popLast()
        // Asked for each packet, and an emptied array's memory would be looked at each time.
        if source != nil, newSources.isEmpty { newSources = [] }
        return source
    }

    /// The buffer is exactly the received packet.
    public func unprotectRTP(_ packet: UnsafeMutableRawBufferPointer) -> SRTPResult {
        let tail = profile.tagLength
        guard let header = SRTPPacketHeader(rtp: UnsafeRawBufferPointer(packet), tail: tail) else { return .malformed }
        let plaintextLength = packet.count - tail
        guard let position = streams.position(of: header.ssrc) else {
            guard !streams.isFull else { return .malformed }
            guard let index = openFirst(packet, header) else { return .unauthentic }
            var window = SRTPIndexWindow()
            window.mark(index)
            _ = streams.insert(header.ssrc, window)
            newSources.append(header.ssrc)
            lastWasNewest = true
            return .ok(length: plaintextLength)
        }
        let window = streams.state(at: position)
        let index = window.pointee.estimate(header.sequenceNumber)
        guard index < 1 << 48, window.pointee.isFresh(index) else { return .replayed }
        guard cipher.openRTP(packet, headerSize: header.size, ssrc: header.ssrc, index: index) else {
            return .unauthentic
        }
        window.pointee.mark(index)
        lastWasNewest = window.pointee.highest == index
        return .ok(length: plaintextLength)
    }

    /// The index of a stream's first packet: its sequence number, or, where a sender began just below 2^16 and what it
    /// sent before the wrap was lost, that of the second round (SRTP3).
    private func openFirst(_ packet: UnsafeMutableRawBufferPointer, _ header: SRTPPacketHeader) -> UInt64? {
        let index = UInt64(header.sequenceNumber)
        if cipher.openRTP(packet, headerSize: header.size, ssrc: header.ssrc, index: index) { return index }
        guard header.sequenceNumber < 0x8000 else { return nil }
        cipher.restoreRTP(packet, headerSize: header.size, ssrc: header.ssrc, index: index)
        let wrapped = index + 0x1_0000
        return cipher.openRTP(packet, headerSize: header.size, ssrc: header.ssrc, index: wrapped) ? wrapped : nil
    }

    /// The buffer is exactly the received compound packet.
    public func unprotectRTCP(_ packet: UnsafeMutableRawBufferPointer) -> SRTPResult {
        let tail = SRTCPTrailer.overhead(profile)
        let bytes = UnsafeRawBufferPointer(packet)
        guard let ssrc = SRTPPacketHeader.ssrc(ofRTCP: bytes, tail: tail) else { return .malformed }
        let trailer = SRTCPTrailer(of: bytes, profile: profile)
        let position = controls.position(of: ssrc)
        if let position {
            guard controls.state(at: position).pointee.isFresh(trailer.index) else { return .replayed }
        } else if controls.isFull {
            return .malformed
        }
        guard cipher.openRTCP(packet, ssrc: ssrc, trailer: trailer) else { return .unauthentic }
        if position == nil { newSources.append(ssrc) }
        let entry = position ?? controls.insert(ssrc, SRTCPIndexWindow())
        let window = controls.state(at: entry)
        window.pointee.mark(trailer.index)
        lastWasNewest = window.pointee.highest == trailer.index
        return .ok(length: packet.count - tail)
    }

    /// Has brought near what a control packet needs. See `Nearness`.
    func bringNear(_ step: Nearness) {
        controls.bringNear(step)
        guard let vectorCipher else { return }
        switch step {
        case .tables: Nearness.bring(vectorCipher.toOpaque(), SRTPIPSecMBCipher.size)
        case .keys: vectorCipher._withUnsafeGuaranteedRef { $0.bringControlKeysNear() }
        case .own, .objects: break
        }
    }

    /// Bytes that it takes, about.
    static let size = 96

    /// Bytes of this object's tables, OpenSSL's context aside.
    var tableFootprint: Int { streams.footprint + controls.footprint }
}
