import PCastCore
import Testing

@testable import PCastWebRTC

/// The examples printed in the RFCs.
struct SRTPVectorTests {
    @Test("RFC 3711 B.2: the key stream of AES in counter mode")
    func counterMode() {
        let salt = SRTPInitializationVector(salt: bytes(hex: "F0F1F2F3F4F5F6F7F8F9FAFBFCFD"))
        let context = EVPCipherContext(.aes128CTR)
        context.setKey(bytes(hex: "2B7E151628AED2A6ABF7158809CF4F3C"))
        var stream = [UInt8](repeating: 0, count: 48)
        salt.counter(ssrc: 0, index: 0).withBytes { context.begin(initializationVector: $0) }
        stream.withMutableByteView { context.update(ByteView($0), into: $0) }
        let expected = """
            E03EAD0935C95E80E166B16DD92B4EB4 D23513162B02D0F72A43A2FE4A5F97AB 41E95B3BB0A2E8DD477901E4FCA894C0
            """
        #expect(stream == bytes(hex: expected))
    }

    @Test("RFC 3711 B.3: the derivation of session keys")
    func derivation() {
        let keys = SRTPSessionKeys(
            profile: .aes128CMHMACSHA1, masterKey: bytes(hex: "E1F97A0D3E018BE0D64FA32C06DE4139"),
            masterSalt: bytes(hex: "0EC675AD498AFEEBB6960B3AABE6"), purpose: .rtp)
        #expect(keys.encryption == bytes(hex: "C61E7A93744F39EE10734AFE3FF7A087"))
        #expect(keys.salt == bytes(hex: "30CBBC08863D8C85D49DB34A9AE1"))
        #expect(keys.authentication == bytes(hex: "CEBE321F6FF7716B6FD4AB49AF256A156D38BAA4"))
    }

    private static let rtp = """
        8040f17b 8041f8d3 5501a0b2 47616c6c 69612065 7374206f 6d6e6973 20646976 69736120 696e2070 61727465 73207472 6573
        """
    private static let rtcp = """
        81c8000d 4d617273 4e545031 4e545032 52545020 0000042a 0000e930 4c756e61 deadbeef deadbeef deadbeef deadbeef
        deadbeef
        """

    struct Example: Sendable {
        var profile: SRTPProfile
        var protectedRTP: String
        var protectedRTCP: String
    }

    static let examples = [
        Example(
            profile: .aeadAES128GCM,
            protectedRTP: """
                8040f17b 8041f8d3 5501a0b2 f24de3a3 fb34de6c acba861c 9d7e4bca be633bd5 0d294e6f 42a5f47a 51c7d19b
                36de3adf 8833899d 7f27beb1 6a9152cf 765ee439 0cce
                """,
            protectedRTCP: """
                81c8000d 4d617273 63e94885 dcdab67c a727d766 2f6b7e99 7ff5c0f7 6c06f32d c676a5f1 730d6fda 4ce09b46
                86303ded 0bb9275b c84aa458 96cf4d2f c5abf872 45d9eade 800005d4
                """),
        Example(
            profile: .aeadAES256GCM,
            protectedRTP: """
                8040f17b 8041f8d3 5501a0b2 32b1de78 a822fe12 ef9f78fa 332e33aa b1801238 9a58e2f3 b50b2a02 76ffae0f
                1ba63799 b87b7aa3 db36dfff d6b0f9bb 7878d7a7 6c13
                """,
            protectedRTCP: """
                81c8000d 4d617273 d50ae4d1 f5ce5d30 4ba297e4 7d470c28 2c3ece5d bffe0a50 a2eaa5c1 110555be 8415f658
                c61de047 6f1b6fad 1d1eb30c 4446839f 57ff6f6c b26ac3be 800005d4
                """),
    ]

    private func cipher(_ profile: SRTPProfile, _ direction: EVPCipherContext.Direction) -> SRTPCipher {
        let key = (0..<UInt8(profile.keyLength)).map { $0 }
        let keys = SRTPSessionKeys(
            encryption: key, authentication: [], salt: bytes(hex: "517569642070726f2071756f"))
        return SRTPCipher(profile: profile, rtp: keys, rtcp: keys, direction: direction)
    }

    @Test("RFC 7714 sections 16 and 17: AES-GCM of RTP and RTCP, both ways", arguments: examples)
    func galoisCounterMode(_ example: Example) {
        let sender = SRTPSender(
            profile: example.profile, cipher: cipher(example.profile, .encrypt), firstRTCPIndex: 0x5d4)
        let receiver = SRTPReceiver(profile: example.profile, cipher: cipher(example.profile, .decrypt))
        let rtp = bytes(hex: Self.rtp)
        let rtcp = bytes(hex: Self.rtcp)
        #expect(sender.protect(rtp: rtp) == bytes(hex: example.protectedRTP))
        #expect(sender.protect(rtcp: rtcp) == bytes(hex: example.protectedRTCP))
        #expect(receiver.unprotect(rtp: bytes(hex: example.protectedRTP)).plaintext == rtp)
        #expect(receiver.unprotect(rtcp: bytes(hex: example.protectedRTCP)).plaintext == rtcp)
    }
}
