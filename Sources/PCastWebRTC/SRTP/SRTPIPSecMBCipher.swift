import CIPSecMB
import COpenSSL
import PCastCore

/// AES-GCM by libipsec-mb (RFC 7714).
///
/// The round keys and hash keys (1 kB) are expanded with the first packet and kept. They are for RTP and for received
/// RTCP, which viewers send ten times per second. Those for sent RTCP, once per second, are expanded for each packet.
///
/// It is marked `@safe` for these reasons. It owns the memory of the expanded keys until `deinit`, with the size and
/// alignment that the library requires. The library reads and writes as many bytes as the views have, which are valid
/// during the call; ``apply(_:_:_:to:associated:tag:)`` checks that output and tag have space. One connection uses it.
@safe
final class SRTPIPSecMBCipher {
    private static let tagLength = SRTPGCMCipher.tagLength
    /// The bytes of RTCP that are never encrypted: the first header and the SSRC of its sender.
    private static let rtcpHeaderSize = 8
    /// The maximum size of a compound packet that is authenticated but not encrypted.
    private static let maximumClearSize = 2048

    private let functions: pcast_imb_gcm
    private let direction: EVPCipherContext.Direction
    private let crypt: pcast_imb_crypt
    private let rtpKey: [UInt8]
    private let rtcpKey: [UInt8]
    private let rtpSalt: SRTPInitializationVector
    private let rtcpSalt: SRTPInitializationVector
    private var expandedRTP: UnsafeMutableRawPointer?
    private var expandedRTCP: UnsafeMutableRawPointer?

    init(
        _ functions: pcast_imb_gcm, rtp: SRTPSessionKeys, rtcp: SRTPSessionKeys, direction: EVPCipherContext.Direction
    ) {
        self.functions = functions
        self.direction = direction
        unsafe crypt = direction == .encrypt ? functions.encrypt : functions.decrypt
        rtpKey = rtp.encryption
        rtcpKey = rtcp.encryption
        rtpSalt = SRTPInitializationVector(salt: rtp.salt)
        rtcpSalt = SRTPInitializationVector(salt: rtcp.salt)
    }

    deinit {
        unsafe expandedRTP?.deallocate()
        unsafe expandedRTCP?.deallocate()
    }

    /// Encrypts an RTP packet. See ``SRTPCipher``.
    func sealRTP(
        _ packet: MutableByteView, headerSize: Int, payload: ByteView,
        ssrc: UInt32, index: UInt64
    ) {
        let end = headerSize + payload.count
        unsafe apply(
            rtpKeys(), rtpSalt.gcm(ssrc: ssrc, index: index), payload, to: packet.extracting(headerSize..<end),
            associated: ByteView(packet.extracting(0..<headerSize)),
            tag: packet.extracting(end..<end + Self.tagLength))
    }

    /// Decrypts an RTP packet in place. Returns false if it is not authentic.
    func openRTP(
        _ packet: MutableByteView, headerSize: Int, ssrc: UInt32, index: UInt64
    ) -> Bool {
        let end = packet.count - Self.tagLength
        let part = packet.extracting(headerSize..<end)
        return isAuthentic(ByteView(packet.extracting(end..<end + Self.tagLength))) { tag in
            unsafe apply(
                rtpKeys(), rtpSalt.gcm(ssrc: ssrc, index: index), ByteView(part), to: part,
                associated: ByteView(packet.extracting(0..<headerSize)), tag: tag)
        }
    }

    /// Encrypts a compound RTCP packet in place. See ``SRTPCipher``.
    func sealRTCP(_ packet: MutableByteView, ssrc: UInt32, index: UInt32) {
        let end = packet.count - Self.tagLength - SRTCPTrailer.size
        let trailerOffset = packet.count - SRTCPTrailer.size
        let word = SRTCPTrailer.encryptedFlag | index
        packet.storeBytes(of: word.bigEndian, toByteOffset: trailerOffset, as: UInt32.self)
        cryptRTCP(
            packet, clearEnd: Self.rtcpHeaderSize, end: end, ssrc, index,
            tag: packet.extracting(end..<end + Self.tagLength))
    }

    /// Decrypts a compound RTCP packet in place. Returns false if it is not authentic.
    func openRTCP(_ packet: MutableByteView, ssrc: UInt32, trailer: SRTCPTrailer) -> Bool {
        let end = packet.count - SRTCPTrailer.size - Self.tagLength
        let clearEnd = trailer.isEncrypted ? Self.rtcpHeaderSize : end
        guard clearEnd <= Self.maximumClearSize else { return false }
        return isAuthentic(ByteView(packet.extracting(end..<end + Self.tagLength))) { tag in
            cryptRTCP(packet, clearEnd: clearEnd, end: end, ssrc, trailer.index, tag: tag)
        }
    }

