import PCastCore
import PCastRTP
import Testing

@testable import PCastWebRTC

/// The SSRC of a track while sources appear and disappear (RFC 9143, section 9.2; RFC 3550, section 8).
struct SourceBindingTests {
    private struct Stage {
        var receiver: MediaReceiver
        var now = Instant(nanoseconds: 1_000_000_000)

        init(_ offer: String = SDPSamples.aiortcPublisherOffer) throws {
            let answer = try Answer.toPublisher(offer)
            receiver = MediaReceiver(answer.session.media, reporterSSRC: 9, cname: "c", measuresRoundTrip: false)
        }

        func media(_ type: MediaType) throws -> NegotiatedMedia {
            try #require((type == .audio ? receiver.audio : receiver.video)?.media)
        }

        /// Lets the receiver process a packet. `mid` is the packet's MID; nil for that of its section, empty for none.
        /// `repairs` makes it a retransmission of that sequence number.
        @discardableResult
        mutating func receive(
            _ number: UInt16, of type: MediaType = .audio, ssrc: UInt32, mid: String? = nil, rid: String? = nil,
            repairs: UInt16? = nil, after span: TimeSpan = .milliseconds(20)
        ) throws -> MediaReceiver.Packet? {
            now += span
            let media = try media(type)
            var values = RTPExtensionValues()
            values.mid = RTPStreamIdentifier(mid ?? media.mid ?? "")
            if repairs == nil { values.rid = rid.flatMap { RTPStreamIdentifier($0) } }
            if repairs != nil { values.repairedRid = rid.flatMap { RTPStreamIdentifier($0) } }
            let type = try repairs == nil ? media.payloadType : #require(media.rtxPayloadType)
            let header = RTPHeader(
                payloadType: type, sequenceNumber: number, timestamp: UInt32(number) * 960, ssrc: ssrc)
            var bytes = [UInt8](repeating: 0, count: 200)
            let length = bytes.withMutableByteView { room in
                let size = header.write(into: room, extensions: values, map: media.extensionMap).size
                if let repairs { room.storeBytes(of: repairs.bigEndian, toByteOffset: size, as: UInt16.self) }
                return size + 10
            }
            return bytes.withByteView { receiver.receive($0.extracting(..<length), at: now) }
        }
    }

