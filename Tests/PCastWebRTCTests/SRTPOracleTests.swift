import CSRTP
import PCastCore
import PCastTestSupport
import Testing

@testable import PCastWebRTC

/// Comparisons with libsrtp2 as the other end, byte for byte.
@Suite(.serialized)
struct SRTPOracleTests {
    /// One direction of libsrtp2 with the same keys.
    private final class Oracle {
        private var session: srtp_t?

        init(_ profile: SRTPProfile, key: [UInt8], salt: [UInt8], type: srtp_ssrc_type_t) {
            _ = Self.start
            var policy = srtp_policy_t()
            let identifier =
                switch profile {
                case .aes128CMHMACSHA1: srtp_profile_aes128_cm_sha1_80
                case .aeadAES128GCM: srtp_profile_aead_aes_128_gcm
                case .aeadAES256GCM: srtp_profile_aead_aes_256_gcm
                }
            srtp_crypto_policy_set_from_profile_for_rtp(&policy.rtp, identifier)
            srtp_crypto_policy_set_from_profile_for_rtcp(&policy.rtcp, identifier)
            policy.ssrc.type = type
            policy.window_size = 1024
            var master = key + salt
            master.withUnsafeMutableBufferPointer { master in
                policy.key = master.baseAddress
                #expect(srtp_create(&session, &policy) == srtp_err_status_ok)
            }
        }

        deinit { srtp_dealloc(session) }

        private static let start: Bool = srtp_init() == srtp_err_status_ok

        func apply(
            _ function: (srtp_t?, UnsafeMutableRawPointer?, UnsafeMutablePointer<Int32>?) -> srtp_err_status_t,
            _ packet: [UInt8]
        ) -> [UInt8] {
            var buffer = packet + [UInt8](repeating: 0, count: 160)
            var length = Int32(packet.count)
            let status = buffer.withUnsafeMutableBytes { function(session, $0.baseAddress, &length) }
            return status == srtp_err_status_ok ? Array(buffer[..<Int(length)]) : []
        }
    }

    /// Returns RTP of any shape: up to 15 CSRCs, an extension, a payload that may be empty. Also returns the header's
    /// size.
    private func randomPacket(
        ssrc: UInt32, sequenceNumber: UInt16, using generator: inout SeededGenerator
    ) -> ([UInt8], Int) {
        var header = rtpPacket(ssrc: ssrc, sequenceNumber: sequenceNumber, payload: [])
        let sources = Int.random(in: 0...15, using: &generator)
        header[0] |= UInt8(sources)
        header += generator.bytes(4 * sources)
        if Bool.random(using: &generator) {
            let words = Int.random(in: 0...5, using: &generator)
            header[0] |= 0x10
            header += [0xBE, 0xDE, 0, UInt8(words)] + generator.bytes(4 * words)
        }
        return (header + generator.bytes(Int.random(in: 0...1000, using: &generator)), header.count)
    }

    @Test(
        "2000 packets of every shape over the wrap equal libsrtp2's, and each decrypts the other's",
        arguments: SRTPProfile.allCases, SRTPCipherLibrary.allCases.filter(\.isAvailable))
    func rtp(_ profile: SRTPProfile, by library: SRTPCipherLibrary) {
        var generator = SeededGenerator(seed: 42)
        let keys = SRTPKeyingMaterial.pair(profile, seed: 5)
        let sender = SRTPSender(keys.client, by: library)
        let receiver = SRTPReceiver(keys.server, by: library)
        let oracleSender = Oracle(
            profile, key: keys.client.localKey, salt: keys.client.localSalt, type: ssrc_any_outbound)
        let oracleReceiver = Oracle(
            profile, key: keys.client.localKey, salt: keys.client.localSalt, type: ssrc_any_inbound)
        var number: UInt32 = 0x7000
        for count in 0..<2000 {
            number += count < 30 ? 0x1000 : UInt32.random(in: 1...60, using: &generator)
            let (packet, headerSize) = randomPacket(
                ssrc: 0xDEAD_BEEF, sequenceNumber: UInt16(truncatingIfNeeded: number), using: &generator)
            let ours = sender.protect(rtp: packet, headerSize: headerSize)
            guard ours == oracleSender.apply(srtp_protect, packet),
                oracleReceiver.apply(srtp_unprotect, ours ?? []) == packet,
                receiver.unprotect(rtp: ours ?? []).plaintext == packet
            else {
                Issue.record("packet \(count) differs")
                return
            }
        }
        #expect(number > 0x2_0000, "the sequence number wrapped")
    }

