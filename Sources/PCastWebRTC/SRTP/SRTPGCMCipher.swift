import PCastCore

/// AES-GCM by OpenSSL (RFC 7714).
///
/// RTP and RTCP share one cipher context. A new key costs less time than a packet, and RTCP has only a few packets per
/// second, whereas a second context would cost 1.2 kB per viewer.
final class SRTPGCMCipher {
    static let tagLength = 16
    /// The bytes of RTCP that are never encrypted: the first header and the SSRC of its sender.
    private static let rtcpHeaderSize = 8

    private let context: EVPCipherContext
    private let rtpKey: [UInt8]
    private let rtcpKey: [UInt8]
    private let rtpSalt: SRTPInitializationVector
    private let rtcpSalt: SRTPInitializationVector
    private var keyed: SRTPSessionKeys.Purpose?

    init(
        _ algorithm: EVPCipherContext.Algorithm, rtp: SRTPSessionKeys, rtcp: SRTPSessionKeys,
        direction: EVPCipherContext.Direction
    ) {
        context = EVPCipherContext(algorithm, direction)
        rtpKey = rtp.encryption
        rtcpKey = rtcp.encryption
        rtpSalt = SRTPInitializationVector(salt: rtp.salt)
        rtcpSalt = SRTPInitializationVector(salt: rtcp.salt)
    }

    /// Encrypts an RTP packet. See ``SRTPCipher``.
    func sealRTP(
        _ packet: MutableByteView, headerSize: Int, payload: ByteView,
        ssrc: UInt32, index: UInt64
    ) {
        beginRTP(ssrc: ssrc, index: index)
        let end = headerSize + payload.count
        context.associate(ByteView(packet.extracting(0..<headerSize)))
        context.update(payload, into: packet.extracting(headerSize..<end))
        context.seal(tag: packet.extracting(end..<end + Self.tagLength))
    }

    /// Decrypts an RTP packet in place. Returns false if it is not authentic.
    func openRTP(
        _ packet: MutableByteView, headerSize: Int, ssrc: UInt32, index: UInt64
    ) -> Bool {
        let end = packet.count - Self.tagLength
        beginRTP(ssrc: ssrc, index: index)
        context.associate(ByteView(packet.extracting(0..<headerSize)))
        crypt(packet, from: headerSize, to: end)
        return context.open(tag: packet.extracting(end..<end + Self.tagLength))
    }

    /// Encrypts a compound RTCP packet in place. See ``SRTPCipher``.
    func sealRTCP(_ packet: MutableByteView, ssrc: UInt32, index: UInt32) {
        let end = packet.count - Self.tagLength - SRTCPTrailer.size
        let trailerOffset = packet.count - SRTCPTrailer.size
        let word = SRTCPTrailer.encryptedFlag | index
        packet.storeBytes(of: word.bigEndian, toByteOffset: trailerOffset, as: UInt32.self)
        beginRTCP(ssrc: ssrc, index: index)
        context.associate(ByteView(packet.extracting(0..<Self.rtcpHeaderSize)))
        context.associate(ByteView(packet.extracting(trailerOffset...)))
        crypt(packet, from: Self.rtcpHeaderSize, to: end)
        context.seal(tag: packet.extracting(end..<end + Self.tagLength))
    }

    /// Decrypts a compound RTCP packet in place. Returns false if it is not authentic.
    func openRTCP(_ packet: MutableByteView, ssrc: UInt32, trailer: SRTCPTrailer) -> Bool {
        let trailerOffset = packet.count - SRTCPTrailer.size
        let end = trailerOffset - Self.tagLength
        let clearEnd = trailer.isEncrypted ? Self.rtcpHeaderSize : end
        beginRTCP(ssrc: ssrc, index: trailer.index)
        context.associate(ByteView(packet.extracting(0..<clearEnd)))
        context.associate(ByteView(packet.extracting(trailerOffset...)))
        crypt(packet, from: clearEnd, to: end)
        return context.open(tag: packet.extracting(end..<end + Self.tagLength))
    }

    /// Encrypts or decrypts a part of a packet in place.
    private func crypt(_ packet: MutableByteView, from start: Int, to end: Int) {
        let part = packet.extracting(start..<end)
        context.update(ByteView(part), into: part)
    }

    /// Sets the key and the initialization vector of an RTP packet.
    private func beginRTP(ssrc: UInt32, index: UInt64) {
        if keyed != .rtp { rekey(.rtp) }
        rtpSalt.gcm(ssrc: ssrc, index: index).withBytes { context.begin(initializationVector: $0) }
    }

    /// Sets the key and the initialization vector of an RTCP packet.
    private func beginRTCP(ssrc: UInt32, index: UInt32) {
        if keyed != .rtcp { rekey(.rtcp) }
        rtcpSalt.gcm(ssrc: ssrc, index: UInt64(index)).withBytes { context.begin(initializationVector: $0) }
    }

    private func rekey(_ purpose: SRTPSessionKeys.Purpose) {
        context.setKey(purpose == .rtp ? rtpKey : rtcpKey)
        keyed = purpose
    }
}