    @Test("a new SSRC with the section's MID is the track's at once", arguments: [.audio, .video] as [MediaType])
    func byMID(type: MediaType) throws {
        var stage = try Stage()
        var sequences: [Int64] = []
        for number in 100..<120 as Range<UInt16> {
            sequences.append(try #require(try stage.receive(number, of: type, ssrc: 1111)).sequence)
        }
        let first = try #require(try stage.receive(9000, of: type, ssrc: 2222))
        #expect(first.isRestart)
        sequences.append(first.sequence)
        for number in 9001..<9020 as Range<UInt16> {
            let packet = try #require(try stage.receive(number, of: type, ssrc: 2222))
            #expect(!packet.isRestart)
            sequences.append(packet.sequence)
        }
        #expect(zip(sequences, sequences.dropFirst()).allSatisfy { $0 < $1 })
        #expect((type == .audio ? stage.receiver.audio : stage.receiver.video)?.ssrc == 2222)
    }

    @Test("late packets of the old SSRC do not restore it; it returns when the other one is silent")
    func former() throws {
        var stage = try Stage()
        for number in 100..<120 as Range<UInt16> { try stage.receive(number, ssrc: 1111) }
        for number in 0..<20 as Range<UInt16> {
            #expect(try stage.receive(9000 + number, ssrc: 2222, after: .milliseconds(10)) != nil)
            #expect(try stage.receive(120 + number, ssrc: 1111, after: .milliseconds(10)) == nil)
        }
        var refused = 0
        for number in 140..<160 as Range<UInt16> where try stage.receive(number, ssrc: 1111) == nil { refused += 1 }
        #expect(refused <= 3)
    }

    @Test("three simultaneous sources under one MID settle on one")
    func several() throws {
        var stage = try Stage()
        var restarts = 0
        for number in 0..<300 as Range<UInt16> {
            for ssrc in 1...3 as ClosedRange<UInt32> {
                let packet = try stage.receive(number, of: .video, ssrc: ssrc, after: .milliseconds(10))
                restarts += packet?.isRestart == true ? 1 : 0
            }
        }
        #expect(restarts <= 2)
    }

    @Test("an SSRC that changes with each packet causes at most ten restarts per second")
    func restartLimit() throws {
        var stage = try Stage()
        var restarts = 0
        for number in 0..<1_000 as Range<UInt16> {
            let packet = try stage.receive(1, ssrc: 100 + UInt32(number), after: .milliseconds(1))
            restarts += packet?.isRestart == true ? 1 : 0
        }
        #expect(restarts <= 10)
    }

    @Test("a new SSRC with another section's MID is ignored")
    func otherMID() throws {
        var stage = try Stage()
        for number in 100..<110 as Range<UInt16> { try stage.receive(number, ssrc: 1111) }
        #expect(try stage.receive(5, ssrc: 2222, mid: "other", after: .seconds(2 as Int64)) == nil)
        #expect(try stage.receive(110, ssrc: 1111) != nil)
    }

    @Test("without MID a new SSRC is the track's within a second, and at once after a BYE of the old one")
    func withoutMID() throws {
        var stage = try Stage()
        for number in 100..<110 as Range<UInt16> { try stage.receive(number, ssrc: 1111, mid: "") }
        var refused = 0
        for number in 0..<50 as Range<UInt16> where try stage.receive(number, ssrc: 2222, mid: "") == nil {
            refused += 1
        }
        #expect((1..<50).contains(refused))
        let bytes: [UInt8] = [0x81, 203, 0, 1, 0, 0, 0x08, 0xAE]
        var reader = RTCPReader()
        while let control = reader.next(in: bytes.span) {
            stage.receiver.receive(
                control, in: bytes.span, wallTime: WallTime(nanosecondsSinceEpoch: 0), at: stage.now)
        }
        #expect(try stage.receive(7, ssrc: 3333, mid: "") != nil)
    }

    @Test("a source that continues after its own BYE is still received")
    func afterGoodbye() throws {
        var stage = try Stage()
        try stage.receive(100, ssrc: 0x8AE)
        let goodbye: [UInt8] = [0x81, 203, 0, 1, 0, 0, 0x08, 0xAE]
        var reader = RTCPReader()
        while let control = reader.next(in: goodbye.span) {
            stage.receiver.receive(
                control, in: goodbye.span, wallTime: WallTime(nanosecondsSinceEpoch: 0), at: stage.now)
        }
        for number in 101..<110 as Range<UInt16> { #expect(try stage.receive(number, ssrc: 0x8AE) != nil) }
        #expect(try stage.receive(5, ssrc: 77, mid: "") == nil, "the BYE of the source is forgotten")
    }

    @Test("a layer's new SSRC is found by its RID at once, and so is that of its retransmissions")
    func byRID() throws {
        var stage = try Stage(SDPSamples.chromiumSimulcastOffer)
        for number in 100..<110 as Range<UInt16> {
            try stage.receive(number, of: .video, ssrc: 10, rid: "l")
            try stage.receive(number, of: .video, ssrc: 30, rid: "h")
        }
        let packet = try #require(try stage.receive(7000, of: .video, ssrc: 31, rid: "h"))
        #expect(packet.isRestart && packet.layer == 2)
        try stage.receive(7002, of: .video, ssrc: 31)
        let repaired = try stage.receive(1, of: .video, ssrc: 99, rid: "h", repairs: 7001)
        #expect(repaired?.sequence == packet.sequence + 1 && repaired?.layer == 2)
        #expect(stage.receiver.layers.map(\.ssrc) == [10, nil, 31])
    }

    @Test("a retransmission for the old source is not used as a packet of the new one")
    func formerRetransmission() throws {
        var stage = try Stage()
        for number in 100..<120 as Range<UInt16> { try stage.receive(number, of: .video, ssrc: 1111) }
        // The sequence numbers of the new source are near.
        try stage.receive(125, of: .video, ssrc: 2222)
        try stage.receive(127, of: .video, ssrc: 2222)
        #expect(try stage.receive(1, of: .video, ssrc: 1112, repairs: 119) == nil)
        #expect(try stage.receive(2, of: .video, ssrc: 2223, repairs: 126) != nil)
    }

    @Test("packets that the first one of a new source overtook are kept")
    func overtaken() throws {
        var stage = try Stage()
        for number in 100..<120 as Range<UInt16> { try stage.receive(number, of: .video, ssrc: 1111) }
        let first = try #require(try stage.receive(502, of: .video, ssrc: 2222))
        let late = try #require(try stage.receive(501, of: .video, ssrc: 2222, after: .milliseconds(1)))
        #expect(late.sequence == first.sequence - 1)
    }
}
