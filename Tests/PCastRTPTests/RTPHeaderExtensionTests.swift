import PCastCore
import PCastRTP
import Testing

@Suite struct RTPHeaderExtensionTests {
    private func map(_ ids: [UInt8: RTPHeaderExtension], twoByte: Bool = false) -> RTPHeaderExtensionMap {
        var map = RTPHeaderExtensionMap()
        for (id, kind) in ids { map[id] = kind }
        map.allowsTwoByte = twoByte
        return map
    }

    private func write(
        _ values: RTPExtensionValues, _ map: RTPHeaderExtensionMap
    ) -> (bytes: [UInt8], layout: RTPHeaderLayout) {
        let header = RTPHeader(payloadType: 96, sequenceNumber: 1, timestamp: 2, ssrc: 3)
        var bytes = [UInt8](repeating: 0xEE, count: RTPHeader.maximumWrittenSize)
        let layout = bytes.withMutableByteView { header.write(into: $0, extensions: values, map: map) }
        return (Array(bytes[..<layout.size]), layout)
    }

    @Test("every extension is found by its name")
    func names() {
        for kind in RTPHeaderExtension.allCases { #expect(RTPHeaderExtension(uri: kind.uri) == kind) }
        #expect(RTPHeaderExtension(uri: "urn:unknown") == nil)
    }

    @Test("an ID has one extension and an extension one ID")
    func mapping() {
        var map = RTPHeaderExtensionMap()
        map[5] = .mid
        map[6] = .rid
        #expect(map[5] == .mid)
        #expect(map.id(of: .rid) == 6)
        map[6] = .mid
        #expect(map.id(of: .mid) == 6)
        #expect(map.id(of: .rid) == nil)
        #expect(map[5] == nil)
        map[0] = .rid
        #expect(map[0] == nil)
        #expect(map.id(of: .rid) == nil)
    }

    @Test("the one-byte form, byte for byte")
    func oneByteVector() {
        var values = RTPExtensionValues()
        values.mid = RTPStreamIdentifier("v0")
        values.transportSequenceNumber = 0x1234
        values.absoluteSendTime = AbsoluteSendTime(rawValue: 0xABCDEF)
        let (bytes, layout) = write(
            values, map([1: .mid, 14: .transportSequenceNumber, 2: .absoluteSendTime, 4: .audioLevel]))
        #expect(
            bytes[12...] == [
                0xBE, 0xDE, 0, 3, 0x11, 0x76, 0x30, 0xE1, 0x12, 0x34, 0x22, 0xAB, 0xCD, 0xEF, 0, 0,
            ])
        #expect(bytes[0] == 0x90)
        #expect(layout.transportSequenceNumberOffset == 20)
        #expect(layout.absoluteSendTimeOffset == 23)
    }

