import CLinux
import CSRTP
import PCastCore
import Testing

@testable import PCastWebRTC

/// The rules of SRTP whose violation breaks streams.
struct SRTPTests {
    private let profiles = SRTPProfile.allCases

    private func ends(_ profile: SRTPProfile) -> (sender: SRTPSender, receiver: SRTPReceiver) {
        let keys = SRTPKeyingMaterial.pair(profile, seed: 7)
        return (SRTPSender(keys.client), SRTPReceiver(keys.server))
    }

    @Test("an index is protected once, in order or late, and every repetition is rejected and counted")
    func protectsEachIndexOnce() {
        let sender = ends(.aeadAES128GCM).sender
        func protect(_ sequenceNumber: UInt16, _ byte: UInt8) -> [UInt8]? {
            sender.protect(rtp: rtpPacket(ssrc: 1, sequenceNumber: sequenceNumber, payload: [byte]))
        }
        #expect(protect(100, 1) != nil)
        #expect(protect(100, 2) == nil)
        #expect(protect(2000, 3) != nil)
        #expect(protect(1500, 4) != nil)
        #expect(protect(1500, 4) == nil)
        #expect(protect(101, 5) == nil, "1899 packets back: its use is no longer known")
        #expect(protect(977, 6) != nil)
        #expect(sender.refusals == 3)
    }

    @Test("an SSRC beyond the maximum is rejected, and those before it continue")
    func boundedSources() {
        let (sender, receiver) = ends(.aeadAES128GCM)
        for ssrc in 0..<UInt32(SRTPSender.maximumSources) {
            let packet = sender.protect(rtp: rtpPacket(ssrc: ssrc, sequenceNumber: 1, payload: [1]))
            #expect(receiver.unprotect(rtp: packet!).result == .ok(length: 13))
        }
        #expect(sender.protect(rtp: rtpPacket(ssrc: 64, sequenceNumber: 1, payload: [1])) == nil)
        #expect(sender.protect(rtp: rtpPacket(ssrc: 3, sequenceNumber: 2, payload: [1])) != nil)
    }

    @Test("protecting into another buffer does not change the shared plaintext, and equals protecting in place")
    func protectsIntoOtherBuffer() {
        for profile in profiles {
            let keys = SRTPKeyingMaterial.pair(profile, seed: 3).client
            let (notInPlace, inPlace) = (SRTPSender(keys), SRTPSender(keys))
            let packet = rtpPacket(ssrc: 9, sequenceNumber: 5, payload: [UInt8](0..<200))
            let before = packet
            var output = [UInt8](repeating: 0, count: 300)
            let length = packet.withByteView { bytes in
                output.withMutableByteView {
                    notInPlace.protectRTP(
                        header: bytes.extracting(..<12),
                        payload: bytes.extracting(12...), into: $0)
                }
            }
            #expect(packet == before)
            #expect(Array(output[..<length]) == inPlace.protect(rtp: packet))
        }
    }

    @Test("a stream that begins below 2^15 survives the loss of its first packets up to the wrap")
    func lossBeforeFirstWrap() {
        let (sender, receiver) = ends(.aeadAES128GCM)
        for sequenceNumber in [UInt16(0x7FFF), 0xA000, 0xFFFF, 3] {
            let packet = sender.protect(rtp: rtpPacket(ssrc: 1, sequenceNumber: sequenceNumber, payload: [1]))!
            guard sequenceNumber != 0x7FFF, sequenceNumber != 0xFFFF else { continue }
            #expect(receiver.unprotect(rtp: packet).result == .ok(length: 13))
        }
    }

    @Test("a peer that began at 65534 and whose first packets were lost is still decrypted")
    func lostBeforeTheWrap() {
        for profile in profiles {
            let (sender, receiver) = ends(profile)
            _ = sender.protect(rtp: rtpPacket(ssrc: 1, sequenceNumber: 65534, payload: [1]))
            let packet = rtpPacket(ssrc: 1, sequenceNumber: 2, payload: [UInt8](0..<100))
            #expect(receiver.unprotect(rtp: sender.protect(rtp: packet)!).plaintext == packet)
        }
    }

