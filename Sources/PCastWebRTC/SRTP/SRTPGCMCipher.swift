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
        _ packet: UnsafeMutableRawBufferPointer, headerSize: Int, payload: UnsafeRawBufferPointer,
        ssrc: UInt32, index: UInt64
    ) {
        beginRTP(ssrc: ssrc, index: index)
        context.associate(UnsafeRawBufferPointer(rebasing: packet[..<headerSize]))
        context.update(payload, into: packet.baseAddress! + headerSize)
        context.seal(tag: packet.baseAddress! + headerSize + payload.count, count: Self.tagLength)
    }

    /// Decrypts an RTP packet in place. Returns false if it is not authentic.
    func openRTP(
        _ packet: UnsafeMutableRawBufferPointer, headerSize: Int, ssrc: UInt32, index: UInt64
    ) -> Bool {
        let end = packet.count - Self.tagLength
        beginRTP(ssrc: ssrc, index: index)
        context.associate(UnsafeRawBufferPointer(rebasing: packet[..<headerSize]))
        context.update(
            UnsafeRawBufferPointer(rebasing: packet[headerSize..<end]), into: packet.baseAddress! + headerSize)
        return context.open(tag: packet.baseAddress! + end, count: Self.tagLength)
    }

    /// Encrypts a compound RTCP packet in place. See ``SRTPCipher``.
    func sealRTCP(_ packet: UnsafeMutableRawBufferPointer, ssrc: UInt32, index: UInt32) {
        let end = packet.count - Self.tagLength - SRTCPTrailer.size
        let trailerOffset = packet.count - SRTCPTrailer.size
        let word = SRTCPTrailer.encryptedFlag | index
        packet.storeBytes(of: word.bigEndian, toByteOffset: trailerOffset, as: UInt32.self)
        beginRTCP(ssrc: ssrc, index: index)
        context.associate(UnsafeRawBufferPointer(rebasing: packet[..<Self.rtcpHeaderSize]))
        context.associate(UnsafeRawBufferPointer(rebasing: packet[trailerOffset...]))
        context.update(
            UnsafeRawBufferPointer(rebasing: packet[Self.rtcpHeaderSize..<end]),
            into: packet.baseAddress! + Self.rtcpHeaderSize)
        context.seal(tag: packet.baseAddress! + end, count: Self.tagLength)
    }

    /// Decrypts a compound RTCP packet in place. Returns false if it is not authentic.
    func openRTCP(_ packet: UnsafeMutableRawBufferPointer, ssrc: UInt32, trailer: SRTCPTrailer) -> Bool {
        let trailerOffset = packet.count - SRTCPTrailer.size
        let end = trailerOffset - Self.tagLength
        let clearEnd = trailer.isEncrypted ? Self.rtcpHeaderSize : end
        beginRTCP(ssrc: ssrc, index: trailer.index)
        context.associate(UnsafeRawBufferPointer(rebasing: packet[..<clearEnd]))
        context.associate(UnsafeRawBufferPointer(rebasing: packet[trailerOffset...]))
        context.update(
            UnsafeRawBufferPointer(rebasing: packet[clearEnd..<end]), into: packet.baseAddress! + clearEnd)
        return context.open(tag: packet.baseAddress! + end, count: Self.tagLength)
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
