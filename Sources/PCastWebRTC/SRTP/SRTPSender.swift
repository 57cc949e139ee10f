/// Protects what one peer is sent: RTP and RTCP of up to 64 SSRCs (RFC 3711, RFC 7714).
///
/// No index of an SSRC is ever used twice, for two payloads at one index would give the GCM keys away (SRTP1): a
/// packet whose index was used, or lies too far back to tell, is refused and counted. Nothing is allocated for a packet
/// but the first of its SSRC. Owned by one thread at a time.
public final class SRTPSender {
    /// The most that protection adds to a packet: GCM's tag and the SRTCP index.
    public static let maximumOverhead = 20
    /// The most SSRCs; packets of further ones are refused.
    public static var maximumSources: Int { SRTPStreamTable<SRTPIndexWindow>.capacity }

    public let profile: SRTPProfile
    /// Packets not protected: a repeated index, an SSRC too many, an exhausted counter or no RTP at all.
    public private(set) var refusals = 0

    private let cipher: SRTPCipher
    /// The same where it is libipsec-mb's, which is looked at without being kept.
    private let vectorCipher: Unmanaged<SRTPIPSecMBCipher>?
    private let streams = SRTPStreamTable<SRTPIndexWindow>()
    private var nextRTCPIndex: UInt32

    /// - Parameter library: one that is available.
    public convenience init(_ keys: SRTPKeyingMaterial, by library: SRTPCipherLibrary = .preferred) {
        let cipher = SRTPCipher(
            profile: keys.profile, masterKey: keys.localKey, masterSalt: keys.localSalt, direction: .encrypt,
            library: library)
        self.init(profile: keys.profile, cipher: cipher)
    }

    init(profile: SRTPProfile, cipher: SRTPCipher, firstRTCPIndex: UInt32 = 0) {
        self.profile = profile
        self.cipher = cipher
        vectorCipher = cipher.vector.map { Unmanaged.passUnretained($0) }
        nextRTCPIndex = firstRTCPIndex
    }

    /// Writes `header`, the encrypted `payload` and the tag into `destination`; neither source is changed, so one
    /// plaintext serves every viewer and every retransmission (SRTP2).
    ///
    /// `header` is the whole RTP header with CSRCs and extensions, and may stand at the beginning of `destination` already.
    /// `destination` has room for both and `maximumOverhead`. Returns the bytes written, or 0 when refused.
    public func protectRTP(
        header: UnsafeRawBufferPointer, payload: UnsafeRawBufferPointer,
        into destination: UnsafeMutableRawBufferPointer
    ) -> Int {
        let total = header.count + payload.count + profile.tagLength
        precondition(destination.count >= total, "room for the packet and its tag")
        guard header.count >= 12, let index = claimIndex(header) else { return refuse() }
        if header.baseAddress != UnsafeRawPointer(destination.baseAddress) { destination.copyMemory(from: header) }
        cipher.sealRTP(
            UnsafeMutableRawBufferPointer(rebasing: destination[..<total]), headerSize: header.count,
            payload: payload, ssrc: Self.ssrc(of: header), index: index)
        return total
    }

    /// Protects in place the first `length` bytes of a buffer that has room for `maximumOverhead` more.
    ///
    /// Returns the new length, or 0, and the packet untouched, when refused.
    public func protectRTP(_ packet: UnsafeMutableRawBufferPointer, length: Int, headerSize: Int) -> Int {
        let total = length + profile.tagLength
        precondition(packet.count >= total && headerSize <= length, "room for the packet and its tag")
        let header = UnsafeRawBufferPointer(rebasing: packet[..<headerSize])
        guard headerSize >= 12, let index = claimIndex(header) else { return refuse() }
        cipher.sealRTP(
            UnsafeMutableRawBufferPointer(rebasing: packet[..<total]), headerSize: headerSize,
            payload: UnsafeRawBufferPointer(rebasing: packet[headerSize..<length]), ssrc: Self.ssrc(of: header),
            index: index)
        return total
    }

    /// Protects in place the compound RTCP packet in the first `length` bytes of a buffer that has room for
    /// `maximumOverhead` more. Returns the new length, or 0 when refused.
    public func protectRTCP(_ packet: UnsafeMutableRawBufferPointer, length: Int) -> Int {
        let total = length + SRTCPTrailer.overhead(profile)
        precondition(packet.count >= total, "room for the packet, its index and its tag")
        let plaintext = UnsafeRawBufferPointer(rebasing: packet[..<length])
        guard let ssrc = SRTPPacketHeader.ssrc(ofRTCP: plaintext, tail: 0),
            nextRTCPIndex < SRTCPTrailer.indexLimit
        else { return refuse() }
        let whole = UnsafeMutableRawBufferPointer(rebasing: packet[..<total])
        cipher.sealRTCP(whole, ssrc: ssrc, index: nextRTCPIndex)
        nextRTCPIndex += 1
        return total
    }

    private static func ssrc(of header: UnsafeRawBufferPointer) -> UInt32 {
        header.loadUnaligned(fromByteOffset: 8, as: UInt32.self).bigEndian
    }

    /// See `Nearness`.
    func bringNear(_ step: Nearness) {
        streams.bringNear(step)
        guard let vectorCipher else { return }
        switch step {
        case .tables: Nearness.bring(vectorCipher.toOpaque(), SRTPIPSecMBCipher.size)
        case .keys: vectorCipher._withUnsafeGuaranteedRef { $0.bringKeysNear() }
        case .own, .objects: break
        }
    }

    /// Bytes that it takes, about.
    static let size = 64

    /// The packet's index, which is thereby used; nil when it may not be.
    @inline(__always)
    private func claimIndex(_ header: UnsafeRawBufferPointer) -> UInt64? {
        let ssrc = Self.ssrc(of: header)
        let sequenceNumber = header.loadUnaligned(fromByteOffset: 2, as: UInt16.self).bigEndian
        guard let position = streams.position(of: ssrc) else {
            guard !streams.isFull else { return nil }
            var window = SRTPIndexWindow()
            window.mark(UInt64(sequenceNumber))
            _ = streams.insert(ssrc, window)
            return UInt64(sequenceNumber)
        }
        let window = streams.state(at: position)
        let index = window.pointee.estimate(sequenceNumber)
        guard index < 1 << 48, window.pointee.claim(index) else { return nil }
        return index
    }

    private func refuse() -> Int {
        refusals += 1
        return 0
    }
}
