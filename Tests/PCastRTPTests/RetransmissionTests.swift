import PCastMedia
import PCastRTP
import Testing

private func milliseconds(_ count: Int64) -> Instant { Instant(nanoseconds: count * 1_000_000) }

private func packet(_ sequence: Int64, at time: Int64 = 0, keyFrame: Bool = false) -> PacketCache.Packet {
    PacketCache.Packet(
        sequence: sequence, timestamp: UInt32(truncatingIfNeeded: sequence * 10), marker: sequence % 2 == 0,
        payloadType: 96, startsKeyFrame: keyFrame, arrival: milliseconds(time))
}

@Suite struct PacketCacheTests {
    private func insert(_ cache: inout PacketCache, _ packet: PacketCache.Packet, _ payload: [UInt8]) -> Bool {
        payload.withUnsafeBytes { cache.insert(packet, payload: $0) }
    }

    @Test("a packet comes out as it went in, until its place is taken")
    func ring() {
        var cache = PacketCache(capacity: 4, slotSize: 8)
        for sequence in Int64(65_534)...65_538 {
            #expect(insert(&cache, packet(sequence), [UInt8(truncatingIfNeeded: sequence), 7]))
        }
        #expect(cache.newest == 65_538)
        let oldest = cache.packet(65_534)
        #expect(oldest == nil)
        let kept = cache.packet(65_535)
        #expect(kept == packet(65_535))
        let payload = cache.payload(65_536).map { Array($0) }
        #expect(payload == [0, 7])
        let unknown = cache.payload(65_539) == nil
        #expect(unknown)
    }

    @Test("packets too old or too large are not kept, and counted")
    func rejects() {
        var cache = PacketCache(capacity: 4, slotSize: 8)
        #expect(insert(&cache, packet(100), Array(repeating: 1, count: 8)))
        #expect(!insert(&cache, packet(101), Array(repeating: 1, count: 9)))
        #expect(!insert(&cache, packet(96), [1]))
        #expect(insert(&cache, packet(97), []))
        #expect(cache.rejected == 2)
        #expect(cache.newest == 100)
        let size = cache.payload(97)?.count
        #expect(size == 0)
    }

    @Test("a walk passes over holes, from the newest key frame to the newest packet")
    func walk() {
        var cache = PacketCache(capacity: 16, slotSize: 8)
        for sequence in [1, 2, 4, 5, 9] as [Int64] {
            _ = insert(&cache, packet(sequence, keyFrame: sequence == 1 || sequence == 4), [1])
        }
        #expect(cache.newestKeyFrame == 4)
        var walked: [Int64] = []
        var next = cache.firstSequence(from: cache.newestKeyFrame ?? 0)
        while let sequence = next {
            walked.append(sequence)
            next = cache.firstSequence(from: sequence + 1)
        }
        #expect(walked == [4, 5, 9])
        _ = insert(&cache, packet(20), [1])
        let keyFrame = cache.newestKeyFrame
        #expect(keyFrame == nil)
        let first = cache.firstSequence(from: 0)
        #expect(first == 5)
    }

    @Test("RTP11: after a restart lower numbers are kept")
    func restart() {
        var cache = PacketCache(capacity: 4, slotSize: 8)
        _ = insert(&cache, packet(1000, keyFrame: true), [1])
        cache.removeAll()
        #expect(insert(&cache, packet(5), [1]))
        let keyFrame = cache.newestKeyFrame
        #expect(keyFrame == nil)
        let old = cache.packet(1000)
        #expect(old == nil)
    }
}

