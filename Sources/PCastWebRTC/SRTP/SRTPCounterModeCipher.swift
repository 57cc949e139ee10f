import PCastCore

/// AES-128 in counter mode with HMAC-SHA1 and 80-bit tags (RFC 3711, sections 4.1.1 and 4.2.1). RTP and RTCP share one
/// cipher context.
final class SRTPCounterModeCipher {
    static let tagLength = 10
    private static let rtcpHeaderSize = 8

    private let context: EVPCipherContext
    private let rtpKey: [UInt8]
    private let rtcpKey: [UInt8]
    private let rtpSalt: SRTPInitializationVector
    private let rtcpSalt: SRTPInitializationVector
    private let rtpCode: HMACSHA1
    private let rtcpCode: HMACSHA1
    private var keyed: SRTPSessionKeys.Purpose?

    init(rtp: SRTPSessionKeys, rtcp: SRTPSessionKeys) {
        context = EVPCipherContext(.aes128CTR)
        rtpKey = rtp.encryption
        rtcpKey = rtcp.encryption
        rtpSalt = SRTPInitializationVector(salt: rtp.salt)
        rtcpSalt = SRTPInitializationVector(salt: rtcp.salt)
        rtpCode = HMACSHA1(key: rtp.authentication)
        rtcpCode = HMACSHA1(key: rtcp.authentication)
    }

    /// Encrypts an RTP packet. See ``SRTPCipher``.
    func sealRTP(
        _ packet: MutableByteView, headerSize: Int, payload: ByteView,
        ssrc: UInt32, index: UInt64
    ) {
        let end = headerSize + payload.count
        beginRTP(ssrc: ssrc, index: index)
        context.update(payload, into: packet.extracting(headerSize..<end))
        rtpCode.authenticate(
            ByteView(packet.extracting(0..<end)), trailer: UInt32(truncatingIfNeeded: index >> 16),
            into: packet.extracting(end..<end + Self.tagLength))
    }

    /// Authenticates and decrypts an RTP packet in place. A packet that is not authentic stays unchanged.
    func openRTP(
        _ packet: MutableByteView, headerSize: Int, ssrc: UInt32, index: UInt64
    ) -> Bool {
        let end = packet.count - Self.tagLength
        let isAuthentic = rtpCode.isAuthentic(
            ByteView(packet.extracting(0..<end)), trailer: UInt32(truncatingIfNeeded: index >> 16),
            tag: ByteView(packet.extracting(end..<end + Self.tagLength)))
        guard isAuthentic else { return false }
        beginRTP(ssrc: ssrc, index: index)
        crypt(packet, from: headerSize, to: end)
        return true
    }

    /// Encrypts a compound RTCP packet in place. See ``SRTPCipher``.
    func sealRTCP(_ packet: MutableByteView, ssrc: UInt32, index: UInt32) {
        let end = packet.count - Self.tagLength
        let trailerOffset = end - SRTCPTrailer.size
        let word = SRTCPTrailer.encryptedFlag | index
        beginRTCP(ssrc: ssrc, index: index)
        crypt(packet, from: Self.rtcpHeaderSize, to: trailerOffset)
        packet.storeBytes(of: word.bigEndian, toByteOffset: trailerOffset, as: UInt32.self)
        rtcpCode.authenticate(
            ByteView(packet.extracting(0..<end)), trailer: nil, into: packet.extracting(end..<end + Self.tagLength))
    }

    /// Authenticates and decrypts a compound RTCP packet in place. A packet that is not authentic stays unchanged.
    func openRTCP(_ packet: MutableByteView, ssrc: UInt32, trailer: SRTCPTrailer) -> Bool {
        let end = packet.count - Self.tagLength
        let isAuthentic = rtcpCode.isAuthentic(
            ByteView(packet.extracting(0..<end)), trailer: nil,
            tag: ByteView(packet.extracting(end..<end + Self.tagLength)))
        guard isAuthentic else { return false }
        if trailer.isEncrypted {
            beginRTCP(ssrc: ssrc, index: trailer.index)
            crypt(packet, from: Self.rtcpHeaderSize, to: end - SRTCPTrailer.size)
        }
        return true
    }

    /// Encrypts or decrypts a part of a packet in place.
    private func crypt(_ packet: MutableByteView, from start: Int, to end: Int) {
        let part = packet.extracting(start..<end)
        context.update(ByteView(part), into: part)
    }

    /// Sets the key and the counter of an RTP packet.
    private func beginRTP(ssrc: UInt32, index: UInt64) {
        if keyed != .rtp { rekey(.rtp) }
        rtpSalt.counter(ssrc: ssrc, index: index).withBytes { context.begin(initializationVector: $0) }
    }

    /// Sets the key and the counter of an RTCP packet.
    private func beginRTCP(ssrc: UInt32, index: UInt32) {
        if keyed != .rtcp { rekey(.rtcp) }
        rtcpSalt.counter(ssrc: ssrc, index: UInt64(index)).withBytes { context.begin(initializationVector: $0) }
    }

    private func rekey(_ purpose: SRTPSessionKeys.Purpose) {
        context.setKey(purpose == .rtp ? rtpKey : rtcpKey)
        keyed = purpose
    }
}
