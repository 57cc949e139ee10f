package import PCastCore

/// Encrypts the packets to one peer: RTP and RTCP of up to 64 SSRCs (RFC 3711, RFC 7714).
///
/// An index of an SSRC is never used twice, because two payloads with the same index reveal the GCM authentication key.
/// A packet whose index was used or is too old is rejected and counted. Memory is allocated only for the first packet
/// of an SSRC. It must be used by one thread at a time.
package final class SRTPSender {
    /// The maximum number of bytes that encryption adds to a packet: GCM's tag and the SRTCP index.
    package static let maximumOverhead = 20
    /// The maximum number of SSRCs; packets of others are rejected.
    package static var maximumSources: Int { SRTPStreamTable<SRTPIndexWindow>.capacity }

    /// The protection profile.
    package let profile: SRTPProfile
    /// The number of rejected packets: a repeated index, too many SSRCs, an exhausted counter, or no RTP packet.
    package private(set) var refusals = 0

    private let cipher: SRTPCipher
    /// An unretained reference to the cipher of libipsec-mb, for prefetching; nil for another one.
    private let vectorCipher: UnretainedReference<SRTPIPSecMBCipher>?
    private let streams = SRTPStreamTable<SRTPIndexWindow>()
    private var nextRTCPIndex: UInt32

    /// Creates a sender. `library` must be available.
    package convenience init(_ keys: SRTPKeyingMaterial, by library: SRTPCipherLibrary = .preferred) {
        let cipher = SRTPCipher(
            profile: keys.profile, masterKey: keys.localKey, masterSalt: keys.localSalt, direction: .encrypt,
            library: library)
        self.init(profile: keys.profile, cipher: cipher)
    }

    init(profile: SRTPProfile, cipher: SRTPCipher, firstRTCPIndex: UInt32 = 0) {
        self.profile = profile
        self.cipher = cipher
        vectorCipher = cipher.vector.map { UnretainedReference($0) }
        nextRTCPIndex = firstRTCPIndex
    }

    /// Writes `header`, the encrypted `payload` and the tag into `destination`.
    ///
    /// The sources do not change, so one plaintext serves all viewers and retransmissions.
    ///
    /// - Parameters:
    ///   - header: The whole RTP header with CSRCs and extensions. It may already be at the beginning of `destination`.
    ///   - payload: The payload.
    ///   - destination: A buffer with space for both and ``maximumOverhead``.
    /// - Returns: The number of bytes written; 0 if the packet was rejected.
    package func protectRTP(
        header: ByteView, payload: ByteView,
        into destination: MutableByteView
    ) -> Int {
        let total = header.count + payload.count + profile.tagLength
        precondition(destination.count >= total, "the buffer must have space for the packet and its tag")
        guard header.count >= 12, let index = claimIndex(header) else { return refuse() }
        if !header.beginsLike(destination) { destination.copyMemory(from: header) }
        cipher.sealRTP(
            destination.extracting(0..<total), headerSize: header.count,
            payload: payload, ssrc: Self.ssrc(of: header), index: index)
        return total
    }

    /// Encrypts a packet in place.
    ///
    /// - Parameters:
    ///   - packet: The buffer, with space for ``maximumOverhead`` more bytes.
    ///   - length: The size of the packet.
    ///   - headerSize: The size of its header with CSRCs and extensions.
    /// - Returns: The new size; 0 if the packet was rejected, which leaves it unchanged.
    package func protectRTP(_ packet: MutableByteView, length: Int, headerSize: Int) -> Int {
        let total = length + profile.tagLength
        precondition(
            packet.count >= total && headerSize <= length, "the buffer must have space for the packet and its tag")
        let header = ByteView(packet.extracting(0..<headerSize))
        guard headerSize >= 12, let index = claimIndex(header) else { return refuse() }
        cipher.sealRTP(
            packet.extracting(0..<total), headerSize: headerSize,
            payload: ByteView(packet.extracting(headerSize..<length)), ssrc: Self.ssrc(of: header),
            index: index)
        return total
    }

    /// Encrypts a compound RTCP packet of `length` bytes in place, in a buffer with space for ``maximumOverhead`` more.
    /// Returns the new size; 0 if the packet was rejected.
    package func protectRTCP(_ packet: MutableByteView, length: Int) -> Int {
        let total = length + SRTCPTrailer.overhead(profile)
        precondition(packet.count >= total, "the buffer must have space for the packet, its index and its tag")
        let plaintext = ByteView(packet.extracting(0..<length))
        guard let ssrc = SRTPPacketHeader.ssrc(ofRTCP: plaintext, tail: 0),
            nextRTCPIndex < SRTCPTrailer.indexLimit
        else { return refuse() }
        let whole = packet.extracting(0..<total)
        cipher.sealRTCP(whole, ssrc: ssrc, index: nextRTCPIndex)
        nextRTCPIndex += 1
        return total
    }

    private static func ssrc(of header: ByteView) -> UInt32 {
        header.loadUnaligned(fromByteOffset: 8, as: UInt32.self).bigEndian
    }

    /// Prefetches the memory that an RTP packet needs. See `Prefetch`.
    func prefetch(_ step: Prefetch) {
        streams.prefetch(step)
        guard let vectorCipher else { return }
        switch step {
        case .tables: Prefetch.fetch(vectorCipher.memory(SRTPIPSecMBCipher.size))
        case .keys: vectorCipher.withObject { $0.prefetchKeys() }
        case .own, .objects: break
        }
    }

    /// The approximate size of the object in bytes.
    static let size = 64

    /// Returns the index of a packet and marks it as used; nil if it must not be used.
    @inline(__always)
    private func claimIndex(_ header: ByteView) -> UInt64? {
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

    /// Counts a rejected packet.
    private func refuse() -> Int {
        refusals += 1
        return 0
    }
}