    @Test("each SSRC has its own roll-over counter, and no forged packet changes it")
    func rolloverCounterPerSSRC() {
        for profile in profiles {
            let (sender, receiver) = ends(profile)
            func pass(_ ssrc: UInt32, _ sequenceNumber: UInt16) -> SRTPResult {
                let packet = rtpPacket(ssrc: ssrc, sequenceNumber: sequenceNumber, payload: [1, 2, 3])
                return receiver.unprotect(rtp: sender.protect(rtp: packet)!).result
            }
            #expect(pass(1, 0x7000) == .ok(length: 15))
            #expect(pass(2, 0x7000) == .ok(length: 15))
            #expect(pass(1, 0xE000) == .ok(length: 15))
            #expect(pass(1, 0x0010) == .ok(length: 15))
            for sequenceNumber in [UInt16(0x8000), 0xD000, 0xEFFF] {
                let forged = rtpPacket(
                    ssrc: 2, sequenceNumber: sequenceNumber, payload: [UInt8](repeating: 9, count: 40))
                #expect(receiver.unprotect(rtp: forged).result == .unauthentic)
            }
            let unknown = rtpPacket(ssrc: 3, sequenceNumber: 1, payload: [UInt8](repeating: 9, count: 40))
            #expect(receiver.unprotect(rtp: unknown).result == .unauthentic)
            #expect(pass(2, 0x7001) == .ok(length: 15))
            #expect(pass(1, 0x0011) == .ok(length: 15))
            #expect(pass(3, 0x6FFF) == .ok(length: 15))
        }
    }

    @Test("a receiver that receives every packet keeps the counter over four wraps, however few are forwarded")
    func counterOverFourWraps() {
        let (sender, receiver) = ends(.aeadAES128GCM)
        for number in stride(from: UInt32(1000), to: 300_000, by: 37) {
            let packet = rtpPacket(ssrc: 1, sequenceNumber: UInt16(truncatingIfNeeded: number), payload: [1])
            guard receiver.unprotect(rtp: sender.protect(rtp: packet)!).result == .ok(length: 13) else {
                Issue.record("lost at \(number)")
                return
            }
        }
    }

    @Test("a late packet from before the wrap is decrypted at its own index at the first attempt")
    func latePacketBeforeWrap() {
        for profile in profiles {
            let (sender, receiver) = ends(profile)
            func protect(_ sequenceNumber: UInt16) -> [UInt8] {
                sender.protect(rtp: rtpPacket(ssrc: 1, sequenceNumber: sequenceNumber, payload: [7]))!
            }
            _ = receiver.unprotect(rtp: protect(0x7FF0))
            let packets = [0xFFF0, 0xFFFE, 0xFFFF, 0, 1].map { protect($0) }
            for position in [0, 3, 2, 4, 1] {
                #expect(receiver.unprotect(rtp: packets[position]).result == .ok(length: 13))
            }
        }
    }

    @Test("RTP up to 1023 packets late is accepted once, and RTCP up to 63")
    func replayWindows() {
        for profile in profiles {
            let (sender, receiver) = ends(profile)
            let rtp = (0..<1100).map { number in
                sender.protect(rtp: rtpPacket(ssrc: 1, sequenceNumber: UInt16(number), payload: [1]))!
            }
            #expect(receiver.unprotect(rtp: rtp[1099]).result == .ok(length: 13))
            #expect(receiver.unprotect(rtp: rtp[76]).result == .ok(length: 13))
            #expect(receiver.unprotect(rtp: rtp[76]).result == .replayed)
            #expect(receiver.unprotect(rtp: rtp[75]).result == .replayed)
            #expect(receiver.unprotect(rtp: rtp[1099]).result == .replayed)
            let rtcp = (0..<80).map { _ in sender.protect(rtcp: rtcpPacket(ssrc: 1, content: [1, 2, 3, 4]))! }
            #expect(receiver.unprotect(rtcp: rtcp[79]).result == .ok(length: 12))
            #expect(receiver.unprotect(rtcp: rtcp[16]).result == .ok(length: 12))
            #expect(receiver.unprotect(rtcp: rtcp[16]).result == .replayed)
            #expect(receiver.unprotect(rtcp: rtcp[15]).result == .replayed)
        }
    }

    @Test("the SRTCP index precedes the tag in counter mode and follows it in GCM, and tags have 80 or 128 bits")
    func srtcpLayoutAndTagLengths() {
        let packet = rtcpPacket(ssrc: 1, content: [1, 2, 3, 4])
        for profile in profiles {
            let sender = ends(profile).sender
            _ = sender.protect(rtcp: packet)
            let sent = sender.protect(rtcp: packet)!
            let word: [UInt8] = [0x80, 0, 0, 1]
            #expect(Array(sent[..<8]) == Array(packet[..<8]))
            if profile == .aes128CMHMACSHA1 {
                #expect(sent.count == 12 + 4 + 10)
                #expect(Array(sent[12..<16]) == word)
            } else {
                #expect(sent.count == 12 + 16 + 4)
                #expect(Array(sent.suffix(4)) == word)
            }
        }
    }