    /// Encrypts or decrypts RTCP. The additional data are the bytes before `clearEnd` and the last word of the packet.
    private func cryptRTCP(
        _ packet: MutableByteView, clearEnd: Int, end: Int, _ ssrc: UInt32, _ index: UInt32,
        tag: MutableByteView
    ) {
        let size = clearEnd + SRTCPTrailer.size
        withTemporaryBytes(size) { associated in
            associated.copyMemory(from: ByteView(packet.extracting(0..<clearEnd)))
            associated.extracting(clearEnd...)
                .copyMemory(from: ByteView(packet.extracting((packet.count - SRTCPTrailer.size)...)))
            let part = packet.extracting(clearEnd..<end)
            unsafe apply(
                rtcpKeys(), rtcpSalt.gcm(ssrc: ssrc, index: UInt64(index)), ByteView(part), to: part,
                associated: ByteView(associated), tag: tag)
        }
    }

    /// Prefetches the keys for RTP, if they are expanded. See `Prefetch`.
    func prefetchKeys() {
        if let expandedRTP = unsafe expandedRTP { unsafe Prefetch.fetch(Self.memory(ofKeys: expandedRTP)) }
    }

    /// Prefetches the keys that an RTCP packet of at most 250 bytes needs: the round keys and the last hash keys.
    func prefetchControlKeys() {
        guard let expandedRTCP = unsafe expandedRTCP else { return }
        let keys = unsafe Self.memory(ofKeys: expandedRTCP)
        Prefetch.fetch(keys.prefix(Self.roundKeysSize))
        Prefetch.fetch(keys.dropping(Int(PCAST_IMB_KEY_SIZE) - Self.prefetchedHashKeysSize))
    }

    /// Returns the memory of expanded keys.
    private static func memory(ofKeys keys: UnsafeMutableRawPointer) -> AddressRange {
        AddressRange(start: UInt(bitPattern: keys), count: Int(PCAST_IMB_KEY_SIZE))
    }

    /// The approximate size of the object in bytes.
    static let size = 128

    /// The size of the eleven round keys of AES-128 in bytes.
    private static let roundKeysSize = 176
    private static let prefetchedHashKeysSize = 256

    /// Returns the expanded keys for RTP.
    private func rtpKeys() -> UnsafeRawPointer {
        if let expandedRTP = unsafe expandedRTP { return UnsafeRawPointer(expandedRTP) }
        let keys = unsafe expand(rtpKey)
        unsafe expandedRTP = keys
        return UnsafeRawPointer(keys)
    }

    /// Returns the expanded keys for RTCP; nil if they are expanded for each packet.
    private func rtcpKeys() -> UnsafeRawPointer? {
        if let expandedRTCP = unsafe expandedRTCP { return UnsafeRawPointer(expandedRTCP) }
        guard direction == .decrypt else { return nil }
        let keys = unsafe expand(rtcpKey)
        unsafe expandedRTCP = keys
        return UnsafeRawPointer(keys)
    }

    /// Expands a key into new memory.
    private func expand(_ key: [UInt8]) -> UnsafeMutableRawPointer {
        let keys = UnsafeMutableRawPointer.allocate(
            byteCount: Int(PCAST_IMB_KEY_SIZE), alignment: Int(PCAST_IMB_KEY_ALIGNMENT))
        unsafe functions.expand(key, keys)
        return unsafe keys
    }

    /// Returns whether a tag equals the computed one, in constant time.
    private func isAuthentic(_ tag: ByteView, _ compute: (_ computed: MutableByteView) -> Void) -> Bool {
        withTemporaryBytes(Self.tagLength) { computed in
            compute(computed)
            return HMACCode.isEqual(ByteView(computed), tag)
        }
    }

    /// Returns the address of bytes for a C function.
    @inline(__always)
    private static func address(_ bytes: ByteView) -> UnsafePointer<UInt8>? {
        unsafe bytes.unsafeBytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
    }

    /// Encrypts or decrypts bytes and computes the tag. Without `keys` it expands the key for RTCP.
    private func apply(
        _ keys: UnsafeRawPointer?, _ vector: SRTPInitializationVector, _ input: ByteView,
        to output: MutableByteView, associated: ByteView, tag: MutableByteView
    ) {
        precondition(
            input.count <= output.count && tag.count == Self.tagLength,
            "the output must have the size of the input, and the tag that of a tag")
        withTemporaryBytes(Int(PCAST_IMB_CONTEXT_SIZE)) { context in
            vector.withBytes { vector in
                let vector = unsafe Self.address(vector)
                let output = unsafe output.unsafeBytes.baseAddress!.assumingMemoryBound(to: UInt8.self)
                let tag = unsafe tag.unsafeBytes.baseAddress!.assumingMemoryBound(to: UInt8.self)
                let plain = unsafe Self.address(input)
                let clear = unsafe Self.address(associated)
                let context = unsafe context.unsafeBytes.baseAddress
                if let keys = unsafe keys {
                    unsafe crypt(
                        keys, context, output, plain, UInt64(input.count), vector, clear,
                        UInt64(associated.count), tag, UInt64(Self.tagLength))
                } else {
                    unsafe pcast_imb_crypt_once(
                        functions.expand, crypt, rtcpKey, context, output, plain, UInt64(input.count),
                        vector, clear, UInt64(associated.count), tag, UInt64(Self.tagLength))
                }
            }
        }
    }
}