    @Test(
        "2000 RTCP packets equal libsrtp2's, and each decrypts the other's",
        arguments: SRTPProfile.allCases, SRTPCipherLibrary.allCases.filter(\.isAvailable))
    func rtcp(_ profile: SRTPProfile, by library: SRTPCipherLibrary) {
        var generator = SeededGenerator(seed: 43)
        let keys = SRTPKeyingMaterial.pair(profile, seed: 6)
        // libsrtp2's first index is 1.
        let cipher = SRTPCipher(
            profile: profile, masterKey: keys.client.localKey, masterSalt: keys.client.localSalt, direction: .encrypt,
            library: library)
        let sender = SRTPSender(profile: profile, cipher: cipher, firstRTCPIndex: 1)
        let receiver = SRTPReceiver(keys.server, by: library)
        let oracleSender = Oracle(
            profile, key: keys.client.localKey, salt: keys.client.localSalt, type: ssrc_any_outbound)
        let oracleReceiver = Oracle(
            profile, key: keys.client.localKey, salt: keys.client.localSalt, type: ssrc_any_inbound)
        for count in 0..<2000 {
            let words = Int.random(in: 0...60, using: &generator)
            let packet = rtcpPacket(ssrc: 77, content: generator.bytes(4 * words))
            let ours = sender.protect(rtcp: packet)
            guard ours == oracleSender.apply(srtp_protect_rtcp, packet),
                oracleReceiver.apply(srtp_unprotect_rtcp, ours ?? []) == packet,
                receiver.unprotect(rtcp: ours ?? []).plaintext == packet
            else {
                Issue.record("packet \(count) differs")
                return
            }
        }
    }

    @Test(
        "authenticated but unencrypted SRTCP (E = 0) is accepted",
        arguments: SRTPProfile.allCases, SRTPCipherLibrary.allCases.filter(\.isAvailable))
    func unencryptedControl(_ profile: SRTPProfile, by library: SRTPCipherLibrary) throws {
        // Unencrypted SRTCP of GCM has the whole packet as associated data (RFC 7714, section 9.3).
        let keys = SRTPKeyingMaterial.pair(profile, seed: 6)
        let session = SRTPSessionKeys(
            profile: profile, masterKey: keys.client.localKey, masterSalt: keys.client.localSalt, purpose: .rtcp)
        let packet = rtcpPacket(ssrc: 77, content: [1, 2, 3, 4])
        let word: [UInt8] = [0, 0, 0, 9]
        var tag = [UInt8](repeating: 0, count: profile.tagLength)
        let protected: [UInt8]
        if profile == .aes128CMHMACSHA1 {
            (packet + word).withByteView { message in
                tag.withMutableByteView {
                    HMACSHA1(key: session.authentication).authenticate(message, trailer: nil, into: $0)
                }
            }
            protected = packet + word + tag
        } else {
            let context = EVPCipherContext(profile == .aeadAES128GCM ? .aes128GCM : .aes256GCM)
            context.setKey(session.encryption)
            SRTPInitializationVector(salt: session.salt).gcm(ssrc: 77, index: 9).withBytes {
                context.begin(initializationVector: $0)
            }
            (packet + word).withByteView { context.associate($0) }
            tag.withMutableByteView { context.seal(tag: $0) }
            protected = packet + tag + word
        }
        #expect(SRTPReceiver(keys.server, by: library).unprotect(rtcp: protected).plaintext == packet)
    }
}