    @Test("an ID above 14 uses the two-byte form if the peer permits it, and is omitted otherwise")
    func twoByteVector() {
        var values = RTPExtensionValues()
        values.videoOrientation = 1
        values.audioLevel = AudioLevel(level: 30, isVoice: true)
        let ids: [UInt8: RTPHeaderExtension] = [1: .videoOrientation, 200: .audioLevel]
        #expect(
            write(values, map(ids, twoByte: true)).bytes[12...] == [0x10, 0, 0, 2, 1, 1, 1, 200, 1, 0x9E, 0, 0])
        #expect(write(values, map(ids)).bytes[12...] == [0xBE, 0xDE, 0, 1, 0x10, 1, 0, 0])
    }

    @Test("without an ID for the peer there is no extension block")
    func noIds() {
        var values = RTPExtensionValues()
        values.videoOrientation = 1
        #expect(write(values, map([:])).bytes.count == 12)
    }

    @Test("values that are known when a packet leaves are written into it")
    func stamping() throws {
        var values = RTPExtensionValues()
        values.transportSequenceNumber = 0
        values.absoluteSendTime = AbsoluteSendTime(rawValue: 0)
        let map = map([3: .transportSequenceNumber, 4: .absoluteSendTime])
        var (bytes, layout) = write(values, map)
        bytes.withMutableByteView {
            layout.stamp(
                transportSequenceNumber: 0xBEEF, absoluteSendTime: AbsoluteSendTime(rawValue: 0x123456), into: $0)
        }
        let header = try #require(RTPHeader.parse(bytes))
        #expect(header.extensions.transportSequenceNumber(in: bytes, by: map) == 0xBEEF)
        #expect(header.extensions.absoluteSendTime(in: bytes, by: map)?.rawValue == 0x123456)
    }

    @Test("all values are parsed from both forms", arguments: [false, true])
    func roundTrip(twoByte: Bool) throws {
        var values = RTPExtensionValues()
        values.mid = RTPStreamIdentifier("0123456789abcdef")
        values.rid = RTPStreamIdentifier("h")
        values.repairedRid = RTPStreamIdentifier("low")
        values.transportSequenceNumber = 65_535
        values.absoluteSendTime = AbsoluteSendTime(rawValue: 1)
        values.playoutDelay = PlayoutDelay(minimum: .milliseconds(100), maximum: .milliseconds(40_950))
        values.videoOrientation = 3
        values.audioLevel = AudioLevel(level: 127, isVoice: false)
        values.absoluteCaptureTime = AbsoluteCaptureTime(ntpTimestamp: .max - 1, clockOffset: -5)
        values.transmissionOffset = -90
        var map = RTPHeaderExtensionMap()
        map.allowsTwoByte = twoByte
        for kind in RTPHeaderExtension.allCases { map[kind.rawValue + (twoByte ? 240 : 1)] = kind }
        let (bytes, layout) = write(values, map)
        let header = try #require(RTPHeader.parse(bytes))
        let block = header.extensions
        #expect(header.headerSize == layout.size)
        #expect(block.form == (twoByte ? .twoByte : .oneByte))
        #expect(block.mid(in: bytes, by: map).map { Array(bytes[$0]) } == Array("0123456789abcdef".utf8))
        #expect(block.rid(in: bytes, by: map).map { Array(bytes[$0]) } == Array("h".utf8))
        #expect(block.repairedRid(in: bytes, by: map).map { Array(bytes[$0]) } == Array("low".utf8))
        #expect(block.transportSequenceNumber(in: bytes, by: map) == 65_535)
        #expect(block.transmissionOffset(in: bytes, by: map) == -90)
        let forwarded = RTPExtensionValues.forwarded(block, in: bytes.span, by: map)
        #expect(forwarded.playoutDelay == values.playoutDelay)
        #expect(forwarded.videoOrientation == 3)
        #expect(forwarded.audioLevel == values.audioLevel)
        #expect(forwarded.absoluteCaptureTime == values.absoluteCaptureTime)
        #expect(forwarded.mid == nil && forwarded.transportSequenceNumber == nil)
    }

    @Test("id 15, and id 0 with a length, end the one-byte form, and padding does not")
    func stops() throws {
        func ids(_ elements: [UInt8]) throws -> [UInt8] {
            let packet: [UInt8] = [0x90, 96, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0xBE, 0xDE, 0, 2] + elements
            let header = try #require(RTPHeader.parse(packet))
            #expect(!header.hasMalformedExtensions)
            var ids: [UInt8] = []
            header.extensions.forEach(in: packet.span) { ids.append($0.id) }
            return ids
        }
        #expect(try ids([0x10, 7, 0, 0, 0x20, 8, 0x30, 9]) == [1, 2, 3])
        #expect(try ids([0x10, 7, 0xF0, 0, 0x20, 8, 0x30, 9]) == [1])
        #expect(try ids([0x10, 7, 0x03, 0, 0x20, 8, 0x30, 9]) == [1])
    }

    @Test("a MID of more than 16 bytes, or of none, has no one-byte form")
    func identifiers() {
        #expect(RTPStreamIdentifier("") == nil)
        #expect(RTPStreamIdentifier("0123456789abcdefg") == nil)
        #expect(RTPStreamIdentifier("audio-1")?.text == "audio-1")
    }

    @Test("absolute send time has 18 bits of fraction and wraps after 64 s")
    func absoluteSendTime() {
        #expect(AbsoluteSendTime(Instant(nanoseconds: 1_500_000_000)).rawValue == 0x06_0000)
        #expect(AbsoluteSendTime(Instant(nanoseconds: 64_000_000_000)).rawValue == 0)
        let before = AbsoluteSendTime(Instant(nanoseconds: 63_750_000_000))
        let after = AbsoluteSendTime(Instant(nanoseconds: 64_250_000_000))
        #expect(after.since(before) == .milliseconds(500))
        #expect(before.since(after) == .milliseconds(-500))
    }

    @Test("playout delay is limited to twelve bits of 10 ms")
    func playoutDelay() {
        let delay = PlayoutDelay(minimum: .milliseconds(-10), maximum: .milliseconds(100_000))
        #expect(delay.rawValue == 0x000FFF)
        #expect(PlayoutDelay(minimum: .milliseconds(20), maximum: .milliseconds(509)).rawValue == 0x002032)
        #expect(delay.maximum == .milliseconds(40_950))
    }
}
