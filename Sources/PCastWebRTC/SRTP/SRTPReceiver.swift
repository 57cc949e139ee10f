package import PCastCore

/// Authenticates and decrypts the packets of one peer in place: RTP and RTCP of up to 64 SSRCs (RFC 3711, RFC 7714).
///
/// The index of a packet is estimated before it is decrypted, and state is created only for authentic packets. All RTP
/// packets must be passed to it, including those of unused layers, because the rollover counter is lost after 2^15
/// missing packets (RFC 3711, section 3.3.1). It must be used by one thread at a time.
package final class SRTPReceiver {
    /// The protection profile.
    package let profile: SRTPProfile

    private let cipher: SRTPCipher
    /// An unretained reference to the cipher of libipsec-mb, for prefetching; nil for another one.
    private let vectorCipher: UnretainedReference<SRTPIPSecMBCipher>?
    /// The replay windows of RTP by SSRC.
    private let streams = SRTPStreamTable<SRTPIndexWindow>()
    /// The replay windows of RTCP by SSRC.
    private let controls = SRTPStreamTable<SRTCPIndexWindow>()
    /// The SSRCs that were not taken yet. The two tables limit their number.
    private var newSources: [UInt32] = []

    /// Whether the last authentic packet is the newest of its stream, so that its source address is the current one. An
    /// older packet may have been sent before an address change (compare RFC 9000, section 9.3).
    package private(set) var lastWasNewest = false

    /// Creates a receiver. `library` must be available.
    package convenience init(_ keys: SRTPKeyingMaterial, by library: SRTPCipherLibrary = .preferred) {
        let cipher = SRTPCipher(
            profile: keys.profile, masterKey: keys.remoteKey, masterSalt: keys.remoteSalt, direction: .decrypt,
            library: library)
        self.init(profile: keys.profile, cipher: cipher)
    }

    init(profile: SRTPProfile, cipher: SRTPCipher) {
        self.profile = profile
        self.cipher = cipher
        vectorCipher = cipher.vector.map { UnretainedReference($0) }
    }

    /// Returns the SSRC of a stream whose first authentic packet has arrived; nil if there is no other.
    package func takeNewSource() -> UInt32? {
        let source = newSources.popLast()
        // This is called for each packet, and an empty array without memory avoids a cache miss.
        if source != nil, newSources.isEmpty { newSources = [] }
        return source
    }

    /// Authenticates and decrypts an RTP packet in place. The buffer has exactly the size of the packet.
    package func unprotectRTP(_ packet: MutableByteView) -> SRTPResult {
        let tail = profile.tagLength
        guard let header = SRTPPacketHeader(rtp: ByteView(packet), tail: tail) else { return .malformed }
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

    /// Returns the index of a stream's first packet if it is authentic. It is the sequence number, or that after one
    /// rollover, if the stream began just below 2^16 and the packets before the rollover were lost.
    private func openFirst(_ packet: MutableByteView, _ header: SRTPPacketHeader) -> UInt64? {
        let index = UInt64(header.sequenceNumber)
        if cipher.openRTP(packet, headerSize: header.size, ssrc: header.ssrc, index: index) { return index }
        guard header.sequenceNumber < 0x8000 else { return nil }
        cipher.restoreRTP(packet, headerSize: header.size, ssrc: header.ssrc, index: index)
        let wrapped = index + 0x1_0000
        return cipher.openRTP(packet, headerSize: header.size, ssrc: header.ssrc, index: wrapped) ? wrapped : nil
    }

    /// Authenticates and decrypts a compound RTCP packet in place. The buffer has exactly the size of the packet.
    package func unprotectRTCP(_ packet: MutableByteView) -> SRTPResult {
        let tail = SRTCPTrailer.overhead(profile)
        let bytes = ByteView(packet)
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

    /// Prefetches the memory that an RTCP packet needs. See `Prefetch`.
    func prefetch(_ step: Prefetch) {
        controls.prefetch(step)
        guard let vectorCipher else { return }
        switch step {
        case .tables: Prefetch.fetch(vectorCipher.memory(SRTPIPSecMBCipher.size))
        case .keys: vectorCipher.withObject { $0.prefetchControlKeys() }
        case .own, .objects: break
        }
    }

    /// The approximate size of the object in bytes.
    static let size = 96
}

/// The result of decrypting a packet.
package enum SRTPResult: Equatable, Sendable {
    /// The packet is authentic. The plaintext has `length` bytes.
    case ok(length: Int)
    /// The index was received before or is too old.
    case replayed
    /// The tag is wrong; the bytes after the header are unspecified.
    case unauthentic
    /// The packet is not RTP or RTCP with a tag, or exceeds the number of SSRCs.
    case malformed
}

/// The replay window for the last 64 SRTCP indexes of a sender (RFC 3711, section 3.3.2).
struct SRTCPIndexWindow {
    /// The highest index that was marked.
    private(set) var highest: UInt32 = 0
    /// The marked indexes: bit n is that of `highest - n`. It is zero before the first.
    private var seen: UInt64 = 0

    /// Returns whether an index is neither marked nor too old.
    func isFresh(_ index: UInt32) -> Bool {
        if seen == 0 || index > highest { return true }
        let age = highest - index
        return age < 64 && seen & (1 << UInt64(age)) == 0
    }

    mutating func mark(_ index: UInt32) {
        if seen == 0 || index > highest {
            let step = seen == 0 ? 64 : index - highest
            seen = step < 64 ? seen << UInt64(step) | 1 : 1
            highest = index
        } else if highest - index < 64 {
            seen |= 1 << UInt64(highest - index)
        }
    }
}

/// The fields of an RTP or RTCP header that SRTP needs.
struct SRTPPacketHeader {
    let ssrc: UInt32
    let sequenceNumber: UInt16
    /// The size in bytes, including CSRCs and header extension. These are not encrypted.
    let size: Int

    /// Parses an RTP header (RFC 3550, section 5.1). Returns nil unless the header is followed by at least `tail`
    /// bytes.
    init?(rtp packet: ByteView, tail: Int) {
        guard packet.count >= 12 + tail, packet[0] >> 6 == 2 else { return nil }
        var size = 12 + 4 * Int(packet[0] & 0x0F)
        if packet[0] & 0x10 != 0 {
            guard packet.count >= size + 4 + tail else { return nil }
            let words = packet.loadUnaligned(fromByteOffset: size + 2, as: UInt16.self).bigEndian
            size += 4 + 4 * Int(words)
        }
        guard packet.count >= size + tail else { return nil }
        self.size = size
        sequenceNumber = packet.loadUnaligned(fromByteOffset: 2, as: UInt16.self).bigEndian
        ssrc = packet.loadUnaligned(fromByteOffset: 8, as: UInt32.self).bigEndian
    }

    /// Returns the SSRC of an RTCP packet; nil if it is too short for a header and `tail` bytes.
    static func ssrc(ofRTCP packet: ByteView, tail: Int) -> UInt32? {
        guard packet.count >= 8 + tail, packet[0] >> 6 == 2 else { return nil }
        return packet.loadUnaligned(fromByteOffset: 4, as: UInt32.self).bigEndian
    }
}

/// The replay window for the last 1024 packet indexes of a stream (RFC 3711, section 3.3.2). RFC 3711 requires at least
/// 64; a larger window also accepts retransmitted and recovered packets at high rates.
struct SRTPIndexWindow {
    static let width: UInt64 = 1024
    private static let words = 16

    /// The highest index that was marked; undefined before the first.
    private(set) var highest: UInt64 = 0
    private(set) var isEmpty = true
    /// The marked indexes: bit `index % 1024` for each index in the window.
    private var used = InlineArray<16, UInt64>(repeating: 0)

    /// Returns whether an index is neither marked nor too old.
    func isFresh(_ index: UInt64) -> Bool {
        if isEmpty || index > highest { return true }
        guard highest - index < Self.width else { return false }
        return used[Self.word(index)] & Self.bit(index) == 0
    }

    /// Marks an index if it is neither marked nor too old. Returns whether it did. It copies nothing, because it is
    /// called for each sent packet.
    mutating func claim(_ index: UInt64) -> Bool {
        if !isEmpty, index <= highest {
            guard highest - index < Self.width else { return false }
            let bit = Self.bit(index)
            // A mutable span is read, because a subscript may copy the whole array.
            guard used.mutableSpan[Self.word(index)] & bit == 0 else { return false }
        }
        mark(index)
        return true
    }

    mutating func mark(_ index: UInt64) {
        if isEmpty {
            isEmpty = false
            highest = index
        } else if index > highest {
            // A single step, which is usual, overwrites only its own bit.
            if index > highest + 1 { discard(from: highest + 1, through: index) }
            highest = index
        }
        used[Self.word(index)] |= Self.bit(index)
    }

    /// Clears the marks of a range of indexes.
    private mutating func discard(from first: UInt64, through last: UInt64) {
        guard last - first < Self.width else {
            used = InlineArray(repeating: 0)
            return
        }
        for index in first...last { used[Self.word(index)] &= ~Self.bit(index) }
    }

    private static func word(_ index: UInt64) -> Int { Int(truncatingIfNeeded: index >> 6) & (words - 1) }
    private static func bit(_ index: UInt64) -> UInt64 { 1 << (index & 63) }

    /// Returns the most likely 48-bit index of a sequence number (RFC 3711, section 3.3.1). It is the one nearest to
    /// the highest index, with a rollover counter that is not negative.
    func estimate(_ sequenceNumber: UInt16) -> UInt64 {
        guard !isEmpty else { return UInt64(sequenceNumber) }
        let distance = Int64(Int16(truncatingIfNeeded: Int(sequenceNumber) - Int(highest & 0xFFFF)))
        let index = Int64(highest) + distance
        return index < 0 ? UInt64(sequenceNumber) : UInt64(index)
    }
}