@Suite struct ResendLimiterTests {
    @Test("NACK2: at most once in a round trip and in 20 ms, the first sending included")
    func limits() {
        var limiter = ResendLimiter()
        limiter.sent(70_000, at: milliseconds(1000))
        #expect(!limiter.mayResend(70_000, roundTrip: .milliseconds(5), at: milliseconds(1019)))
        #expect(limiter.mayResend(70_000, roundTrip: .milliseconds(5), at: milliseconds(1020)))
        #expect(!limiter.mayResend(70_000, roundTrip: .milliseconds(100), at: milliseconds(1099)))
        #expect(limiter.mayResend(70_000, roundTrip: .milliseconds(100), at: milliseconds(1100)))
        limiter.sent(70_000, at: milliseconds(1100))
        #expect(!limiter.mayResend(70_000, roundTrip: .milliseconds(100), at: milliseconds(1150)))
        #expect(limiter.mayResend(70_001, roundTrip: .milliseconds(100), at: milliseconds(1150)))
        #expect(limiter.mayResend(70_000 + 65_536, roundTrip: .milliseconds(100), at: milliseconds(1150)))
    }
}

@Suite struct RetransmissionCacheTests {
    @Test("NACK4: a packet is sent again with what it was sent with, found by its outgoing number")
    func answers() {
        var cache = RetransmissionCache(capacity: 64, slotSize: 16)
        for sequence in Int64(65_530)...65_540 {
            [UInt8(truncatingIfNeeded: sequence)].withUnsafeBytes {
                cache.insert(packet(sequence, at: 100), payload: $0)
            }
        }
        let soon = cache.answer(3, roundTrip: .milliseconds(40), at: milliseconds(139))
        #expect(soon == .tooSoon)
        let first = cache.answer(3, roundTrip: .milliseconds(40), at: milliseconds(140))
        #expect(first == .resend(packet(65_539, at: 100)))
        let payload = cache.payload(65_539).map { Array($0) }
        #expect(payload == [3])
        let again = cache.answer(3, roundTrip: .milliseconds(40), at: milliseconds(150))
        #expect(again == .tooSoon)
        let beforeWrap = cache.answer(65_530, roundTrip: .milliseconds(40), at: milliseconds(150))
        #expect(beforeWrap == .resend(packet(65_530, at: 100)))
        let never = cache.answer(5, roundTrip: .milliseconds(40), at: milliseconds(150))
        #expect(never == .unknown)
        #expect(cache.resent == 2)
        #expect(cache.tooSoon == 2)
        #expect(cache.unknown == 1)
    }
}

@Suite struct RTXEncapsulationTests {
    @Test("NACK5: a retransmission has its own numbers and leads with the original's")
    func encapsulation() {
        var stream = RTXEncapsulation(ssrc: 77, sequenceNumber: 65_535)
        let original = RTPHeader(marker: true, payloadType: 96, sequenceNumber: 0x1234, timestamp: 9, ssrc: 5)
        let header = stream.header(repeating: original, payloadType: 97)
        #expect(header == RTPHeader(marker: true, payloadType: 97, sequenceNumber: 65_535, timestamp: 9, ssrc: 77))
        #expect(stream.probeHeader(payloadType: 97, timestamp: 9, paddingSize: 200).sequenceNumber == 0)
        #expect(stream.sequenceNumber == 1)
        var bytes = [UInt8](repeating: 0xEE, count: 8)
        let size = bytes.withUnsafeMutableBytes { buffer in
            ([1, 2, 3] as [UInt8]).withUnsafeBytes {
                RTXEncapsulation.writePayload(originalSequenceNumber: 0x1234, payload: $0, into: buffer)
            }
        }
        #expect(size == 5)
        #expect(bytes == [0x12, 0x34, 1, 2, 3, 0xEE, 0xEE, 0xEE])
        #expect(
            RTXEncapsulation.decapsulate(bytes, payload: 0..<5)
                == .packet(originalSequenceNumber: 0x1234, payload: 2..<5))
    }

    @Test("NACK5: fewer bytes than a number has are a probe")
    func probes() {
        let bytes: [UInt8] = [0x12, 0x34]
        #expect(RTXEncapsulation.decapsulate(bytes, payload: 0..<0) == .probe)
        #expect(RTXEncapsulation.decapsulate(bytes, payload: 0..<1) == .probe)
        #expect(RTXEncapsulation.decapsulate(bytes, payload: 0..<3) == .probe)
        #expect(
            RTXEncapsulation.decapsulate(bytes, payload: 0..<2)
                == .packet(originalSequenceNumber: 0x1234, payload: 2..<2))
    }
}
