import PCastTestSupport
import Testing

@testable import PCastWebRTC

/// Both libraries behave the same for a peer. If libipsec-mb or its requirements are missing, the single library is
/// compared with itself. `SRTPOracleTests` compares each with libsrtp2.
@Suite
struct SRTPCipherLibraryTests {
    private static let libraries = SRTPCipherLibrary.allCases.filter(\.isAvailable)

    @Test("the fastest available library is used, and each has a name")
    func choice() {
        #expect(SRTPCipherLibrary.preferred == Self.libraries.last)
        #expect(SRTPCipherLibrary.openSSL.isAvailable)
        for library in SRTPCipherLibrary.allCases { #expect((library.name != nil) == library.isAvailable) }
    }

    @Test(
        "random packets are equal for all libraries over the wrap, and each rejects changed ones",
        arguments: [SRTPProfile.aeadAES128GCM, .aeadAES256GCM])
    func alike(_ profile: SRTPProfile) {
        var generator = SeededGenerator(seed: 17)
        let keys = SRTPKeyingMaterial.pair(profile, seed: 18)
        let senders = Self.libraries.map { SRTPSender(keys.client, by: $0) }
        let receivers = Self.libraries.map { SRTPReceiver(keys.server, by: $0) }
        for number in 0..<1000 {
            let payload = generator.bytes(Int.random(in: 0...1400, using: &generator))
            let packet = rtpPacket(
                ssrc: 9, sequenceNumber: UInt16(truncatingIfNeeded: 0xFF00 + number), payload: payload)
            let report = rtcpPacket(ssrc: 9, content: generator.bytes(4 * Int.random(in: 0...60, using: &generator)))
            let sealed = senders.map { $0.protect(rtp: packet)! }
            let sealedReports = senders.map { $0.protect(rtcp: report)! }
            guard Set(sealed).count == 1, Set(sealedReports).count == 1 else {
                Issue.record("packet \(number) differs")
                return
            }
            for receiver in receivers {
                #expect(isRefused(receiver.unprotect(rtp: changed(sealed[0], &generator)).result))
                #expect(isRefused(receiver.unprotect(rtcp: changed(sealedReports[0], &generator)).result))
                #expect(receiver.unprotect(rtp: sealed[0]).plaintext == packet)
                #expect(receiver.unprotect(rtcp: sealedReports[0]).plaintext == report)
            }
        }
    }

    @Test(
        "a first packet from after the wrap is decrypted at the second guess, because the first does not modify it",
        arguments: [SRTPProfile.aeadAES128GCM, .aeadAES256GCM], libraries)
    func secondGuess(_ profile: SRTPProfile, by library: SRTPCipherLibrary) {
        let keys = SRTPKeyingMaterial.pair(profile, seed: 19)
        let sender = SRTPSender(keys.client, by: library)
        let receiver = SRTPReceiver(keys.server, by: library)
        _ = sender.protect(rtp: rtpPacket(ssrc: 9, sequenceNumber: 0xFFFF, payload: [1]))
        let packet = rtpPacket(ssrc: 9, sequenceNumber: 0, payload: [UInt8](repeating: 7, count: 777))
        #expect(receiver.unprotect(rtp: sender.protect(rtp: packet)!).plaintext == packet)
    }

    /// Returns the packet with one changed bit.
    private func changed(_ packet: [UInt8], _ generator: inout SeededGenerator) -> [UInt8] {
        var packet = packet
        let bit = Int.random(in: 0..<8 * packet.count, using: &generator)
        packet[bit / 8] ^= 1 << UInt8(bit % 8)
        return packet
    }

    private func isRefused(_ result: SRTPResult) -> Bool {
        if case .ok = result { return false }
        return true
    }
}
