import PCastCore
import PCastSRT
import PCastTestSupport
import Testing

/// Splice messages (SCTE 35), alone and in transport streams.
@Suite("Splice messages")
struct SpliceInformationTests {
    /// Returns a section with its length and checksum. `body` begins with the protocol version.
    static func section(_ body: [UInt8]) -> [UInt8] { TransportStreamBuilder.splice(body) }

    private static func time(_ ticks: UInt64) -> [UInt8] {
        [0xFE | UInt8(ticks >> 32)] + [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: ticks >> $0) }
    }

    /// The part before a command: the version, the adjustment of times, and the length of the command.
    private static func header(_ command: UInt8, _ length: Int, adjustment: UInt64 = 0) -> [UInt8] {
        [0, UInt8(adjustment >> 32)] + [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: adjustment >> $0) }
            + [0, 0xFF, 0xF0 | UInt8(length >> 8), UInt8(length & 0xFF), command]
    }

    static func insert(_ event: UInt8, isOut: Bool, at ticks: UInt64, adjustment: UInt64 = 0) -> [UInt8] {
        let duration: [UInt8] = isOut ? [0x7E] + [0, 0x29, 0x32, 0xE0] : []
        let flags: UInt8 = (isOut ? 0xA0 : 0) | 0x40 | 0x0F
        let command = [0, 0, 0, event, 0x7F, flags] + time(ticks) + duration + [0, 1, 0, 0]
        return section(header(5, command.count, adjustment: adjustment) + command + [0, 0])
    }

    @Test("the sample of SCTE 35, section 14.1, is read")
    func sample() throws {
        let section: [UInt8] = [
            0xFC, 0x30, 0x34, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xFF, 0xFF, 0xF0, 0x05, 0x06, 0xFE, 0x72,
            0xBD, 0x00, 0x50, 0x00, 0x1E, 0x02, 0x1C, 0x43, 0x55, 0x45, 0x49, 0x48, 0x00, 0x00, 0x8E, 0x7F,
            0xCF, 0x00, 0x01, 0xA5, 0x99, 0xB0, 0x08, 0x08, 0x00, 0x00, 0x00, 0x00, 0x2C, 0xA0, 0xA1, 0x8A,
            0x34, 0x02, 0x00, 0x9A, 0xC9, 0xD1, 0x7E,
        ]
        let splice = try #require(SpliceInformation(section))
        #expect(splice.kind == .out)
        #expect(splice.eventID == 0x4800_008E)
        #expect(splice.time == 0x72BD_0050)
        #expect(splice.duration == ClockRate.video.span(ofTicks: 0x01A5_99B0))
        #expect(!splice.isCanceled && splice.section == section)
    }

    @Test("an insert marks the beginning or the end of a break, with its time and duration")
    func inserts() throws {
        let out = try #require(
            SpliceInformation(Self.insert(7, isOut: true, at: 0x1_FFFF_FFFF, adjustment: 90_001)))
        #expect(out.kind == .out && out.eventID == 7 && out.time == 90_000)
        #expect(out.duration == .seconds(30))
        let back = try #require(SpliceInformation(Self.insert(7, isOut: false, at: 900)))
        #expect(back.kind == .back && back.time == 900 && back.duration == nil)
    }

    @Test("a canceled event is one without a time")
    func canceled() throws {
        let command: [UInt8] = [0, 0, 0, 9, 0xFF]
        let splice = try #require(SpliceInformation(Self.section(Self.header(5, command.count) + command + [0, 0])))
        #expect(splice.isCanceled && splice.eventID == 9 && splice.time == nil)
    }

    @Test("sections with a wrong checksum, cut, encrypted and without a splice are rejected")
    func malformed() {
        let whole = Self.insert(7, isOut: true, at: 90_000)
        for position in whole.indices {
            var damaged = whole
            damaged[position] ^= 0x10
            #expect(SpliceInformation(damaged) == nil)
        }
        for length in 0..<whole.count { #expect(SpliceInformation(Array(whole[..<length])) == nil) }
        var encrypted = Array(whole[3..<whole.count - 4])
        encrypted[1] |= 0x80
        #expect(SpliceInformation(Self.section(encrypted)) == nil)
        #expect(SpliceInformation(Self.section(Self.header(0, 0) + [0, 0])) == nil)
    }

    @Test("a transport stream has its splice messages once, with times near those of the frames")
    func transportStream() {
        var builder = TransportStreamBuilder()
        builder.program([.h264, .splices])
        builder.media(.h264, TransportStreamBuilder.keyFrame(), presentation: 0x1_FFFF_F000)
        builder.media(.h264, TransportStreamBuilder.interFrame(), presentation: 0x1_FFFF_FF00)
        let message = Self.insert(7, isOut: true, at: 180_000)
        for _ in 0..<3 { builder.packets(TransportStreamBuilder.Stream.splices.pid, [0] + message) }
        builder.media(.h264, TransportStreamBuilder.interFrame(), presentation: 3_344)
        builder.packets(
            TransportStreamBuilder.Stream.splices.pid, [0] + Self.insert(7, isOut: false, at: 900_000))
        var demuxer = TransportStreamDemuxer()
        for start in stride(from: 0, to: builder.bytes.count, by: 100) {
            let end = min(start + 100, builder.bytes.count)
            demuxer.receive(builder.bytes.span.extracting(start..<end)) { _ in }
        }
        let splices = demuxer.takeSplices()
        #expect(splices.map(\.information.kind) == [.out, .back])
        // The times of frames have wrapped.
        let wrapped = ClockRate.video.span(ofTicks: 0x2_0000_0000 + 180_000)
        #expect((splices.first?.time ?? .zero) - wrapped < .microseconds(1))
        let rest = demuxer.takeSplices()
        #expect(rest.isEmpty)
    }
}
