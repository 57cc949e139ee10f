import COpenSSL

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
        _ packet: UnsafeMutableRawBufferPointer, headerSize: Int, payload: UnsafeRawBufferPointer,
        ssrc: UInt32, index: UInt64
    ) {
        let end = headerSize + payload.count
        beginRTP(ssrc: ssrc, index: index)
        context.update(payload, into: packet.baseAddress! + headerSize)
        rtpCode.authenticate(
            UnsafeRawBufferPointer(rebasing: packet[..<end]), trailer: UInt32(truncatingIfNeeded: index >> 16),
            into: packet.baseAddress! + end, count: Self.tagLength)
    }

    /// Authenticates and decrypts an RTP packet in place. A packet that is not authentic stays unchanged.
    func openRTP(
        _ packet: UnsafeMutableRawBufferPointer, headerSize: Int, ssrc: UInt32, index: UInt64
    ) -> Bool {
        let end = packet.count - Self.tagLength
        let isAuthentic = rtpCode.isAuthentic(
            UnsafeRawBufferPointer(rebasing: packet[..<end]), trailer: UInt32(truncatingIfNeeded: index >> 16),
            tag: packet.baseAddress! + end, count: Self.tagLength)
        guard isAuthentic else { return false }
        beginRTP(ssrc: ssrc, index: index)
        context.update(
            UnsafeRawBufferPointer(rebasing: packet[headerSize..<end]), into: packet.baseAddress! + headerSize)
        return true
    }

    /// Encrypts a compound RTCP packet in place. See ``SRTPCipher``.
    func sealRTCP(_ packet: UnsafeMutableRawBufferPointer, ssrc: UInt32, index: UInt32) {
        let end = packet.count - Self.tagLength
        let trailerOffset = end - SRTCPTrailer.size
        let word = SRTCPTrailer.encryptedFlag | index
        beginRTCP(ssrc: ssrc, index: index)
        crypt(packet, from: Self.rtcpHeaderSize, to: trailerOffset)
        packet.storeBytes(of: word.bigEndian, toByteOffset: trailerOffset, as: UInt32.self)
        rtcpCode.authenticate(
            UnsafeRawBufferPointer(rebasing: packet[..<end]), trailer: nil, into: packet.baseAddress! + end,
            count: Self.tagLength)
    }

    /// Authenticates and decrypts a compound RTCP packet in place. A packet that is not authentic stays unchanged.
    func openRTCP(_ packet: UnsafeMutableRawBufferPointer, ssrc: UInt32, trailer: SRTCPTrailer) -> Bool {
        let end = packet.count - Self.tagLength
        let isAuthentic = rtcpCode.isAuthentic(
            UnsafeRawBufferPointer(rebasing: packet[..<end]), trailer: nil, tag: packet.baseAddress! + end,
            count: Self.tagLength)
        guard isAuthentic else { return false }
        if trailer.isEncrypted {
            beginRTCP(ssrc: ssrc, index: trailer.index)
            crypt(packet, from: Self.rtcpHeaderSize, to: end - SRTCPTrailer.size)
        }
        return true
    }

    /// Encrypts or decrypts a part of a packet in place.
    private func crypt(_ packet: UnsafeMutableRawBufferPointer, from start: Int, to end: Int) {
        context.update(UnsafeRawBufferPointer(rebasing: packet[start..<end]), into: packet.baseAddress! + start)
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

/// HMAC-SHA1 (RFC 2104). The two key blocks are hashed in advance, and no memory is allocated for a key or message.
struct HMACSHA1 {
    static let digestLength = 20

    private var inner = SHA_CTX()
    private var outer = SHA_CTX()

    /// The maximum length of a key in bytes, for which RFC 2104 needs no hash of the key.
    static let maximumKeyLength = 64

    init(key: [UInt8]) {
        precondition(key.count <= Self.maximumKeyLength, "the key must not be longer than a block")
        pcast_sha1_init(&inner)
        pcast_sha1_init(&outer)
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 64) { block in
            block.initialize(repeating: 0x36)
            for index in key.indices { block[index] ^= key[index] }
            pcast_sha1_update(&inner, block.baseAddress, 64)
            for index in block.indices { block[index] ^= 0x36 ^ 0x5C }
            pcast_sha1_update(&outer, block.baseAddress, 64)
        }
    }

    /// Writes the first `count` bytes of the code of `message`, followed by `trailer` in network byte order.
    func authenticate(
        _ message: UnsafeRawBufferPointer, trailer: UInt32?, into tag: UnsafeMutableRawPointer, count: Int
    ) {
        var context = inner
        pcast_sha1_update(&context, message.baseAddress, message.count)
        if var trailer = trailer?.bigEndian { pcast_sha1_update(&context, &trailer, 4) }
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: Self.digestLength) { digest in
            pcast_sha1_final(digest.baseAddress!, &context)
            context = outer
            pcast_sha1_update(&context, digest.baseAddress!, Self.digestLength)
            pcast_sha1_final(digest.baseAddress!, &context)
            tag.copyMemory(from: digest.baseAddress!, byteCount: count)
        }
    }

    /// Returns whether `tag` is the beginning of the code of `message` and `trailer`, in constant time.
    func isAuthentic(
        _ message: UnsafeRawBufferPointer, trailer: UInt32?, tag: UnsafeRawPointer, count: Int
    ) -> Bool {
        withUnsafeTemporaryAllocation(byteCount: Self.digestLength, alignment: 8) { expected in
            authenticate(message, trailer: trailer, into: expected.baseAddress!, count: count)
            return CRYPTO_memcmp(expected.baseAddress!, tag, count) == 0
        }
    }
}