    @Test("the exported bytes are client key, server key, client salt, server salt, and GCM salts have 12 bytes")
    func exportedKeyOrder() {
        for (profile, key, salt) in [
            (SRTPProfile.aes128CMHMACSHA1, 16, 14), (.aeadAES128GCM, 16, 12), (.aeadAES256GCM, 32, 12),
        ] {
            let parts = [(UInt8(1), key), (2, key), (3, salt), (4, salt)].map { [UInt8](repeating: $0.0, count: $0.1) }
            let exported = parts.flatMap { $0 }
            let client = SRTPKeyingMaterial(profile: profile, exported: exported, role: .client)!
            let server = SRTPKeyingMaterial(profile: profile, exported: exported, role: .server)!
            #expect([client.localKey, client.remoteKey, client.localSalt, client.remoteSalt] == parts)
            #expect([server.remoteKey, server.localKey, server.remoteSalt, server.localSalt] == parts)
            #expect(SRTPKeyingMaterial(profile: profile, exported: Array(exported.dropLast()), role: .client) == nil)
            #expect("\(client) \(String(reflecting: client))" == "SRTP keys for \(profile) SRTP keys for \(profile)")
        }
    }

    @Test("the state of a viewer with three streams takes less than 2.5 kB")
    func memoryPerViewer() async {
        // The test has its own process, because other tests' allocations would count as well.
        await #expect(processExitsWith: .success) {
            let size = SRTPFootprint.measure(profile: .aeadAES128GCM)
            precondition(size.sender < 2_500 && size.receiver < 2_500, "\(size) bytes")
        }
    }

    @Test("a packet that is cut or changed at any byte is rejected without a trap")
    func mutations() {
        for profile in profiles {
            let (sender, receiver) = ends(profile)
            var packet = rtpPacket(ssrc: 1, sequenceNumber: 5, payload: [UInt8](0..<40))
            packet.insert(contentsOf: [0xBE, 0xDE, 0, 1, 0x10, 7, 0, 0], at: 12)
            packet[0] = 0x90
            let rtp = sender.protect(rtp: packet, headerSize: 20)!
            let rtcp = sender.protect(rtcp: rtcpPacket(ssrc: 1, content: [UInt8](0..<40)))!
            for length in 0..<rtp.count { #expect(isRefused(receiver.unprotect(rtp: Array(rtp[..<length])).result)) }
            for length in 0..<rtcp.count { #expect(isRefused(receiver.unprotect(rtcp: Array(rtcp[..<length])).result)) }
            for position in rtp.indices {
                var changed = rtp
                changed[position] ^= 0x11
                #expect(isRefused(receiver.unprotect(rtp: changed).result))
            }
            for position in rtcp.indices {
                var changed = rtcp
                changed[position] ^= 0x11
                #expect(isRefused(receiver.unprotect(rtcp: changed).result))
            }
            #expect(receiver.unprotect(rtp: rtp).plaintext == packet)
            #expect(receiver.unprotect(rtcp: rtcp).result == .ok(length: 48))
        }
    }

    private func isRefused(_ result: SRTPResult) -> Bool {
        if case .ok = result { return false }
        return true
    }
}

/// The memory that `malloc` has in use for one end of a viewer with three streams, averaged over many.
enum SRTPFootprint {
    /// Returns the smallest of three counts of the whole process. The first count includes OpenSSL's one-time
    /// allocations.
    static func measure(profile: SRTPProfile) -> (sender: Int, receiver: Int) {
        let counts = (0..<3).map { _ in count(profile) }
        return (counts.map(\.sender).min()!, counts.map(\.receiver).min()!)
    }

    /// The bytes that the process has allocated.
    static var bytesInUse: Int {
        let bytes = Int(mallinfo2().uordblks)
        // Without the module that declares the function, `mallinfo2()` would be a structure of zeros.
        precondition(bytes > 0)
        return bytes
    }

    private static func count(_ profile: SRTPProfile) -> (sender: Int, receiver: Int) {
        let keys = SRTPKeyingMaterial.pair(profile, seed: 1).client
        let instances = 1_000
        var senders: [SRTPSender] = []
        var receivers: [SRTPReceiver] = []
        senders.reserveCapacity(instances)
        receivers.reserveCapacity(instances)
        let before = bytesInUse
        for _ in 0..<instances {
            let sender = SRTPSender(keys)
            for ssrc in 1...3 {
                _ = sender.protect(rtp: rtpPacket(ssrc: UInt32(ssrc), sequenceNumber: 1, payload: [1]))
            }
            senders.append(sender)
        }
        let between = bytesInUse
        for _ in 0..<instances {
            let receiver = SRTPReceiver(keys)
            _ = receiver.unprotect(rtcp: rtcpPacket(ssrc: 1, content: [UInt8](repeating: 0, count: 40)))
            receivers.append(receiver)
        }
        let after = bytesInUse
        withExtendedLifetime(senders) {}
        withExtendedLifetime(receivers) {}
        return ((between - before) / instances, (after - between) / instances)
    }
}
