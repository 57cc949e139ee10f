import PCastCore
import PCastHLS
import PCastPackaging
import Testing

@Suite("Requests that wait for a part")
struct BlockingReloadTests {
    /// Returns a packager with audio that is in the middle of its fourth segment.
    private static func live() throws -> (StreamPackager, MediaPlaylist) {
        var run = LiveRun([
            RenditionDescription(name: "audio0", source: .opus(channels: 2), bitrate: .kilobits(96))
        ])
        run.run(.milliseconds(7_000))
        return (run.packager, try #require(run.packager.mediaPlaylist(of: "audio0")))
    }

    @Test("directives are numbers, and a part needs a segment")
    func directives() {
        #expect(
            DeliveryDirectives(query: "_HLS_msn=7&_HLS_part=2&_HLS_skip=YES&token=x")
                == DeliveryDirectives(segment: 7, part: 2, skip: .segments))
        #expect(DeliveryDirectives(query: "") == DeliveryDirectives())
        #expect(DeliveryDirectives(query: "_HLS_skip=v2")?.skip == .segmentsAndDateRanges)
        for query in ["_HLS_part=1", "_HLS_msn=", "_HLS_msn=-1", "_HLS_msn=1x", "_HLS_msn=9999999999999999999"] {
            #expect(DeliveryDirectives(query: query) == nil, "\(query)")
        }
    }

    @Test("a listed part is ready, the next ones are awaited, and others are too far ahead")
    func answers() throws {
        let (packager, playlist) = try Self.live()
        let next = playlist.nextNumber
        let parts = Int64(try #require(playlist.openSegment).parts.count)
        #expect(parts >= 2)
        func answer(_ segment: Int64, _ part: Int64? = nil) -> ReloadAnswer {
            packager.answer(to: DeliveryDirectives(segment: segment, part: part), for: "audio0")
        }
        #expect(answer(0) == .ready && answer(next - 1) == .ready && answer(next - 1, 3) == .ready)
        #expect(answer(next, parts - 1) == .ready)
        #expect(answer(next) == .wait && answer(next, parts) == .wait && answer(next + 1) == .wait)
        // A part behind the last one of a segment is the first one of the next segment.
        #expect(answer(next - 1, 99) == .ready)
        // Three seconds of parts may be requested ahead.
        let target = try #require(playlist.partTargetDuration).seconds
        let limit = Int64((3 / target).rounded(.up))
        #expect(answer(next, parts - 1 + limit) == .wait && answer(next, parts + limit) == .tooFarAhead)
        #expect(answer(next + 2) == .tooFarAhead)
        #expect(packager.answer(to: DeliveryDirectives(), for: "audio0") == .ready)
        #expect(packager.answer(to: DeliveryDirectives(), for: "video9") == .unknown)
    }

    @Test("a stream that has ended answers at once, whatever is requested")
    func ended() throws {
        var (packager, _) = try Self.live()
        packager.finish()
        #expect(packager.answer(to: DeliveryDirectives(segment: 1_000, part: 5), for: "audio0") == .ready)
        #expect(packager.mediaPlaylist(of: "audio0")?.text.hasSuffix("#EXT-X-ENDLIST\n") == true)
    }
}
