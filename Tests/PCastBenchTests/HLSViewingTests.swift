import PCastCore
import PCastHLS
import Testing

@testable import PCastBench

@Suite("Load by HLS viewers")
struct HLSViewingTests {
    private static func segment(_ number: Int64, parts: Int = 0, isComplete: Bool = true) -> MediaSegment {
        MediaSegment(
            number: number, uri: isComplete ? "\(number).m4s" : nil, duration: .seconds(Int64(2)),
            initialization: MediaInitialization(uri: "init.mp4"),
            parts: (0..<parts).map {
                PartialSegment(
                    uri: "\(number).\($0).m4s", duration: .milliseconds(500), isIndependent: $0 == 0, isGap: $0 == 3)
            })
    }

    private static func playlist(_ segments: ClosedRange<Int64>, openParts: Int? = nil) -> MediaPlaylist {
        MediaPlaylist(
            targetDuration: .seconds(Int64(2)), partTargetDuration: openParts.map { _ in .milliseconds(500) },
            mediaSequence: segments.lowerBound,
            serverControl: ServerControl(partHoldBack: openParts.map { _ in .milliseconds(1_500) }),
            segments: segments.map { segment($0, parts: openParts == nil || $0 < segments.upperBound ? 0 : 4) },
            openSegment: openParts.map { segment(segments.upperBound + 1, parts: $0, isComplete: false) })
    }

    @Test("a viewer begins three target durations before the end, and then loads each segment once")
    func segments() {
        var viewing = HLSViewing(began: Instant(nanoseconds: 0))
        #expect(viewing.take(from: Self.playlist(10...19)).map(\.uri) == ["17.m4s", "18.m4s", "19.m4s"])
        #expect(viewing.take(from: Self.playlist(10...19)).isEmpty)
        #expect(viewing.take(from: Self.playlist(12...21)).map(\.uri) == ["20.m4s", "21.m4s"])
    }

    @Test("a viewer of parts begins at an independent part at the hold-back, and does not request gaps")
    func parts() {
        var viewing = HLSViewing(began: Instant(nanoseconds: 0))
        let first = viewing.take(from: Self.playlist(10...19, openParts: 1))
        #expect(first.map(\.uri) == ["19.0.m4s", "19.1.m4s", "19.2.m4s", nil, "20.0.m4s"])
        #expect(viewing.take(from: Self.playlist(10...19, openParts: 2)).map(\.uri) == ["20.1.m4s"])
        #expect(viewing.take(from: Self.playlist(10...20, openParts: 0)).map(\.uri) == ["20.2.m4s", nil])
    }

    @Test("playback stalls while everything that was loaded has been played")
    func stalls() {
        var viewing = HLSViewing(began: Instant(nanoseconds: 0))
        let item = viewing.take(from: Self.playlist(10...19))[0]
        let times: [Double] = [1, 2, 6, 6.5]
        for time in times {
            viewing.loaded(item, size: 1_000, at: Instant(nanoseconds: 0) + TimeSpan(seconds: time))
        }
        // Four seconds were loaded until the fifth one; playback began after the first one.
        #expect(viewing.metrics.firstMedia == .seconds(Int64(1)))
        #expect(viewing.metrics.stalls == 1)
        #expect(viewing.metrics.stalled == .seconds(Int64(1)))
        #expect(viewing.metrics.bytes == 4_000)
        #expect(viewing.metrics.media == 4)
    }
}
