import CIPSecMB
import COpenSSL
import PCastCore

/// AES-GCM by libipsec-mb (RFC 7714).
///
/// The round keys and hash keys (1 kB) are expanded with the first packet and kept. They are for RTP and for received
/// RTCP, which viewers send ten times per second. Those for sent RTCP, once per second, are expanded for each packet.
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
        crypt = direction == .encrypt ? functions.encrypt : functions.decrypt
        rtpKey = rtp.encryption
        rtcpKey = rtcp.encryption
        rtpSalt = SRTPInitializationVector(salt: rtp.salt)
        rtcpSalt = SRTPInitializationVector(salt: rtcp.salt)
    }

    deinit {
        expandedRTP?.deallocate()
        expandedRTCP?.deallocate()
    }

    /// Encrypts an RTP packet. See ``SRTPCipher``.
    func sealRTP(
        _ packet: UnsafeMutableRawBufferPointer, headerSize: Int, payload: UnsafeRawBufferPointer,
        ssrc: UInt32, index: UInt64
    ) {
        let output = packet.baseAddress! + headerSize
        apply(
            rtpKeys(), rtpSalt.gcm(ssrc: ssrc, index: index), payload, to: output,
            associated: UnsafeRawBufferPointer(rebasing: packet[..<headerSize]), tag: output + payload.count)
    }

    /// Decrypts an RTP packet in place. Returns false if it is not authentic.
    func openRTP(
        _ packet: UnsafeMutableRawBufferPointer, headerSize: Int, ssrc: UInt32, index: UInt64
    ) -> Bool {
        let end = packet.count - Self.tagLength
        return isAuthentic(packet.baseAddress! + end) { tag in
            apply(
                rtpKeys(), rtpSalt.gcm(ssrc: ssrc, index: index),
                UnsafeRawBufferPointer(rebasing: packet[headerSize..<end]), to: packet.baseAddress! + headerSize,
                associated: UnsafeRawBufferPointer(rebasing: packet[..<headerSize]), tag: tag)
        }
    }

    /// Encrypts a compound RTCP packet in place. See ``SRTPCipher``.
    func sealRTCP(_ packet: UnsafeMutableRawBufferPointer, ssrc: UInt32, index: UInt32) {
        let end = packet.count - Self.tagLength - SRTCPTrailer.size
        let trailerOffset = packet.count - SRTCPTrailer.size
        let word = SRTCPTrailer.encryptedFlag | index
        packet.storeBytes(of: word.bigEndian, toByteOffset: trailerOffset, as: UInt32.self)
        cryptRTCP(packet, clearEnd: Self.rtcpHeaderSize, end: end, ssrc, index, tag: packet.baseAddress! + end)
    }

    /// Decrypts a compound RTCP packet in place. Returns false if it is not authentic.
    func openRTCP(_ packet: UnsafeMutableRawBufferPointer, ssrc: UInt32, trailer: SRTCPTrailer) -> Bool {
        let end = packet.count - SRTCPTrailer.size - Self.tagLength
        let clearEnd = trailer.isEncrypted ? Self.rtcpHeaderSize : end
        guard clearEnd <= Self.maximumClearSize else { return false }
        return isAuthentic(packet.baseAddress! + end) { tag in
            cryptRTCP(packet, clearEnd: clearEnd, end: end, ssrc, trailer.index, tag: tag)
        }
    }

    /// Encrypts or decrypts RTCP. The additional data are the bytes before `clearEnd` and the last word of the packet.
    private func cryptRTCP(
        _ packet: UnsafeMutableRawBufferPointer, clearEnd: Int, end: Int, _ ssrc: UInt32, _ index: UInt32,
        tag: UnsafeMutableRawPointer
    ) {
        let size = clearEnd + SRTCPTrailer.size
        withUnsafeTemporaryAllocation(byteCount: size, alignment: 8) { associated in
            associated.copyMemory(from: UnsafeRawBufferPointer(rebasing: packet[..<clearEnd]))
            UnsafeMutableRawBufferPointer(rebasing: associated[clearEnd...])
                .copyMemory(from: UnsafeRawBufferPointer(rebasing: packet[(packet.count - SRTCPTrailer.size)...]))
            apply(
                rtcpKeys(), rtcpSalt.gcm(ssrc: ssrc, index: UInt64(index)),
                UnsafeRawBufferPointer(rebasing: packet[clearEnd..<end]), to: packet.baseAddress! + clearEnd,
                associated: UnsafeRawBufferPointer(associated), tag: tag)
        }
    }

    /// Prefetches the keys for RTP, if they are expanded. See `Prefetch`.
    func prefetchKeys() {
        if let expandedRTP { Prefetch.fetch(Self.memory(ofKeys: expandedRTP)) }
    }

    /// Prefetches the keys that an RTCP packet of at most 250 bytes needs: the round keys and the last hash keys.
    func prefetchControlKeys() {
        guard let expandedRTCP else { return }
        let keys = Self.memory(ofKeys: expandedRTCP)
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
        if let expandedRTP { return UnsafeRawPointer(expandedRTP) }
        let keys = expand(rtpKey)
        expandedRTP = keys
        return UnsafeRawPointer(keys)
    }

    /// Returns the expanded keys for RTCP; nil if they are expanded for each packet.
    private func rtcpKeys() -> UnsafeRawPointer? {
        if let expandedRTCP { return UnsafeRawPointer(expandedRTCP) }
        guard direction == .decrypt else { return nil }
        let keys = expand(rtcpKey)
        expandedRTCP = keys
        return UnsafeRawPointer(keys)
    }

    /// Expands a key into new memory.
    private func expand(_ key: [UInt8]) -> UnsafeMutableRawPointer {
        let keys = UnsafeMutableRawPointer.allocate(
            byteCount: Int(PCAST_IMB_KEY_SIZE), alignment: Int(PCAST_IMB_KEY_ALIGNMENT))
        functions.expand(key, keys)
        return keys
    }

    /// Returns whether a tag equals the computed one, in constant time.
    private func isAuthentic(
        _ tag: UnsafeMutableRawPointer, _ compute: (_ computed: UnsafeMutableRawPointer) -> Void
    ) -> Bool {
        withUnsafeTemporaryAllocation(byteCount: Self.tagLength, alignment: 16) { computed in
            compute(computed.baseAddress!)
            return CRYPTO_memcmp(computed.baseAddress!, tag, Self.tagLength) == 0
        }
    }

    /// Encrypts or decrypts bytes and computes the tag. Without `keys` it expands the key for RTCP.
    private func apply(
        _ keys: UnsafeRawPointer?, _ vector: SRTPInitializationVector, _ input: UnsafeRawBufferPointer,
        to output: UnsafeMutableRawPointer, associated: UnsafeRawBufferPointer, tag: UnsafeMutableRawPointer
    ) {
        withUnsafeTemporaryAllocation(byteCount: Int(PCAST_IMB_CONTEXT_SIZE), alignment: 16) { context in
            vector.withBytes { vector in
                let output = output.assumingMemoryBound(to: UInt8.self)
                let tag = tag.assumingMemoryBound(to: UInt8.self)
                let plain = input.baseAddress?.assumingMemoryBound(to: UInt8.self)
                let clear = associated.baseAddress?.assumingMemoryBound(to: UInt8.self)
                if let keys {
                    crypt(
                        keys, context.baseAddress, output, plain, UInt64(input.count), vector, clear,
                        UInt64(associated.count), tag, UInt64(Self.tagLength))
                } else {
                    pcast_imb_crypt_once(
                        functions.expand, crypt, rtcpKey, context.baseAddress, output, plain, UInt64(input.count),
                        vector, clear, UInt64(associated.count), tag, UInt64(Self.tagLength))
                }
            }
        }
    }
}
